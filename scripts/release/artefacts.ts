// The files of one cloud: for each platform the executable, its SBOM, an archive and packages, and one container image.

import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { buildExecutable, type Prepared } from "../build/executable.ts";
import { endingOf, type Target } from "../build/targets.ts";
import { type Artefact, archiveName, executableName } from "./artefact.ts";
import { megabytes } from "./folder.ts";
import { imageArtefacts } from "./image/image.ts";
import { packageArtefacts } from "./packages/packages.ts";
import { programTexts } from "./packages/program-texts.ts";
import { gzip, tar } from "./tar.ts";

const root = resolve(import.meta.dir, "../..");

function archiveOf({ provider, sources }: Prepared, target: Target, executable: Uint8Array): Uint8Array {
  const license = readFileSync(resolve(root, "LICENSE"));
  return gzip(
    tar(
      [
        { path: "LICENSE", mode: 0o644, content: license },
        { path: `${provider.program}${endingOf(target)}`, mode: 0o755, content: executable },
      ],
      sources.time,
    ),
  );
}

export function artefactsFor(cloud: Prepared, target: Target): readonly Artefact[] {
  const name = executableName(cloud, target);
  const archive = archiveName(cloud, target);
  return [
    {
      name,
      make: async (folder) =>
        megabytes((await buildExecutable(cloud, { target, outfile: folder.at(name) })).bytes),
    },
    {
      name: archive,
      make: (folder) => folder.write(archive, archiveOf(cloud, target, readFileSync(folder.at(name)))),
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
