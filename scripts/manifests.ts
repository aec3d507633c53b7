// `npm run manifests`: writes the files in deploy/ that are generated from the program. --check reports stale ones instead.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { deployFiles } from "./deploy/deploy-files.ts";
import { stopUnlessKnown } from "./known-options.ts";

const folder = resolve(import.meta.dir, "../deploy");
const args = process.argv.slice(2);

stopUnlessKnown(args, {
  usage:
    "Usage: npm run manifests [-- --check]\n\nWrites the generated files in deploy/. With --check, only names stale ones.\n",
  options: ["--check"],
});

const stale = Object.entries(deployFiles()).filter(([path, content]) => {
  const file = join(folder, path);
  return !existsSync(file) || readFileSync(file, "utf8") !== content;
});
for (const [path, content] of stale) {
  process.stdout.write(`${args.includes("--check") ? "stale" : "wrote"} deploy/${path}\n`);
  if (args.includes("--check")) continue;
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), content);
}
if (stale.length === 0) process.stdout.write("All files in deploy/ are current.\n");
else if (args.includes("--check")) process.exitCode = 1;
