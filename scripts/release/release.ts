// Builds a release: the files of each cloud and platform, then the files that describe all of them, such as checksums and
// notes.

import { createHash, type KeyObject } from "node:crypto";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { prepare } from "../build/executable.ts";
import { plugin } from "../build/plugin.ts";
import { lockedRuntime } from "../build/runtimes.ts";
import type { Sources } from "../build/sources.ts";
import { ScriptError } from "../command-line.ts";
import type { Artefact } from "./artefact.ts";
import { artefactsOf, type Parts } from "./artefacts.ts";
import { chartArtefact } from "./chart.ts";
import { ReleaseFolder } from "./folder.ts";
import { packagesOf } from "./image/image.ts";
import type { LockedPackage } from "./image/lock.ts";
import { releaseNotes } from "./notes.ts";
import { type PluginParts, pluginArtefacts, pluginTargetsOf } from "./plugin.ts";
import { Progress } from "./progress.ts";
import { provenance } from "./provenance.ts";
import { providerPackageArtefact } from "./provider-package.ts";
import { signed } from "./signature.ts";

const root = resolve(import.meta.dir, "../..");
const readText = (path: string): string => readFileSync(resolve(root, path), "utf8");

export interface ReleasePlan extends Parts, PluginParts {
  readonly sources: Sources;
  readonly clouds: readonly string[];
  readonly outdir: string;
  readonly key: KeyObject | undefined;
  /** The version's section in the changelog. */
  readonly changes: string;
  readonly allowDirty: boolean;
  readonly print: (line: string) => void;
}

function checkSources({ sources, allowDirty }: ReleasePlan): void {
  if (sources.commit === "") {
    throw new ScriptError(
      "This is not a git checkout, so the release would name no commit. Nothing is built.",
    );
  }
  if (sources.isDirty && !allowDirty) {
    throw new ScriptError(
      "Files differ from the commit, so users could not build this release again. Commit them, or try with --allow-dirty.",
    );
  }
}

/** The Debian packages in the images of the release. */
function packagesIn({ withImage, targets }: ReleasePlan): readonly LockedPackage[] {
  return withImage ? packagesOf(targets) : [];
}

function statementOf(plan: ReleasePlan, folder: ReleaseFolder): string {
  const { sources, clouds, targets } = plan;
  const statement = provenance({
    subjects: folder.subjects(),
    version: sources.released,
    commit: sources.commit,
    clouds,
    targets,
    runtimes: [...new Set([...targets, ...(clouds.includes(plugin) ? pluginTargetsOf(targets) : [])])].map(
      lockedRuntime,
    ),
    packages: packagesIn(plan),
    lockSha256: createHash("sha256").update(readText("package-lock.json")).digest("hex"),
    environment: process.env,
  });
  return `${JSON.stringify(statement, undefined, 2)}\n`;
}

export async function release(plan: ReleasePlan): Promise<void> {
  const { sources, changes, key, print } = plan;
  checkSources(plan);
  const artefacts: Artefact[] = [];
  for (const name of plan.clouds) {
    const prepared = await prepare(name, root, sources);
    artefacts.push(
      ...(name === plugin ? pluginArtefacts(prepared, plan) : await artefactsOf(prepared, plan)),
    );
  }
  artefacts.push(chartArtefact(sources), providerPackageArtefact(sources));
  const folder = new ReleaseFolder(plan.outdir);
  const progress = new Progress(artefacts.length + 1, print);
  print(
    `Fairlead ${sources.version}, Bun ${Bun.version}: ${plan.clouds.join(", ")} for ${plan.targets.join(", ")}`,
  );
  for (const { name, make } of artefacts) await progress.step(name, () => make(folder));
  await progress.step("provenance, release notes and checksums", () => {
    folder.write(
      "RELEASE_NOTES.md",
      releaseNotes({
        version: sources.released,
        changes,
        isSigned: key !== undefined,
        bunVersion: Bun.version,
        packages: packagesIn(plan),
      }),
    );
    folder.write("provenance.intoto.json", statementOf(plan, folder));
    const sums = folder.finish();
    if (key !== undefined) folder.write("SHA256SUMS.sig", signed(sums, key));
    return "";
  });
}
