// Files that are downloaded once and kept outside the repository.

import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";

function cacheRoot(): string {
  const base = process.env["XDG_CACHE_HOME"];
  return join(base === undefined || base === "" ? join(homedir(), ".cache") : base, "fairlead");
}

/** The path of a file in the cache, which may not exist. */
export const cachePath = (key: string): string => join(cacheRoot(), key);

/** The path of the file with this key. `make` returns a file in its folder; it appears in the cache only when it is complete. */
export async function cachedDownload(
  key: string,
  make: (folder: string) => Promise<string> | string,
): Promise<string> {
  const path = cachePath(key);
  if (existsSync(path)) return path;
  mkdirSync(dirname(path), { recursive: true });
  const folder = mkdtempSync(join(dirname(path), ".incomplete-"));
  try {
    renameSync(await make(folder), path);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return path;
}
