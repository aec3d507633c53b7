// Lists the titles of tests as bun reports them, without running them, for indexes that refer to tests.

import { mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { readJUnit } from "../../scripts/docs/features.ts";

const root = resolve(import.meta.dir, "../..");

/** The titles in these folders and files below `test`, each with its describe block in front. */
export const testTitles = async (...parts: readonly string[]): Promise<readonly string[]> => {
  const folder = await mkdtemp(join(tmpdir(), "fairlead-titles-"));
  try {
    const file = join(folder, "titles.xml");
    const paths = parts.map((part) => join(root, "test", part));
    const temporary = join(folder, "temporary");
    await mkdir(temporary);
    const report = ["-t", "^nothing is run$", "--reporter=junit", `--reporter-outfile=${file}`];
    Bun.spawnSync([process.execPath, "test", ...paths, ...report], {
      cwd: root,
      env: { ...process.env, TMPDIR: temporary },
      stdout: "ignore",
      stderr: "ignore",
    });
    // `afterAll` does not run for a file without a test to run, so files that are created while it is loaded stay.
    const left = await readdir(temporary);
    if (left.length > 0) throw new Error(`Loading the tests creates ${left.join(", ")}. Use beforeAll.`);
    return readJUnit(await Bun.file(file).text()).map(({ title }) => title);
  } finally {
    await rm(folder, { recursive: true });
  }
};
