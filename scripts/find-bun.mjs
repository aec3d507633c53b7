// Finds the Bun that npm has installed. This is plain JavaScript without packages, because it runs on Node.js before anything
// else.

import { spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";

/**
 * The Bun of this version in a folder `node_modules`, or else the Bun that runs this script; undefined if neither has the
 * version.
 */
export const findBun = (modules, version) => {
  const scope = join(modules, "@oven");
  // The executable in the package of this platform, unlike the one in .bin, needs no install scripts.
  const packages = existsSync(scope) ? readdirSync(scope).map((name) => join(scope, name, "bin", "bun")) : [];
  const candidates = [
    ...packages,
    // Install scripts that ran have moved the executable here.
    join(modules, "bun", "bin", "bun.exe"),
    ...(process.versions.bun === undefined ? [] : [process.execPath]),
  ];
  const versionOf = (path) => spawnSync(path, ["--version"], { encoding: "utf8" }).stdout?.trim();
  // Tests and executables depend on the runtime, so another version is rejected.
  return candidates.find((path) => existsSync(path) && versionOf(path) === version);
};
