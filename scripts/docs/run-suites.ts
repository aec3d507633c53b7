// Runs the suites and says which tests passed. What a suite needs and is not there is told, and then the last record counts.

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { idsOf, readJUnit } from "./features.ts";

const root = new URL("../..", import.meta.url).pathname;

/** Titles of tests that passed. Those that did not are told, and so is what proves nothing because it was left out. */
export function passedIn(xml: string): readonly string[] {
  return readJUnit(xml).flatMap(({ title, passed }) => {
    if (!passed && idsOf(title).length > 0) process.stdout.write(`proves nothing this time: ${title}\n`);
    return passed ? [title] : [];
  });
}

/** `command` gets the two options of a report behind it. */
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

/** Without what cluster tests need: the page says what a plain clone proves. */
export function runPlain(): string {
  const { FAIRLEAD_CLUSTER_KUBECONFIG: _, KUBEBUILDER_ASSETS: __, ...env } = process.env;
  return reportOf([process.execPath, "test"], env);
}

export function runExecutable(): string {
  const built = Bun.spawnSync([process.execPath, "scripts/build.ts", "fake"], { cwd: root });
  if (built.exitCode !== 0) throw new Error(`npm run build fake failed:\n${built.stderr}`);
  const files = [...new Bun.Glob("test/executable/*.executable.ts").scanSync({ cwd: root })].toSorted();
  return reportOf([process.execPath, "test", ...files.map((path) => `./${path}`)], process.env);
}

/** Undefined: there is no control plane to be had. */
export function runCluster(): string | undefined {
  return (process.env["KUBEBUILDER_ASSETS"] ?? "") === ""
    ? undefined
    : reportOf([process.execPath, "scripts/cluster-tests.ts"], process.env);
}
