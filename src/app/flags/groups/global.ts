// Flags for logging, help and version: upstream's group "global".

import { seconds } from "../../../core/brand.ts";
import { buildField, duration, flag, integer, oneOf, quoted, text } from "../../../core/fields.ts";
import { pairs } from "../../../core/list-fields.ts";
import type { Fields } from "../../../core/settings.ts";
import { live, noEffect, shorthand } from "../flag-notes.ts";

/** The values that --version accepts. */
type VersionAsked = "false" | "true" | "raw";

function versionAsked(raw: string): { readonly value: VersionAsked } | { readonly wrong: string } {
  const word = raw.trim();
  if (["true", "1", "t"].includes(word)) return { value: "true" };
  // Upstream accepts a version as the value and reports it, so such a flag does not request the version.
  if (["false", "0", "f"].includes(word) || /^v\d/.test(word)) return { value: "false" };
  return word === "raw" ? { value: "raw" } : { wrong: quoted(raw) };
}

export const globalFields = {
  ...live({
    version: buildField<VersionAsked, { readonly fallback: "false" }>(
      "Print the version and exit; raw prints all details of the build.",
      "true, false or raw",
      versionAsked,
      { fallback: "false" },
      { kind: "switch" },
    ),
    notices: flag("Print the licenses of everything in this executable and exit.", { fallback: false }),
    v: shorthand(
      "v",
      // klog parses the number with base 10.
      integer(
        "Log verbosity: 0 logs decisions and problems, 2 adds details, 4 adds every request.",
        { min: 0 },
        { fallback: 0 },
      ),
    ),
    help: shorthand("h", flag("Show this help and exit.", { fallback: false })),
  }),
  "logging-format": oneOf("Log format.", ["text", "json"], { fallback: "text" }),
  ...noEffect("-v applies to the whole process", { vmodule: pairs("Log verbosity by source file.") }),
  ...noEffect("every line is written to stderr immediately", {
    "log-flush-frequency": duration("Maximum interval between log flushes.", {}, { fallback: seconds(5) }),
    "log-text-split-stream": flag("Write errors to stderr and info messages to stdout.", { fallback: false }),
    "log-json-split-stream": flag("Write errors to stderr and info messages to stdout.", { fallback: false }),
    "log-text-info-buffer-size": text("Size of the buffer for info messages.", { fallback: "0" }),
    "log-json-info-buffer-size": text("Size of the buffer for info messages.", { fallback: "0" }),
  }),
} as const satisfies Fields;
