// Finds the Bun that npm has installed. Plain JavaScript without packages, because it runs on Node.js before anything else.

import { spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";

/** In a folder `node_modules`; undefined if it has none for this platform. */
export const findBun = (modules) => {
  const scope = join(modules, "@oven");
  // The executable in this platform's package, unlike the one in .bin, does not need install scripts.
  const packages = existsSync(scope) ? readdirSync(scope).map((name) => join(scope, name, "bin", "bun")) : [];
  // If install scripts ran, they moved the executable here.
  const candidates = [...packages, join(modules, "bun", "bin", "bun.exe")];
  const works = (path) => spawnSync(path, ["--version"]).status === 0;
  return candidates.find((path) => existsSync(path) && works(path));
};
