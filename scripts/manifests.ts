// `npm run manifests`: writes the files in deploy/ that are generated from the program. With --check, reports outdated ones
// instead.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { commandLine } from "./command-line.ts";
import { deployFiles } from "./deploy/deploy-files.ts";

const folder = resolve(import.meta.dir, "../deploy");

const { values } = commandLine(
  "Usage: npm run manifests [-- --check]\n\nWrites the generated files in deploy/. With --check, only names stale ones.\n",
  { check: { type: "boolean", default: false } },
);

const stale = Object.entries(deployFiles()).filter(([path, content]) => {
  const file = join(folder, path);
  return !existsSync(file) || readFileSync(file, "utf8") !== content;
});
for (const [path, content] of stale) {
  process.stdout.write(`${values.check ? "stale" : "wrote"} deploy/${path}\n`);
  if (values.check) continue;
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), content);
}
if (stale.length === 0) process.stdout.write("All files in deploy/ are current.\n");
else if (values.check) process.exitCode = 1;
