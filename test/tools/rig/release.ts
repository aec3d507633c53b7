// One release of the simulated cloud, built once for all tool tests of a run.

import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { ScriptError } from "../../../scripts/command-line.ts";
import { fetchPackage } from "../../../scripts/release/image/debian.ts";
import { readLock } from "../../../scripts/release/image/lock.ts";
import { keepFolder } from "../../cluster/rig/kept-process.ts";
import { needTool, Unavailable } from "./install.ts";

const root = resolve(import.meta.dir, "../../..");

export interface BuiltRelease {
  readonly folder: string;
  /** The public key of its signature, outside the folder. */
  readonly publicKey: string;
  readonly output: string;
}

/** Runs `npm run release` without npm. */
export function runRelease(...options: readonly string[]): string {
  const command = [process.execPath, join(root, "scripts/release.ts"), ...options];
  const { exitCode, stdout, stderr } = Bun.spawnSync(command, { cwd: root, stdin: "ignore" });
  if (exitCode !== 0) throw new Error(`The release exited with ${exitCode}:\n${stdout}${stderr}`);
  return stdout.toString();
}

/** Whether images can be built: their Debian packages are downloaded once. */
export const hasImages: boolean = await (async () => {
  const { snapshot, packages } = readLock();
  try {
    needTool("dpkg-deb");
    for (const each of packages) await fetchPackage(each, snapshot);
    return true;
  } catch (error) {
    if (!(error instanceof ScriptError || error instanceof Unavailable)) throw error;
    process.stderr.write(`(skip) image: ${error.message}\n`);
    return false;
  }
})();

export const releaseOptions: readonly string[] = [
  ...["--allow-dirty", "--cloud=fake"],
  ...(hasImages ? [] : ["--no-image"]),
];

let built: BuiltRelease | undefined;

export function builtRelease(): BuiltRelease {
  if (built !== undefined) return built;
  const base = mkdtempSync(join(tmpdir(), "fairlead-release-"));
  keepFolder(base);
  const key = join(base, "key");
  runRelease("--make-key", key);
  const folder = join(base, "release");
  const output = runRelease(
    ...releaseOptions,
    "--target=linux-x64,linux-arm64",
    "--key",
    key,
    "--outdir",
    folder,
  );
  built = { folder, publicKey: `${key}.pub`, output };
  return built;
}
