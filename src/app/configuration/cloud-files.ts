// Reads the cloud's settings from files: the cloud's own file, the cloud section of the --config file, which takes precedence,
// and the files that settings name. Each setting keeps its position, so that errors can point to it.

import type { RawSection } from "../../config-file/parse-configuration.ts";
import { inEach } from "../../core/certain-checks.ts";
import type { Place, Problem } from "../../core/problem.ts";
import { Secret } from "../../core/secret.ts";
import { settingError } from "../../core/setting-rules.ts";
import { type Fields, topLevelName, type Values } from "../../core/settings.ts";
import type { InputDeclaration, SecretName } from "../../provider/inputs.ts";
import type { AnyProvider, ConfigFile, ConfigSection } from "../../provider/provider.ts";
import { inUsersWords, readConfig, type SettingSources } from "./cloud-settings.ts";
import type { FileReader } from "./file-reader.ts";

export interface CloudFile {
  /** Settings by name. */
  readonly file: Readonly<Record<string, string>>;
  /** The file position of each setting. */
  readonly places: ReadonlyMap<string, Place>;
  /** See `CloudSources`. */
  readonly titles: ReadonlyMap<string, string>;
  readonly unread: readonly string[];
  readonly problems: readonly Problem[];
}

const empty: CloudFile = { file: {}, places: new Map(), titles: new Map(), unread: [], problems: [] };

const isList = (value: ConfigFile["settings"][string]): value is readonly ConfigSection[] =>
  Array.isArray(value);

/** Converts sections to the JSON that a `records` field parses. */
function textOf(value: ConfigFile["settings"][string]): string {
  if (!isList(value)) return value.text;
  const texts = value.map(({ values }) =>
    Object.fromEntries(Object.entries(values).map(([key, { text }]) => [key, text])),
  );
  return JSON.stringify(texts);
}

/** Returns the setting, or for a list of records its sections and the values in each section. */
function partsOf(name: string, value: ConfigFile["settings"][string]) {
  if (!isList(value)) return [{ key: name, line: value.line, title: value.title }];
  return value.flatMap(({ line, title, values }, index) => {
    const own = `${name}[${index}]`;
    const inside = Object.entries(values).map(([key, one]) => ({ ...one, key: `${own}.${key}` }));
    return [{ key: own, line, title }, ...inside];
  });
}

/** The names in lines with an error: the setting on such a line, or all settings of an unknown section. */
function unreadNames(text: string, problems: ConfigFile["problems"]): readonly string[] {
  const lines = text.split("\n").map((line) => line.trim());
  const isHeader = (line: string | undefined) => line?.startsWith("[") === true;
  return problems.flatMap(({ line, severity }) => {
    // A setting with a warning is known to have no effect.
    if (severity === "warning") return [];
    let end = line;
    if (isHeader(lines[line - 1])) while (end < lines.length && !isHeader(lines[end])) end += 1;
    return lines.slice(line - 1, end).flatMap((one) => /^[\w-]+/.exec(one)?.[0] ?? []);
  });
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
  if ("problem" in whole)
    return { ...empty, unread: Object.keys(provider.config), problems: [whole.problem] };
  const { settings, problems } = await provider.readConfigFile(whole.text);
  const entries = Object.entries(settings);
  const parts = entries.flatMap(([name, value]) => partsOf(name, value));
  return {
    file: Object.fromEntries(entries.map(([name, value]) => [name, textOf(value)])),
    places: new Map(parts.map(({ key, line }) => [key, { file: path, line }])),
    titles: new Map(parts.flatMap(({ key, title }) => (title === undefined ? [] : [[key, title]]))),
    unread: unreadNames(whole.text, problems),
    problems: problems.map(({ line, ...problem }) => ({ ...problem, place: { file: path, line } })),
  };
}

/** The settings that have a line in the file. Settings that the file omits may come from variables. */
export const problemsIn = (path: string, problems: readonly Problem[]): readonly Problem[] =>
  problems.filter(
    ({ reason, key, place }) =>
      place?.file === path && reason !== "MissingSetting" && key !== "--cloud-config",
  );

/** `section` of the --config file takes precedence over the cloud's own file. */
export function withSection(below: CloudFile, path: string, { raw, places }: RawSection): CloudFile {
  // Values in a list of records that the section replaces must not get positions in the other file.
  const left = ([key]: readonly [string, unknown]) => !Object.hasOwn(raw, topLevelName(key));
  return {
    ...below,
    file: { ...below.file, ...raw },
    titles: new Map([...below.titles].filter(left)),
    places: new Map([
      ...[...below.places].filter(left),
      ...[...places].map(([name, place]) => [name, { file: path, ...place }] as const),
    ]),
  };
}

function inputsOf(provider: AnyProvider, sources: SettingSources): readonly InputDeclaration[] {
  const inputs = (values: Readonly<Record<string, unknown>>) =>
    provider.inputs?.(values as Values<Fields>) ?? [];
  const { possible } = readConfig(provider, sources);
  return inEach(possible, inputs, (input) => JSON.stringify(input));
}

/** The Secrets in the cluster that the provider needs, without duplicates. */
export function secretInputs(provider: AnyProvider, sources: SettingSources): readonly SecretName[] {
  const secrets = inputsOf(provider, sources).filter((input) => input.kind === "Secret");
  const byName = new Map(
    secrets.map(({ namespace, name }) => [`${namespace}/${name}`, { namespace, name }] as const),
  );
  return [...byName.values()];
}

const certificate = /^-----BEGIN CERTIFICATE-----\s[A-Za-z0-9+/=\s]+^-----END CERTIFICATE-----/m;

/** The files that the provider needs before it can connect. */
export async function readInputs(
  provider: AnyProvider,
  sources: SettingSources,
  reader: FileReader,
): Promise<{ readonly inputFiles: ReadonlyMap<string, Secret>; readonly problems: readonly Problem[] }> {
  const problems: Problem[] = [];
  const inputFiles = new Map<string, Secret>();
  for (const input of inputsOf(provider, sources)) {
    if (input.kind !== "File") continue;
    const whole = await reader.read(input.path, "a file named in the cloud's settings");
    if ("problem" in whole) {
      if (!(whole.isMissing && input.optional === true)) problems.push(whole.problem);
      continue;
    }
    inputFiles.set(input.path, new Secret(whole.text));
    const { path, certificatesOf: key } = input;
    if (key === undefined || certificate.test(whole.text)) continue;
    const text = `${path}: this file has no certificate in the PEM format (-----BEGIN CERTIFICATE-----). Correct ${key}`;
    problems.push(inUsersWords(provider, settingError(key, text), sources));
  }
  return { inputFiles, problems };
}
