// The files of one cloud: for each platform the executable, its SBOM, an archive and packages, and one container image.

import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { buildExecutable, type Prepared } from "../build/executable.ts";
import type { Target } from "../build/targets.ts";
import { type Artefact, executableName } from "./artefact.ts";
import { megabytes } from "./folder.ts";
import { imageArtefacts } from "./image/image.ts";
import { packageArtefacts } from "./packages/packages.ts";
import { programTexts } from "./packages/program-texts.ts";
import { gzip, tar } from "./tar.ts";

const root = resolve(import.meta.dir, "../..");

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

export interface Parts {
  readonly targets: readonly Target[];
  readonly withImage: boolean;
}

export async function artefactsOf(
  cloud: Prepared,
  { targets, withImage }: Parts,
): Promise<readonly Artefact[]> {
  const texts = await programTexts(cloud);
  return [
    ...targets.flatMap((target) => artefactsFor(cloud, target)),
    ...packageArtefacts(cloud, texts, targets),
    ...(withImage ? imageArtefacts(cloud, targets) : []),
  ];
}
