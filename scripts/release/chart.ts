// The Helm chart of deploy/chart as an archive in the form of `helm package`, and the same for each build of a commit.

import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Sources } from "../build/sources.ts";
import type { Artefact } from "./artefact.ts";
import { gzip, tar } from "./tar.ts";

const folder = resolve(import.meta.dir, "../../deploy/chart");

function chartFiles(): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((each) => each.isFile() && each.name !== ".helmignore")
    .map((each) => join(each.parentPath, each.name).slice(folder.length + 1))
    .toSorted();
}

export function chartArtefact({ released, time }: Sources): Artefact {
  const name = `fairlead-${released}.tgz`;
  return {
    name,
    make: (release) => {
      const entries = chartFiles().map((path) => ({
        path: `fairlead/${path}`,
        mode: 0o644,
        content: readFileSync(join(folder, path)),
      }));
      return release.write(name, gzip(tar(entries, time)));
    },
  };
}
