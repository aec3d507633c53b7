// Flags about logs, help and version: upstream's group "global".

import { seconds } from "../../../core/brand.ts";
import { buildField, duration, flag, integer, oneOf, quoted, text } from "../../../core/fields.ts";
import { pairs } from "../../../core/list-fields.ts";
import type { Fields } from "../../../core/settings.ts";
import { type FlagGroup, needsRestart, noEffect, shorthand } from "../flag-notes.ts";

/** What of the version is asked for. */
export type VersionAsked = "false" | "true" | "raw";

function versionAsked(raw: string): { readonly value: VersionAsked } | { readonly wrong: string } {
  const word = raw.trim();
  if (["true", "1", "t"].includes(word)) return { value: "true" };
  // A made-up version, which upstream then reports, is no question.
  if (["false", "0", "f"].includes(word) || /^v\d/.test(word)) return { value: "false" };
  return word === "raw" ? { value: "raw" } : { wrong: quoted(raw) };
}

const unbuffered = "every line is written at once, all to the same place";

const globalFields = {
  version: buildField<VersionAsked, { readonly fallback: "false" }>(
    "Show the version; raw shows all that is known of this build.",
    "true, false or raw",
    versionAsked,
    { fallback: "false" },
    { kind: "switch" },
  ),
  notices: flag("Show the licences of everything inside this file.", { fallback: false }),
  v: shorthand(
    integer(
      "How much is logged: 0 decisions and problems, 2 more of what happens, 4 every request.",
      { min: 0, max: 10 },
      { fallback: 0 },
    ),
    "v",
  ),
  vmodule: noEffect(pairs("How much is logged, by source file."), "-v counts for all of the process"),
  "log-flush-frequency": noEffect(
    duration("Time between two writes of log lines.", {}, { fallback: seconds(5) }),
    unbuffered,
  ),
  "logging-format": needsRestart(
    oneOf("How log lines look.", ["text", "json"], {
      fallback: "text",
      renamedFrom: ["log-format"],
    }),
  ),
  "log-text-split-stream": noEffect(
    flag("Write errors to stderr and the rest to stdout.", { fallback: false }),
    unbuffered,
  ),
  "log-json-split-stream": noEffect(
    flag("Write errors to stderr and the rest to stdout.", { fallback: false }),
    unbuffered,
  ),
  "log-text-info-buffer-size": noEffect(text("Bytes held back.", { fallback: "0" }), unbuffered),
  "log-json-info-buffer-size": noEffect(text("Bytes held back.", { fallback: "0" }), unbuffered),
  help: shorthand(flag("Show this.", { fallback: false }), "h"),
} as const satisfies Fields;

export const globalFlags = { title: "global", fields: globalFields } satisfies FlagGroup;
