// Runs the test suites that prove features and returns their JUnit reports.

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { idsOf, type Proofs, proofsOf, readJUnit } from "./features.ts";

const root = new URL("../..", import.meta.url).pathname;

/** The proofs in a report. Prints the tests with a feature id that failed or were skipped. */
export function proofsIn(xml: string): Proofs {
  const results = readJUnit(xml);
  for (const { title, passed } of results)
    if (!passed && idsOf(title).length > 0)
      process.stdout.write(`failed or skipped, so it does not count as proof: ${title}\n`);
  return proofsOf(results);
}

/** Runs `command` with the two options for a JUnit report and returns the report. */
function reportOf(command: readonly string[], env: NodeJS.ProcessEnv): string {
  const folder = mkdtempSync(join(tmpdir(), "fairlead-docs-"));
  const file = join(folder, "junit.xml");
  try {
    Bun.spawnSync([...command, "--reporter=junit", `--reporter-outfile=${file}`], { cwd: root, env });
    return readFileSync(file, "utf8");
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Without the environment of the cluster tests: the result shows what a plain clone proves. */
export function runPlain(): string {
  const { FAIRLEAD_CLUSTER_KUBECONFIG: _, KUBEBUILDER_ASSETS: __, ...env } = process.env;
  return reportOf([process.execPath, "scripts/all-tests.ts"], env);
}

export function runExecutable(): string {
  const built = Bun.spawnSync([process.execPath, "scripts/build.ts", "fake"], { cwd: root });
  if (built.exitCode !== 0) throw new Error(`npm run build fake failed:\n${built.stderr}`);
  const files = [...new Bun.Glob("test/executable/*.executable.ts").scanSync({ cwd: root })].toSorted();
  return reportOf(
    [process.execPath, "scripts/launch.mjs", "test", ...files.map((path) => `./${path}`)],
    process.env,
  );
}

/** A test that is skipped because a tool is missing proves nothing. */
export function runTools(): string {
  return reportOf([process.execPath, "scripts/tool-tests.ts"], process.env);
}

/** Undefined if KUBEBUILDER_ASSETS is not set. */
export function runCluster(): string | undefined {
  return (process.env["KUBEBUILDER_ASSETS"] ?? "") === ""
    ? undefined
    : reportOf([process.execPath, "scripts/cluster-tests.ts"], process.env);
}
