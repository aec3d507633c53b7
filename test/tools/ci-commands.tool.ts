// The commands of the Linux job in ci.yml, in order, in a clone with nothing beside it. They take
// ten minutes, so only the nightly tests run them.

import { describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parse } from "yaml";
import { runsNightly } from "../../src/testing/breadth.ts";

const root = resolve(import.meta.dir, "../..");

interface Step {
  readonly run?: string;
  /** Steps with a condition are for tags. */
  readonly if?: string;
}

describe.if(runsNightly)("ci.yml", () => {
  test("the commands of CI run in a clean clone", () => {
    const { jobs } = parse(readFileSync(join(root, ".github/workflows/ci.yml"), "utf8"));
    const steps: readonly Step[] = jobs.linux.steps;
    const commands = steps.flatMap(({ run, if: condition }) =>
      run === undefined || condition !== undefined ? [] : [run],
    );
    expect(commands.length).toBeGreaterThan(4);
    const folder = mkdtempSync(join(tmpdir(), "fairlead-ci-"));
    const { FAIRLEAD_TESTS: _, KUBEBUILDER_ASSETS: __, ...env } = process.env;
    try {
      const clone = join(folder, "clone");
      Bun.spawnSync(["git", "clone", "--quiet", root, clone]);
      for (const command of commands) {
        const { exitCode } = Bun.spawnSync(["bash", "-e", "-c", command], {
          cwd: clone,
          env,
          stdio: ["ignore", "inherit", "inherit"],
        });
        expect({ command, exitCode }).toEqual({ command, exitCode: 0 });
      }
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }, 3_600_000);
});
