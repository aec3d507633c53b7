// The Debian and RPM packages of one cloud, for the processors that were built.

import { readFileSync } from "node:fs";
import type { Prepared } from "../../build/executable.ts";
import type { Target } from "../../build/targets.ts";
import { type Artefact, executableName } from "../artefact.ts";
import { packageContent, packageTargets, packageVersion } from "./content.ts";
import { debianPackage } from "./deb.ts";
import type { Format, ProgramTexts } from "./program-texts.ts";
import { rpmPackage } from "./rpm.ts";

const writers = { deb: debianPackage, rpm: rpmPackage } as const;

export function packageArtefacts(
  cloud: Prepared,
  texts: ProgramTexts,
  targets: readonly Target[],
): readonly Artefact[] {
  const { program } = cloud.provider;
  const version = packageVersion(cloud.sources.released);
  return packageTargets
    .filter(({ target }) => targets.includes(target))
    .flatMap(({ debian, rpm, target }) => {
      const artefact = (name: string, format: Format, architecture: string): Artefact => ({
        name,
        make: (folder) => {
          const executable = readFileSync(folder.at(executableName(cloud, target)));
          const content = packageContent({ cloud, executable, texts, format });
          return folder.write(name, writers[format](content, architecture));
        },
      });
      return [
        artefact(`${program}_${version}_${debian}.deb`, "deb", debian),
        artefact(`${program}-${version}-1.${rpm}.rpm`, "rpm", rpm),
      ];
    });
}
