// The files of one cloud: for each platform the executable, its SBOM and an archive.

import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { buildExecutable, type Prepared } from "../build/executable.ts";
import type { Target } from "../build/targets.ts";
import { megabytes, type ReleaseFolder } from "./folder.ts";
import { gzip, tar } from "./tar.ts";

const root = resolve(import.meta.dir, "../..");

/** One step of a release. */
export interface Artefact {
  readonly name: string;
  /** Returns what the progress shows. */
  readonly make: (folder: ReleaseFolder) => Promise<string> | string;
}

/** The name of an executable in a release. */
export function executableName({ provider }: Prepared, target: Target): string {
  return `${provider.program}-${target}`;
}

function archiveOf({ provider, sources }: Prepared, executable: Uint8Array): Uint8Array {
  const license = readFileSync(resolve(root, "LICENSE"));
  return gzip(
    tar(
      [
        { path: "LICENSE", mode: 0o644, content: license },
        { path: provider.program, mode: 0o755, content: executable },
      ],
      sources.time,
    ),
  );
}

function artefactsFor(cloud: Prepared, target: Target): readonly Artefact[] {
  const name = executableName(cloud, target);
  return [
    {
      name,
      make: async (folder) =>
        megabytes((await buildExecutable(cloud, { target, outfile: folder.at(name) })).bytes),
    },
    {
      name: `${name}.tar.gz`,
      make: (folder) => folder.write(`${name}.tar.gz`, archiveOf(cloud, readFileSync(folder.at(name)))),
    },
  ];
}

export function artefactsOf(cloud: Prepared, targets: readonly Target[]): readonly Artefact[] {
  return targets.flatMap((target) => artefactsFor(cloud, target));
}
