// Builds one executable with its SBOM. The parts that are the same for all targets of a provider are prepared once.

import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { basename, resolve } from "node:path";
import { type Contents, compile, findContents } from "./compile.ts";
import { type Material, packageFolders, readMaterial } from "./materials.ts";
import { noticesText } from "./notices.ts";
import { plugin, pluginModule } from "./plugin.ts";
import { findModule, type ProgramModule, readModule } from "./provider-module.ts";
import { runtimeOf } from "./runtimes.ts";
import { sbom } from "./sbom.ts";
import type { Sources } from "./sources.ts";
import type { Target } from "./targets.ts";

const root = resolve(import.meta.dir, "../..");

export interface Prepared {
  readonly provider: ProgramModule;
  readonly sources: Sources;
  readonly contents: Contents;
  readonly materials: readonly Material[];
  readonly notices: string;
}

/** `wanted` is the name of a folder in providers/, a path relative to `from`, or the name of the plugin with all of providers/. */
export async function prepare(wanted: string, from: string, sources: Sources): Promise<Prepared> {
  const provider = wanted === plugin ? await pluginModule() : await readModule(findModule(wanted, from));
  const contents = await findContents(provider);
  // The npm package is in a folder `node_modules`, and its dependencies are beside it.
  const isOwn = (file: string): boolean =>
    file.startsWith(`${root}/`) && !file.startsWith(`${root}/node_modules/`);
  const bundled = contents.files.map((file) => resolve(root, file)).filter((file) => !isOwn(file));
  const materials = packageFolders(bundled).map(readMaterial);
  const notices = noticesText(readFileSync(resolve(root, "LICENSE"), "utf8"), Bun.version, materials);
  return { provider, sources, contents, materials, notices };
}

export interface Built {
  readonly path: string;
  readonly sha256: string;
  readonly bytes: number;
}

export interface BuildTarget {
  /** The target; undefined for this platform. */
  readonly target: Target | undefined;
  readonly outfile: string;
  /** Another Bun executable to embed, for users who relink the executable. */
  readonly runtime?: string | undefined;
}

/** Writes the executable, and its SBOM with the ending .cdx.json. */
export async function buildExecutable(
  { provider, sources: { version, commit, time }, materials, notices }: Prepared,
  { target, outfile, runtime }: BuildTarget,
): Promise<Built> {
  await compile(provider, {
    target,
    outfile,
    runtime: runtime ?? (target && (await runtimeOf(target))),
    defines: { FAIRLEAD_VERSION: version, FAIRLEAD_COMMIT: commit, FAIRLEAD_NOTICES: notices },
  });
  const content = readFileSync(outfile);
  const sha256 = createHash("sha256").update(content).digest("hex");
  const executable = basename(outfile);
  const list = sbom({ executable, version, time, sha256, bunVersion: Bun.version, materials });
  writeFileSync(`${outfile}.cdx.json`, `${JSON.stringify(list, undefined, 2)}\n`);
  return { path: outfile, sha256, bytes: content.length };
}
