// The promise check of `npm run check`, for this repository or for the provider in the given folder.

import { join, resolve } from "node:path";
import { heldPromises } from "./promises.ts";

const folder = process.argv[2];
const root = resolve(folder ?? new URL("../..", import.meta.url).pathname);
const code = folder === undefined ? ["src", "providers", "scripts"].map((name) => join(root, name)) : [root];

const found = await heldPromises(
  join(root, "tsconfig.json"),
  (path) => code.some((each) => path.startsWith(`${each}/`)) && !/\.test\.ts$|\/node_modules\//.test(path),
);
process.stdout.write([...found.map((text) => text.replace(`${root}/`, "")), ""].join("\n"));
process.exit(found.length === 0 ? 0 : 1);
