// Variables that Bun itself obeys before or beside us. What would weaken verification or print secrets is put out of force;
// what makes the executable run other code, or listen for a debugger, ends it with a reason. Pure.

import type { Problem } from "../core/problem.ts";
import type { Environment } from "../platform/environment.ts";

export interface RuntimeVariables {
  /** To be forgotten before the first request. */
  readonly forget: readonly string[];
  /** Errors end the process; warnings tell what was put out of force. */
  readonly problems: readonly Problem[];
}

/** What each would do, if it were obeyed. */
const disarmed: Readonly<Record<string, string>> = {
  NODE_TLS_REJECT_UNAUTHORIZED: "would switch the verification of certificates off",
  BUN_CONFIG_VERBOSE_FETCH: "would print every request with its credentials",
};

const refused: Readonly<Record<string, string>> = {
  BUN_OPTIONS: "can load other code into this program before it begins",
  BUN_INSPECT: "opens this program to a debugger",
  BUN_INSPECT_CONNECT_TO: "opens this program to a debugger",
  BUN_INSPECT_NOTIFY: "opens this program to a debugger",
};

const isSet = (environment: Environment, name: string): boolean => (environment[name] ?? "") !== "";

function asksForWhatIsSo(name: string, value: string | undefined): boolean {
  return name === "NODE_TLS_REJECT_UNAUTHORIZED" && value === "1";
}

export function runtimeVariables(environment: Environment): RuntimeVariables {
  const forget = Object.keys(disarmed).filter((name) => environment[name] !== undefined);
  const errors = Object.entries(refused)
    .filter(([name]) => isSet(environment, name))
    .map(
      ([name, effect]): Problem => ({
        severity: "error",
        reason: "RuntimeVariable",
        key: name,
        text: `The variable ${name} ${effect}. Unset it.`,
      }),
    );
  const warnings = forget
    .filter((name) => isSet(environment, name) && !asksForWhatIsSo(name, environment[name]))
    .map(
      (name): Problem => ({
        severity: "warning",
        reason: "RuntimeVariable",
        key: name,
        text: `The variable ${name} ${disarmed[name]}; it is ignored.`,
      }),
    );
  return { forget, problems: [...errors, ...warnings] };
}
