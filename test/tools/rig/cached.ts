// Folders with the files that the clients need, kept between runs outside the repository: one for each version.

import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

const marker = ".complete";

function cacheRoot(): string {
  const base = process.env["XDG_CACHE_HOME"];
  return join(base === undefined || base === "" ? join(homedir(), ".cache") : base, "fairlead", "clients");
}

/** Throws with the output when the command fails. */
export function run(
  command: readonly string[],
  cwd: string,
  env: Readonly<Record<string, string>> = {},
): void {
  const options = { cwd, env: { ...process.env, ...env }, stdin: "ignore" } as const;
  const { exitCode, stdout, stderr } = Bun.spawnSync([...command], options);
  if (exitCode === 0) return;
  throw new Error(`"${command.join(" ")}" exited with ${exitCode}:\n${stdout}${stderr}`);
}

/** A hash over the contents of these files, for use in a cache key. */
export function hashOf(paths: readonly string[]): string {
  const hasher = new Bun.CryptoHasher("sha256");
  for (const path of paths) hasher.update(readFileSync(path));
  return hasher.digest("hex").slice(0, 16);
}

/** The folder for this key, which is built if it is missing or incomplete. */
export function cached(key: string, build: (folder: string) => void): string {
  const folder = join(cacheRoot(), key);
  if (existsSync(join(folder, marker))) return folder;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  build(folder);
  writeFileSync(join(folder, marker), "");
  return folder;
}

/** Like `cached`, for contents that do not include their own path: the folder appears only when it is complete. */
export function cachedFile(key: string, build: (path: string) => void): string {
  const path = join(cacheRoot(), key);
  if (existsSync(path)) return path;
  mkdirSync(cacheRoot(), { recursive: true });
  const draft = `${path}.${process.pid}`;
  build(draft);
  renameSync(draft, path);
  return path;
}
