// The word check of `npm run check`: reads documents, comments and strings, and fails when one uses a word of `words.ts`. With a
// folder as argument, it reads that folder instead of this repository.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { isExempt, ruledOutIn } from "./words.ts";

const folder = process.argv[2];
const root = folder ?? new URL("../..", import.meta.url).pathname;

const places =
  folder === undefined
    ? ["*.md", "{docs,deploy,src,providers,scripts,test}/**/*.{md,ts,mjs,yaml,service}"]
    : ["**/*.{md,ts}"];

const files = places
  .flatMap((pattern) => [...new Bun.Glob(pattern).scanSync({ cwd: root })])
  .filter((path) => !isExempt(path) && !path.includes("node_modules/"))
  .toSorted();
const found = files.flatMap((path) => ruledOutIn(path, readFileSync(join(root, path), "utf8")));
process.stdout.write([...found, `${files.length} files, ${found.length} words to replace`, ""].join("\n"));
process.exit(found.length === 0 ? 0 : 1);
