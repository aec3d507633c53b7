// The files of kubectl-fairlead in a release: for each platform of kubectl the executable, its SBOM and an archive, and for package
// managers a krew manifest and a Homebrew formula.

import type { Prepared } from "../build/executable.ts";
import { pluginTargets, type Target, targets } from "../build/targets.ts";
import { type Artefact, archiveName } from "./artefact.ts";
import { artefactsFor } from "./artefacts.ts";
import type { ReleaseFolder } from "./folder.ts";
import { homebrewFormula } from "./homebrew.ts";
import { krewManifest, type PluginDownloads } from "./krew.ts";

/** Includes Windows, unless targets are chosen. */
export function pluginTargetsOf(chosen: readonly Target[]): readonly Target[] {
  return pluginTargets.filter((target) => chosen.length === targets.length || chosen.includes(target));
}

/** Where users download the release that a workflow of GitHub builds. */
export function githubDownloads(
  { GITHUB_SERVER_URL: server, GITHUB_REPOSITORY: repository }: Readonly<Record<string, string | undefined>>,
  version: string,
): string | undefined {
  if (server === undefined || repository === undefined) return undefined;
  return `${server}/${repository}/releases/download/v${version}`;
}

export interface PluginParts {
  readonly targets: readonly Target[];
  /** The URL of the folder with the files of the release; without the URL, no package manager could download them. */
  readonly downloads: string | undefined;
}

export function pluginArtefacts(
  plugin: Prepared,
  { targets: chosen, downloads }: PluginParts,
): readonly Artefact[] {
  const platforms = pluginTargetsOf(chosen);
  const described = (name: string, describe: (downloads: PluginDownloads) => string): Artefact => ({
    name,
    make: (folder: ReleaseFolder) => {
      const sums = new Map(folder.subjects().map((each) => [each.name, each.sha256]));
      const archives = platforms.map((target) => {
        const archive = archiveName(plugin, target);
        return { target, url: `${downloads}/${archive}`, sha256: sums.get(archive) ?? "" };
      });
      return folder.write(name, describe({ version: plugin.sources.released, downloads: archives }));
    },
  });
  return [
    ...platforms.flatMap((target) => artefactsFor(plugin, target)),
    ...(downloads === undefined
      ? []
      : [described("fairlead.krew.yaml", krewManifest), described("kubectl-fairlead.rb", homebrewFormula)]),
  ];
}
