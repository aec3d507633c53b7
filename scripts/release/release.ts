// Builds a release: the files of each cloud and platform, then the files that describe all of them, such as checksums and
// notes.

import { createHash, type KeyObject } from "node:crypto";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { prepare } from "../build/executable.ts";
import { lockedRuntime } from "../build/runtimes.ts";
import type { Sources } from "../build/sources.ts";
import { ScriptError } from "../command-line.ts";
import type { Artefact } from "./artefact.ts";
import { artefactsOf, type Parts } from "./artefacts.ts";
import { releasedSection } from "./changelog.ts";
import { chartArtefact } from "./chart.ts";
import { ReleaseFolder } from "./folder.ts";
import { packagesOf } from "./image/image.ts";
import { releaseNotes } from "./notes.ts";
import { Progress } from "./progress.ts";
import { provenance } from "./provenance.ts";
import { providerPackageArtefact } from "./provider-package.ts";
import { signed } from "./signature.ts";

const root = resolve(import.meta.dir, "../..");
const readText = (path: string): string => readFileSync(resolve(root, path), "utf8");

export interface ReleasePlan extends Parts {
  readonly sources: Sources;
  readonly clouds: readonly string[];
  readonly outdir: string;
  readonly key: KeyObject | undefined;
  readonly tag: string | undefined;
  readonly allowDirty: boolean;
  readonly print: (line: string) => void;
}

function checkSources({ sources, allowDirty }: ReleasePlan): void {
  if (sources.commit === "") {
    throw new ScriptError("This is no git checkout, so the release would name no commit. Nothing is built.");
  }
  if (sources.isDirty && !allowDirty) {
    throw new ScriptError(
      "Files differ from the commit, so users could not build this release again. Commit them, or try with --allow-dirty.",
    );
  }
}

function statementOf({ sources, clouds, targets, withImage }: ReleasePlan, folder: ReleaseFolder): string {
  const statement = provenance({
    subjects: folder.subjects(),
    version: sources.released,
    commit: sources.commit,
    clouds,
    targets,
    runtimes: targets.map(lockedRuntime),
    packages: withImage ? packagesOf(targets) : [],
    lockSha256: createHash("sha256").update(readText("package-lock.json")).digest("hex"),
    environment: process.env,
  });
  return `${JSON.stringify(statement, undefined, 2)}\n`;
}

export async function release(plan: ReleasePlan): Promise<void> {
  const { sources, key, print } = plan;
  checkSources(plan);
  const { text: changes } = releasedSection(readText("CHANGELOG.md"), sources.released, plan.tag);
  const artefacts: Artefact[] = [];
  for (const name of plan.clouds) {
    artefacts.push(...(await artefactsOf(await prepare(name, root, sources), plan)));
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
      releaseNotes({ version: sources.released, changes, isSigned: key !== undefined }),
    );
    folder.write("provenance.intoto.json", statementOf(plan, folder));
    const sums = folder.finish();
    if (key !== undefined) folder.write("SHA256SUMS.sig", signed(sums, key));
    return "";
  });
}
