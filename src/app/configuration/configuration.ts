// Everything the operator wrote, as one immutable value: the command line, the file of `--config`, the cloud's own file and
// the files its settings name. It is read as a whole, again and again; nothing in it ever changes.

import { inFile } from "../../config-file/located.ts";
import { type RawConfiguration, readConfiguration } from "../../config-file/read-configuration.ts";
import type { Problem } from "../../core/problem.ts";
import type { Secret } from "../../core/secret.ts";
import type { Environment } from "../../platform/environment.ts";
import type { Files } from "../../platform/files.ts";
import { type AnyProvider, configProblems } from "../connect-cloud.ts";
import { cloudNameProblems } from "../flags/flag-problems.ts";
import { parseFlags } from "../flags/pflag.ts";
import { type ReadFlags, readFlags } from "../flags/read-flags.ts";
import { flagFields, flagShapes, flagsNotInFile } from "../flags/table.ts";
import { webhookProblems } from "../flags/webhook-names.ts";
import { readCloudFile, readInputs, withSection } from "./cloud-files.ts";
import { type WholeFiles, wholeFiles } from "./file-reader.ts";

export interface Configuration {
  readonly settings: ReadFlags;
  /** What is wrong with any part of it. With an error among them it must not be used. */
  readonly problems: readonly Problem[];
  /** Those among them that are about flags and their file, not about the cloud: what a short command cares for. */
  readonly flagProblems: readonly Problem[];
  /** What it was read from, by path: when a version changes, it is worth reading again. */
  readonly versions: ReadonlyMap<string, string | undefined>;
}

export interface ConfigurationSources {
  readonly provider: AnyProvider;
  readonly args: readonly string[];
  readonly environment: Environment;
  readonly files: Files;
}

const isError = ({ severity }: Problem): boolean => severity === "error";

/** The file of `--config`, and what is wrong with it. */
async function readOwnFile(
  path: string | undefined,
  provider: AnyProvider,
  disk: WholeFiles,
): Promise<{
  readonly own?: RawConfiguration & { readonly path: string };
  readonly problems: readonly Problem[];
}> {
  if (path === undefined || path === "") return { problems: [] };
  const whole = await disk.read(path, "--config");
  if ("problem" in whole) return { problems: [whole.problem] };
  // Loaded only here: who gives no file does not pay for the parser.
  const { parseYaml } = await import("../../config-file/parse-yaml.ts");
  const tables = { flags: flagFields, cloud: provider.config, notHere: flagsNotInFile };
  const read = readConfiguration(parseYaml(whole.text), tables);
  return { own: { ...read, path }, problems: read.problems.map((problem) => inFile(path, problem)) };
}

export async function readAll({
  provider,
  args,
  environment,
  files,
}: ConfigurationSources): Promise<Configuration> {
  const disk = wholeFiles(files);
  const path = parseFlags(args, flagShapes).raw["config"];
  const { own, problems: ofFile } = await readOwnFile(path, provider, disk);
  const settings = readFlags(args, {
    provider,
    ...(own !== undefined && { file: { path: own.path, flags: own.flags } }),
  });
  const flagProblems = [
    ...ofFile,
    ...settings.problems,
    ...webhookProblems(settings.flags),
    ...cloudNameProblems(settings.flags, provider.name),
  ];

  const below = await readCloudFile(settings.flags["cloud-config"], provider, disk);
  const { file, places } = own === undefined ? below : withSection(below, own.path, own.cloud);
  const { given } = settings.cloud;
  const sources = { environment, given, file, places };
  const wrong = configProblems(provider, sources);
  const { inputFiles, problems: ofInputs } = wrong.some(isError)
    ? { inputFiles: new Map<string, Secret>(), problems: [] }
    : await readInputs(provider, sources, disk);
  return {
    settings: { ...settings, cloud: { given, file, places, inputFiles } },
    problems: [...flagProblems, ...below.problems, ...wrong, ...ofInputs],
    flagProblems,
    versions: disk.versions,
  };
}

export const isUsable = ({ problems }: Configuration): boolean => !problems.some(isError);
