// Flag problems that the flag table alone cannot detect: flags without effect, flags that upstream removed, and an invalid
// --cloud-provider.

import type { Problem } from "../../core/problem.ts";
import type { Field, Fields } from "../../core/settings.ts";
import { quotedUrl } from "../../core/text.ts";
import { notesOf } from "./flag-notes.ts";
import type { Flags } from "./flag-table.ts";

/** An error whose text starts with the flag name; `text` continues it: "must be …, got …". */
export function invalidFlag(flag: string, text: string): Problem {
  return {
    severity: "error",
    reason: "InvalidFlag",
    key: `--${flag}`,
    text: `--${flag} ${text}`,
  };
}

const klogFlags = [
  ...["logtostderr", "alsologtostderr", "stderrthreshold", "log-dir", "log-file", "log-file-max-size"],
  ...["one-output", "skip-headers", "skip-log-headers", "add-dir-header", "log-backtrace-at"],
];
const insecurePort = "Kubernetes 1.24 removed the port without TLS";

/** Flags that earlier Go managers had, with the remedy for each. */
export const removedFlags: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    klogFlags.map((name) => [name, "Kubernetes 1.26 removed the klog flags; omit it, logs go to stderr"]),
  ),
  port: `${insecurePort}; use --secure-port`,
  address: `${insecurePort}; use --bind-address`,
};

/**
 * A flag without effect needs no warning if its value matches Fairlead's behavior, such as
 * --use-service-account-credentials=false.
 */
function isDefault(field: Field<unknown>, value: string): boolean {
  const parsed = field.parse(value);
  return field.fallback !== undefined && "value" in parsed && parsed.value === field.fallback;
}

/** `given` are the flags that the operator set, without presets. */
export function flagWarnings(fields: Fields, given: RawFlags): readonly Problem[] {
  return Object.entries(given).flatMap(([name, value]): readonly Problem[] => {
    const field: Field<unknown> | undefined = fields[name];
    if (field === undefined) return [];
    const { noEffect, deprecated } = notesOf(field);
    if (noEffect === undefined || (deprecated !== true && isDefault(field, value))) return [];
    const text = `--${name} has no effect${deprecated === true ? " and is deprecated" : ""}: ${noEffect}`;
    return [{ severity: "warning", reason: "FlagWithoutEffect", key: `--${name}`, text }];
  });
}

/** Reports flags that belong to another command, because this command would ignore them. */
export function otherCommandProblems(fields: Fields, given: RawFlags, command: string): readonly Problem[] {
  return Object.entries(given).flatMap(([name, value]) => {
    const field: Field<unknown> | undefined = fields[name];
    if (name === "output" && value === "github" && command !== "lint")
      return [invalidFlag(name, "github is for lint; use text or json")];
    const { commands = [command] } = field === undefined ? {} : notesOf(field);
    return commands.includes(command)
      ? []
      : [invalidFlag(name, `is for the command ${commands.join(" or ")}, not for ${command}; omit it`)];
  });
}

/** The name of the executable is accepted as a cloud name. */
export function cloudNameProblems(
  flags: Flags,
  { name: cloud, executable }: { readonly name: string; readonly executable?: string | undefined },
): readonly Problem[] {
  const name = flags["cloud-provider"];
  if (name === undefined || [cloud, executable, "external"].includes(name)) return [];
  return [
    {
      severity: "error",
      reason: "WrongCloud",
      key: "--cloud-provider",
      text: `--cloud-provider is ${JSON.stringify(name)}, but this executable is for ${JSON.stringify(cloud)}; run ${name}-cloud-controller-manager, or omit the flag`,
    },
  ];
}

/** Reports an invalid collector address. Messages show the address, so it must not contain credentials. */
export function endpointProblem(endpoint: string): string | undefined {
  const url = URL.canParse(endpoint) ? new URL(endpoint) : undefined;
  if (url === undefined || !["http:", "https:"].includes(url.protocol))
    return `must be a URL such as http://127.0.0.1:4318, got ${quotedUrl(endpoint)}`;
  return url.username !== "" || url.password !== "" || url.search !== ""
    ? "must not contain a user, a password or a query, because it is logged; set OTEL_EXPORTER_OTLP_HEADERS"
    : undefined;
}

export function tracingProblems(flags: Flags): readonly Problem[] {
  const name = "tracing-endpoint";
  const problem = flags[name] === undefined ? undefined : endpointProblem(flags[name]);
  return problem === undefined ? [] : [invalidFlag(name, problem)];
}

export type RawFlags = Readonly<Record<string, string>>;

/** As in pflag, an empty string means unset. An empty list is kept, because it clears the list. */
export function withoutEmptyStrings(fields: Fields, given: RawFlags): RawFlags {
  return Object.fromEntries(
    Object.entries(given).filter(([name, value]) => {
      const field: Field<unknown> | undefined = fields[name];
      return value !== "" || field === undefined || field.kind !== undefined || field.fallback !== undefined;
    }),
  );
}
