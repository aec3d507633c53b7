// How cloud settings reach the process: credentials are separate, and all other settings are variables or arguments. Pure.

import type { Problem } from "../../core/problem.ts";
import type { Field, Fields } from "../../core/settings.ts";

/** A cloud setting that is a secret. */
export interface Credential {
  readonly setting: string;
  readonly variable: string;
  readonly text: string;
  /** Undefined if the credential is not set. */
  readonly value: string | undefined;
}

export interface CloudInputs {
  readonly credentials: readonly Credential[];
  readonly variables: readonly { readonly name: string; readonly value: string }[];
  /** The arguments for settings without a variable. */
  readonly args: readonly string[];
  readonly problems: readonly Problem[];
}

const failure = (setting: string, text: string): Problem => ({
  severity: "error",
  reason: "InvalidFlag",
  key: "--set",
  text: `--set ${setting}: ${text}`,
});

export function cloudInputs(config: Fields, settings: ReadonlyMap<string, string>): CloudInputs {
  const credentials: Credential[] = [];
  const variables: { name: string; value: string }[] = [];
  const args: string[] = [];
  const problems: Problem[] = [];
  for (const [setting, { env, isSecret, text }] of Object.entries<Field<unknown>>(config)) {
    const value = settings.get(setting);
    if (isSecret === true && env !== undefined) credentials.push({ setting, variable: env, text, value });
    else if (value === undefined) continue;
    else if (isSecret === true) {
      problems.push(failure(setting, "is a secret without a variable; write it in the --config file"));
    } else if (env !== undefined) variables.push({ name: env, value });
    else if (value.includes(",")) {
      problems.push(
        failure(setting, "contains a comma, which separates settings; write it in the --config file"),
      );
    } else args.push(`--config-set=${setting}=${value}`);
  }
  return { credentials, variables, args, problems };
}
