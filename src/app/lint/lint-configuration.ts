// Checks a --config file: flags and settings of the cloud with their positions, against the tables that the manager uses, and with the
// provider's own checks. Required settings may come from variables, so none counts as missing. Pure.

import { inFile } from "../../config-file/located.ts";
import { parseConfiguration } from "../../config-file/parse-configuration.ts";
import { parseYaml } from "../../config-file/parse-yaml.ts";
import type { Problem } from "../../core/problem.ts";
import { topLevelName } from "../../core/settings.ts";
import type { Environment } from "../../platform/environment.ts";
import { type AnyProvider, configProblems } from "../connect-cloud.ts";
import { cloudNameProblems } from "../flags/flag-problems.ts";
import { readFlags } from "../flags/read-flags.ts";
import { flagFields, flagsNotInFile } from "../flags/table.ts";
import { webhookProblems } from "../flags/webhook-names.ts";
import { atPlaceIn, type LintProblem } from "./lint-problem.ts";

export function lintConfiguration(
  file: string,
  text: string,
  provider: AnyProvider,
  environment: Environment,
): readonly LintProblem[] {
  const tables = { flags: flagFields, cloud: provider.config, notInFile: flagsNotInFile };
  const own = parseConfiguration(parseYaml(text), tables);
  const settings = readFlags([], { provider, file: { path: file, flags: own.flags } });
  const places = new Map(
    [...own.cloud.places].map(([name, { line, column }]) => [name, `${file}:${line}:${column}`] as const),
  );
  const ofCloud = configProblems(provider, { environment, given: new Map(), file: own.cloud.raw, places });
  /** What the file does not set may come from a variable, which is unknown here. */
  const isInFile = (key: string | undefined): boolean =>
    key === undefined || Object.hasOwn(own.cloud.raw, topLevelName(key));
  const all: readonly Problem[] = [
    ...own.problems.map((problem) => inFile(file, problem)),
    ...settings.problems,
    ...webhookProblems(settings.flags),
    ...cloudNameProblems(settings.flags, provider),
    ...ofCloud.filter(({ reason, key }) => reason !== "MissingSetting" && isInFile(key)),
  ];
  return all.map((problem) => atPlaceIn(file, problem));
}
