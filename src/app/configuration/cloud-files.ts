// Reads the cloud's settings from files: the cloud's own file, the cloud section of the --config file, which takes precedence,
// and the files that settings name. Each setting keeps its position, so that errors can point to it.

import type { RawSection } from "../../config-file/parse-configuration.ts";
import type { Problem } from "../../core/problem.ts";
import { Secret } from "../../core/secret.ts";
import { topLevelName } from "../../core/settings.ts";
import type { ConfigFile, ConfigSection } from "../../provider/provider.ts";
import { type AnyProvider, type CloudSettings, readConfig } from "../connect-cloud.ts";
import type { FileReader } from "./file-reader.ts";

export interface CloudFile {
  /** Settings by name. */
  readonly file: Readonly<Record<string, string>>;
  /** The position of each setting, as `path:line` or `path:line:column`. */
  readonly places: ReadonlyMap<string, string>;
  readonly problems: readonly Problem[];
}

const empty: CloudFile = { file: {}, places: new Map(), problems: [] };

const isList = (value: ConfigFile["settings"][string]): value is readonly ConfigSection[] =>
  Array.isArray(value);

/** Sections become the JSON that a `records` field parses. */
function readEntry(
  path: string,
  name: string,
  value: ConfigFile["settings"][string],
): { readonly text: string; readonly places: CloudFile["places"] } {
  if (!isList(value)) return { text: value.text, places: new Map([[name, `${path}:${value.line}`]]) };
  const places = value.flatMap(({ line, values }, index) => [
    [`${name}[${index}]`, line] as const,
    ...Object.entries(values).map(([key, one]) => [`${name}[${index}].${key}`, one.line] as const),
  ]);
  const texts = value.map(({ values }) =>
    Object.fromEntries(Object.entries(values).map(([key, { text }]) => [key, text])),
  );
  return {
    text: JSON.stringify(texts),
    places: new Map(places.map(([key, line]) => [key, `${path}:${line}`])),
  };
}

/** The file that `--cloud-config` names, in the format of the cloud's Go manager. */
export async function readCloudFile(
  path: string | undefined,
  provider: AnyProvider,
  reader: FileReader,
): Promise<CloudFile> {
  if (path === undefined) return empty;
  if (provider.readConfigFile === undefined) {
    const text = `--cloud-config has no effect: the cloud ${provider.name} has no separate configuration file; write its settings under cloud in the --config file, or set environment variables`;
    const reason = "FlagWithoutEffect";
    return { ...empty, problems: [{ severity: "warning", reason, key: "--cloud-config", text }] };
  }
  const whole = await reader.read(path, "--cloud-config");
  if ("problem" in whole) return { ...empty, problems: [whole.problem] };
  const { settings, problems } = provider.readConfigFile(whole.text);
  const entries = Object.entries(settings).map(
    ([name, value]) => [name, readEntry(path, name, value)] as const,
  );
  return {
    file: Object.fromEntries(entries.map(([name, { text }]) => [name, text])),
    places: new Map(entries.flatMap(([, { places }]) => [...places])),
    problems: problems.map(({ line, ...problem }) => ({
      ...problem,
      text: `${path}:${line}: ${problem.text}`,
    })),
  };
}

/** `section` of the --config file takes precedence over the cloud's own file. */
export function withSection(below: CloudFile, path: string, { raw, places }: RawSection): CloudFile {
  // Values in a list of records that the section replaces must not get the positions of the other file.
  const left = [...below.places].filter(([key]) => !Object.hasOwn(raw, topLevelName(key)));
  return {
    ...below,
    file: { ...below.file, ...raw },
    places: new Map([
      ...left,
      ...[...places].map(([name, { line, column }]) => [name, `${path}:${line}:${column}`] as const),
    ]),
  };
}

/** The files that the provider needs before it can connect. */
export async function readInputs(
  provider: AnyProvider,
  sources: Omit<CloudSettings, "cluster">,
  reader: FileReader,
): Promise<{ readonly inputFiles: ReadonlyMap<string, Secret>; readonly problems: readonly Problem[] }> {
  const problems: Problem[] = [];
  const inputFiles = new Map<string, Secret>();
  for (const input of provider.inputs?.(readConfig(provider, sources).values) ?? []) {
    const whole = await reader.read(input.path, "a file named in the cloud's settings");
    if ("problem" in whole) {
      if (!(whole.isMissing && input.optional === true)) problems.push(whole.problem);
    } else inputFiles.set(input.path, new Secret(whole.text));
  }
  return { inputFiles, problems };
}
