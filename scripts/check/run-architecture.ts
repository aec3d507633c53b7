// The architecture check of a provider outside this repository, with the rules for a provider inside.

import { readdirSync, readFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { violationsOf } from "./architecture.ts";

const folder = resolve(process.argv[2] ?? ".");
const files = readdirSync(folder, { recursive: true, encoding: "utf8" })
  .map((path) => path.replaceAll("\\", "/"))
  // Tests may import anything.
  .filter((path) => path.endsWith(".ts") && !path.endsWith(".test.ts") && !path.includes("node_modules/"))
  .toSorted();
const inside = `providers/${basename(folder)}/`;
const found = files
  .flatMap((path) => violationsOf({ path: inside + path, text: readFileSync(join(folder, path), "utf8") }))
  .map((text) => text.replaceAll(inside, ""));
process.stdout.write([...found, `${files.length} files, ${found.length} violations`, ""].join("\n"));
process.exit(found.length === 0 ? 0 : 1);
