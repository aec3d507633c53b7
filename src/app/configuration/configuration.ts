// Reads the whole configuration as one immutable value: the command line, the --config file, the cloud's own file, and the files
// that its settings name. Each reload reads all of them again.

import { inFile } from "../../config-file/located.ts";
import { parseConfiguration, type RawConfiguration } from "../../config-file/parse-configuration.ts";
import { parseDocument } from "../../config-file/parse-plain-yaml.ts";
import { messageIn, type Problem } from "../../core/problem.ts";
import type { Secret } from "../../core/secret.ts";
import type { Environment } from "../../platform/environment.ts";
import type { Files } from "../../platform/files.ts";
import type { AnyProvider } from "../../provider/provider.ts";
import { cloudNameProblems } from "../flags/flag-problems.ts";
import { flagFields, flagShapes, flagsNotInFile } from "../flags/flag-table.ts";
import { parseFlags } from "../flags/pflag.ts";
import { type ReadFlags, readFlags } from "../flags/read-flags.ts";
import { webhookProblems } from "../flags/webhook-names.ts";
import { readCloudFile, readInputs, secretInputs, withSection } from "./cloud-files.ts";
import { configProblems } from "./cloud-settings.ts";
import { FileReader } from "./file-reader.ts";
import { unknownVariables } from "./unknown-variables.ts";

export interface Configuration {
  readonly settings: ReadFlags;
  /** Problems from all sources. A configuration with an error must not be used. */
  readonly problems: readonly Problem[];
  /** The problems with flags and the --config file, excluding cloud settings: for commands that do not run the manager. */
  readonly flagProblems: readonly Problem[];
  /** The version of each file that was read, by path: when one changes, the configuration is reloaded. */
  readonly versions: ReadonlyMap<string, string | undefined>;
}

export interface ConfigurationSources {
  readonly provider: AnyProvider;
  readonly args: readonly string[];
  readonly environment: Environment;
  readonly files: Files;
}

const isError = ({ severity }: Problem): boolean => severity === "error";

/** The --config file, unless it cannot be read or parsed, and its problems. */
async function readConfigFile(
  path: string | undefined,
  provider: AnyProvider,
  reader: FileReader,
): Promise<{
  readonly own: (RawConfiguration & { readonly path: string }) | undefined;
  readonly problems: readonly Problem[];
}> {
  if (path === undefined || path === "") return { own: undefined, problems: [] };
  const whole = await reader.read(path, "--config");
  if ("problem" in whole) return { own: undefined, problems: [whole.problem] };
  const tables = { flags: flagFields, cloud: provider.config, notInFile: flagsNotInFile };
  const parsed = await parseDocument(whole.text);
  const read = parseConfiguration(parsed, tables);
  const problems = read.problems.map((problem) => inFile(path, problem));
  return { own: parsed.root === undefined ? undefined : { ...read, path }, problems };
}

/** These commands print embedded content and need no cloud settings. */
function isAboutProgram({ flags: { version, notices, help } }: ReadFlags): boolean {
  return version !== "false" || notices || help;
}

export async function readConfiguration({
  provider,
  args,
  environment,
  files,
}: ConfigurationSources): Promise<Configuration> {
  const reader = new FileReader(files);
  const path = parseFlags(args, flagShapes).raw["config"];
  const { own, problems: ofFile } = await readConfigFile(path, provider, reader);
  const settings = readFlags(args, {
    provider,
    file: own === undefined ? undefined : { path: own.path, flags: own.flags },
  });
  // Without the file, other problems may only be consequences of its absence.
  const isFileUnusable = own === undefined && ofFile.some(isError);
  const flagProblems = isFileUnusable
    ? ofFile
    : [
        ...ofFile,
        ...settings.problems,
        ...webhookProblems(settings.flags),
        ...cloudNameProblems(settings.flags, provider),
      ];

  const { versions } = reader;
  if (isAboutProgram(settings)) {
    const cloud = { given: settings.cloud.given, file: {}, places: new Map(), inputFiles: new Map() };
    return { settings: { ...settings, cloud }, problems: flagProblems, flagProblems, versions };
  }
  const below = await readCloudFile(settings.flags["cloud-config"], provider, reader);
  const { problems: ofCloudFile, ...fromFiles } =
    own === undefined ? below : withSection(below, own.path, own.cloud);
  const cloud = { given: settings.cloud.given, ...fromFiles };
  const sources = { environment, ...cloud };
  // Values with the wrong type in a file are not reported as missing.
  const wrong = ofFile.flatMap(({ key }) => key ?? []);
  const mayBeSet = (key: string): boolean => wrong.some((one) => key === one || key.startsWith(`${one}.`));
  const ofSettings = isFileUnusable
    ? []
    : configProblems(provider, sources).filter(
        ({ reason, key = "" }) => reason !== "MissingSetting" || !mayBeSet(key),
      );
  const isAllowed = settings.flags["allow-unknown-variables"];
  const ofVariables = unknownVariables(provider, environment, isAllowed);
  const { inputFiles, problems: ofInputs } = isFileUnusable
    ? { inputFiles: new Map<string, Secret>(), problems: [] }
    : await readInputs(provider, sources, reader);
  return {
    settings: { ...settings, cloud: { ...cloud, inputFiles, inputSecrets: secretInputs(provider, sources) } },
    problems: [...flagProblems, ...ofCloudFile, ...ofSettings, ...ofVariables, ...ofInputs],
    flagProblems,
    versions,
  };
}

export const isUsable = ({ problems }: Configuration): boolean => !problems.some(isError);

export function warningsOf({ problems }: Configuration): ReadonlySet<string> {
  return new Set(problems.filter(({ severity }) => severity === "warning").map(messageIn));
}
