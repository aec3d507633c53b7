// What files say of the cloud: its own configuration file, the part of `--config` that counts more, and the files that its
// settings name. Where each setting stands goes along, so that what is wrong can be pointed at.

import type { RawSection } from "../../config-file/read-configuration.ts";
import type { Problem } from "../../core/problem.ts";
import { Secret } from "../../core/secret.ts";
import { type AnyProvider, type CloudSettings, readConfig } from "../connect-cloud.ts";
import type { WholeFiles } from "./file-reader.ts";

export interface CloudFile {
  /** Settings by name. */
  readonly file: Readonly<Record<string, string>>;
  /** Where each of them stands, as `path:line` or `path:line:column`. */
  readonly places: ReadonlyMap<string, string>;
  readonly problems: readonly Problem[];
}

const nothing: CloudFile = { file: {}, places: new Map(), problems: [] };

/** The file that `--cloud-config` names, in the format of the cloud's Go manager. */
export async function readCloudFile(
  path: string | undefined,
  provider: AnyProvider,
  disk: WholeFiles,
): Promise<CloudFile> {
  if (path === undefined) return nothing;
  if (provider.readConfigFile === undefined) {
    const text = `--cloud-config has no effect: the cloud ${provider.name} has no such file; its settings are under cloud in the file of --config, or in variables`;
    const reason = "FlagWithoutEffect";
    return { ...nothing, problems: [{ severity: "warning", reason, key: "--cloud-config", text }] };
  }
  const whole = await disk.read(path, "--cloud-config");
  if ("problem" in whole) return { ...nothing, problems: [whole.problem] };
  const { settings, problems } = provider.readConfigFile(whole.text);
  const entries = Object.entries(settings);
  return {
    file: Object.fromEntries(entries.map(([name, { text }]) => [name, text])),
    places: new Map(entries.map(([name, { line }]) => [name, `${path}:${line}`])),
    problems: problems.map(({ line, ...problem }) => ({
      ...problem,
      text: `${path}:${line}: ${problem.text}`,
    })),
  };
}

/** One file with another over it. */
export function withSection(below: CloudFile, path: string, { raw, places }: RawSection): CloudFile {
  return {
    ...below,
    file: { ...below.file, ...raw },
    places: new Map([
      ...below.places,
      ...[...places].map(([name, { line, column }]) => [name, `${path}:${line}:${column}`] as const),
    ]),
  };
}

/** What the cloud must be given before it can connect. */
export async function readInputs(
  provider: AnyProvider,
  sources: Omit<CloudSettings, "cluster">,
  disk: WholeFiles,
): Promise<{ readonly inputFiles: ReadonlyMap<string, Secret>; readonly problems: readonly Problem[] }> {
  const problems: Problem[] = [];
  const inputFiles = new Map<string, Secret>();
  for (const input of provider.inputs?.(readConfig(provider, sources).values) ?? []) {
    if (input.kind !== "File") {
      const what = `the ${input.kind} ${input.namespace}/${input.name}`;
      const text = `The cloud ${provider.name} wants ${what} before it connects, and only files can be had then; mount it, and name the file in the settings`;
      problems.push({ severity: "error", reason: "UnservedInput", text });
      continue;
    }
    const whole = await disk.read(input.path, "a file that the cloud's settings name");
    if ("problem" in whole) problems.push(whole.problem);
    else inputFiles.set(input.path, new Secret(whole.text));
  }
  return { inputFiles, problems };
}
