// The site generator, installed outside the repository from its own lock file: most contributors never need it.

import { cpSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { cached, run } from "../../test/tools/rig/cached.ts";

/** Installs the generator if needed, and returns its folder. */
export function siteGenerator(root: string): string {
  const source = join(root, "scripts/site");
  const names = ["package.json", "package-lock.json"];
  const hasher = new Bun.CryptoHasher("sha256");
  for (const name of names) hasher.update(readFileSync(join(source, name)));
  const folder = cached(`site-${hasher.digest("hex").slice(0, 16)}`, (target) => {
    for (const name of names) cpSync(join(source, name), join(target, name));
    run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"], target);
  });
  return join(folder, "node_modules");
}
