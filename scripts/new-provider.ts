// `npm run new-provider -- <name>`: creates the skeleton of a provider, which compiles and has failing tests where code is
// missing; with --hard, a complete provider. `try <name|path>` runs the real manager with a provider, its simulator and a test API server.

import { existsSync, readdirSync } from "node:fs";
import { join, relative } from "node:path";
import { commandLine, fail, fromCaller } from "./command-line.ts";
import { hardSteps, nextSteps } from "./new-provider/next-steps.ts";
import { readName, similarName } from "./new-provider/provider-name.ts";
import { isPackage, repository, skeletonOf } from "./new-provider/skeleton.ts";
import { tryProvider } from "./new-provider/try-provider.ts";
import { writeSkeleton } from "./new-provider/write-skeleton.ts";

const usage = `Usage: npm run new-provider -- <name> [--hard] [--dir <path>]
         Create a provider in providers/<name>, or in <path> outside this repository. With --hard, it is a complete one for a cloud
         with regions, jobs and route documents, to be changed file by file.
       npm run new-provider -- try <name|path>
         Run the manager with a provider, its simulator and a test API server.
`;

const options = { dir: { type: "string", short: "d" }, hard: { type: "boolean", default: false } } as const;
const { values, positionals } = commandLine(usage, options, 2);
const [first, second] = positionals;
if (first === undefined) fail("Expected the name of the new provider.", usage);

const providers = join(repository, "providers");
const taken = isPackage ? [] : readdirSync(providers).toSorted();

if (first === "try") {
  if (second === undefined) fail("Expected the name or the path of a provider.", usage);
  const inside = join(providers, second);
  const folder = existsSync(inside) ? inside : fromCaller(second);
  try {
    process.exit((await tryProvider(folder, (text) => process.stdout.write(text))) ? 0 : 1);
  } catch (error) {
    fail(error);
  }
}

if (second !== undefined) fail(`Expected one name, got two: ${first} and ${second}.`, usage);
const { dir, hard: isHard } = values;
if (isPackage && dir === undefined) fail("Expected --dir and the folder of the new provider.", usage);
const isInside = dir === undefined;
const name = readName(first, isInside ? taken : []);
if ("error" in name) process.exit(fail(name.error));
const skeleton = skeletonOf(
  name,
  isInside ? { kind: "inside", root: repository } : { kind: "outside", folder: fromCaller(dir) },
  isHard ? "hard" : "simple",
);
const existing = writeSkeleton(skeleton);
if (existing.length > 0) {
  const paths = existing.map((path) => `  ${relative(fromCaller("."), path)}\n`).join("");
  fail(
    `No files were written, because these already exist:\n${paths}Remove them or choose a different name.`,
  );
}
process.stdout.write((isHard ? hardSteps : nextSteps)(skeleton, name.kebab, isInside));
const similar = isInside ? similarName(name, taken) : undefined;
if (similar !== undefined) {
  process.stdout.write(
    `\nNote: there is also a provider "${similar}". If you meant that one, remove the new files.\n`,
  );
}
