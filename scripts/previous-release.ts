// The executable of the previous release, built from its commit and kept outside the checkout:
// tests upgrade from it and return to it.

import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { root } from "./test-runs.ts";

/** The variable in which the cluster tests find the path. */
export const previousVariable = "FAIRLEAD_TEST_PREVIOUS_EXECUTABLE";

/** The commit that represents the previous release until a tag exists. */
const firstCommit = "4b3ccf4367c53c841180030558dfd843e635b0a7";

function run(command: readonly string[], cwd: string): string {
  const { exitCode, stdout, stderr } = Bun.spawnSync([...command], { cwd });
  if (exitCode !== 0) throw new Error(`${command.join(" ")} exited with ${exitCode}: ${stderr.toString()}`);
  return stdout.toString().trim();
}

/** Whether this clone has the commit; a shallow one lacks most. */
function isKnown(commit: string): boolean {
  return Bun.spawnSync(["git", "cat-file", "-e", `${commit}^{commit}`], { cwd: root }).exitCode === 0;
}

/** The newest release before this commit. */
function previousCommit(): string {
  if (!isKnown("HEAD~1")) return firstCommit;
  const tags = run(["git", "tag", "--merged", "HEAD~1", "--sort=-version:refname", "--list", "v*"], root);
  const [newest = ""] = tags.split("\n");
  return newest === "" ? firstCommit : run(["git", "rev-list", "-n", "1", newest], root);
}

/**
 * Builds the executable of the cloud unless it is in the cache. Undefined in a clone without that commit, such as a shallow one.
 */
export function previousExecutable(cloud: string): string | undefined {
  const commit = previousCommit();
  const program = `${cloud}-cloud-controller-manager`;
  const cache = process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache");
  const kept = join(cache, "fairlead", "previous", commit, program);
  if (existsSync(kept)) return kept;
  if (!isKnown(commit)) return undefined;
  mkdirSync(dirname(kept), { recursive: true });
  const folder = mkdtempSync(`${dirname(kept)}.`);
  try {
    const archive = join(folder, "source.tar");
    run(["git", "archive", `--output=${archive}`, commit], root);
    run(["tar", "-xf", archive], folder);
    // The launcher of that commit installs its own dependencies.
    run(["node", "scripts/launch.mjs", "scripts/build.ts", cloud, "--outdir", join(folder, "built")], folder);
    renameSync(join(folder, "built", program), kept);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return kept;
}
