// Environment variables that affect the Bun runtime itself. Variables that would disable TLS verification or print secrets are
// ignored; variables that would run other code or open a debugger are rejected. Pure.

import type { Problem } from "../core/problem.ts";
import type { Environment } from "../platform/environment.ts";

/**
 * Enables only the first compiler. The second and third cost a mostly idle process at least 10 MiB, and more CPU than they save.
 */
export const runtimeVariable = { name: "BUN_JSC_useDFGJIT", value: "0" } as const;

export interface RuntimeVariables {
  /** Variables to delete before the first request. */
  readonly forget: readonly string[];
  /** Errors end the process; warnings name the ignored variables. */
  readonly problems: readonly Problem[];
}

/** The effect that each variable would have. */
const ignored: Readonly<Record<string, string>> = {
  NODE_TLS_REJECT_UNAUTHORIZED: "would disable the verification of TLS certificates",
  BUN_CONFIG_VERBOSE_FETCH: "would print every request with its credentials",
};

const refused: Readonly<Record<string, string>> = {
  BUN_OPTIONS: "can load other code into this process",
  BUN_INSPECT: "opens a debugger port",
  BUN_INSPECT_CONNECT_TO: "opens a debugger port",
  BUN_INSPECT_NOTIFY: "opens a debugger port",
};

const isSet = (environment: Environment, name: string): boolean => (environment[name] ?? "") !== "";

function isDefaultValue(name: string, value: string | undefined): boolean {
  return name === "NODE_TLS_REJECT_UNAUTHORIZED" && value === "1";
}

export function runtimeVariables(environment: Environment): RuntimeVariables {
  const forget = Object.keys(ignored).filter((name) => environment[name] !== undefined);
  const errors = Object.entries(refused)
    .filter(([name]) => isSet(environment, name))
    .map(
      ([name, effect]): Problem => ({
        severity: "error",
        reason: "RuntimeVariable",
        key: name,
        text: `The environment variable ${name} ${effect}. Unset it.`,
      }),
    );
  const warnings = forget
    .filter((name) => isSet(environment, name) && !isDefaultValue(name, environment[name]))
    .map(
      (name): Problem => ({
        severity: "warning",
        reason: "RuntimeVariable",
        key: name,
        text: `The environment variable ${name} ${ignored[name]}; it is ignored.`,
      }),
    );
  return { forget, problems: [...errors, ...warnings] };
}
