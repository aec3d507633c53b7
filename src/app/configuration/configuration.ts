// Everything the operator wrote, as one immutable value: the command line, the file of `--config`, the cloud's own file and
// the files its settings name. It is read as a whole, again and again; nothing in it ever changes.

import type { Place } from "../../config/located.ts";
import { inFile } from "../../config/located.ts";
import {
  type RawConfiguration,
  type RawSection,
  readConfiguration,
} from "../../config/read-configuration.ts";
import { messageOf } from "../../core/message-of.ts";
import type { Problem } from "../../core/problem.ts";
import { Secret } from "../../core/secret.ts";
import type { Environment } from "../../seams/environment.ts";
import type { Files } from "../../seams/files.ts";
import { commandProblems } from "../command-words.ts";
import { type AnyProvider, configProblems, readConfig } from "../connect-cloud.ts";
import { parseFlags } from "../flags/pflag.ts";
import { type ReadFlags, readFlags } from "../flags/read-flags.ts";
import { flagFields, flagShapes } from "../flags/table.ts";

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

const longestFile = 256 * 1024;
const commandLine = "can only be given on the command line";
const notHere = {
  config: commandLine,
  help: commandLine,
  notices: commandLine,
  version: commandLine,
  "config-set": "is for the command line; write the settings under cloud",
};

/** The version is taken before the content: a change in between is seen at the next look. */
const readWhole = async (
  path: string,
  what: string,
  files: Files,
  versions: Map<string, string | undefined>,
) => {
  const says = (reason: string, text: string): { readonly problem: Problem } => ({
    problem: { severity: "error", reason, key: what, text: `${path}: ${text}` },
  });
  try {
    versions.set(path, await files.version(path));
    const text = await files.read(path);
    if (text.length <= longestFile) return { text };
    return says("FileTooLarge", `it has ${text.length} characters; at most ${longestFile} are read`);
  } catch (error) {
    return says("UnreadableFile", `${what} cannot be read: ${messageOf(error)}`);
  }
};

const placesIn = (
  path: string,
  places: Iterable<readonly [string, Place]>,
): readonly (readonly [string, string])[] =>
  [...places].map(([name, { line, column }]) => [name, `${path}:${line}:${column}`] as const);

export const readAll = async ({
  provider,
  args,
  environment,
  files,
}: ConfigurationSources): Promise<Configuration> => {
  const problems: Problem[] = [];
  const versions = new Map<string, string | undefined>();
  const path = parseFlags(args, flagShapes).raw["config"];

  let read: RawConfiguration | undefined;
  if (path !== undefined && path !== "") {
    const whole = await readWhole(path, "--config", files, versions);
    if ("problem" in whole) problems.push(whole.problem);
    else {
      // Loaded only here: who gives no file does not pay for the parser.
      const { parseYaml } = await import("../../config/parse-yaml.ts");
      read = readConfiguration(parseYaml(whole.text), { flags: flagFields, cloud: provider.config, notHere });
      problems.push(...read.problems.map((problem) => inFile(path, problem)));
    }
  }
  const fileFlags: RawSection | undefined = read?.flags;
  const settings = readFlags(args, {
    provider,
    ...(fileFlags !== undefined && path !== undefined && { file: { path, flags: fileFlags } }),
  });
  problems.push(...settings.problems, ...commandProblems(settings, provider));
  const flagProblems = [...problems];

  const file: Record<string, string> = {};
  const places = new Map<string, string>();
  const cloudPath = settings.flags["cloud-config"];
  if (cloudPath !== undefined && provider.readConfigFile === undefined) {
    const text = `--cloud-config has no effect: the cloud ${provider.name} has no such file; its settings are under cloud in the file of --config, or in variables`;
    problems.push({ severity: "warning", reason: "FlagWithoutEffect", key: "--cloud-config", text });
  } else if (cloudPath !== undefined) {
    const whole = await readWhole(cloudPath, "--cloud-config", files, versions);
    if ("problem" in whole) problems.push(whole.problem);
    else {
      const own = provider.readConfigFile?.(whole.text);
      for (const { line, ...problem } of own?.problems ?? []) {
        problems.push({ ...problem, text: `${cloudPath}:${line}: ${problem.text}` });
      }
      for (const [name, { text, line }] of Object.entries(own?.settings ?? {})) {
        file[name] = text;
        places.set(name, `${cloudPath}:${line}`);
      }
    }
  }
  if (read !== undefined && path !== undefined) {
    Object.assign(file, read.cloud.raw);
    for (const [name, place] of placesIn(path, read.cloud.places)) places.set(name, place);
  }

  const sources = { environment, given: settings.cloud.given, file, places };
  const wrong = configProblems(provider, sources);
  problems.push(...wrong);
  const inputFiles = new Map<string, Secret>();
  if (!wrong.some(({ severity }) => severity === "error")) {
    for (const input of provider.inputs?.(readConfig(provider, sources).values) ?? []) {
      if (input.kind !== "File") continue;
      const whole = await readWhole(input.path, "a file that the cloud's settings name", files, versions);
      if ("problem" in whole) problems.push(whole.problem);
      else inputFiles.set(input.path, new Secret(whole.text));
    }
  }
  const { given } = settings.cloud;
  const whole = { ...settings, cloud: { given, file, places, inputFiles } };
  return { settings: whole, problems, flagProblems, versions };
};

export const isUsable = ({ problems }: Configuration): boolean =>
  !problems.some(({ severity }) => severity === "error");
