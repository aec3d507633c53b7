// `npm run new-provider -- <name>`: creates the skeleton of a provider, which compiles and has failing tests where code is
// missing. `try <name|path>` runs the real manager with a provider, its simulator and a test API server.

import { existsSync, readdirSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { parseArgs } from "node:util";
import { didYouMean } from "../src/core/did-you-mean.ts";
import { nextSteps } from "./new-provider/next-steps.ts";
import { readName, similarName } from "./new-provider/provider-name.ts";
import { repository, skeletonOf } from "./new-provider/skeleton.ts";
import { TryError, tryProvider } from "./new-provider/try-provider.ts";
import { writeSkeleton } from "./new-provider/write-skeleton.ts";

const usage = `Usage: npm run new-provider -- <name> [--dir <path>]
         Create a provider in providers/<name>, or in <path> outside this repository.
       npm run new-provider -- try <name|path>
         Run the manager with a provider, its simulator and a test API server.
`;

function fail(text: string): never {
  process.stderr.write(text.endsWith("\n") ? text : `${text}\n`);
  process.exit(2);
}

/** npm changes to the repository and puts the caller's directory into INIT_CWD. */
const from = process.env["INIT_CWD"] ?? process.cwd();

const { values, positionals, tokens } = parseArgs({
  allowPositionals: true,
  strict: false,
  tokens: true,
  options: { dir: { type: "string", short: "d" }, help: { type: "boolean" } },
});
for (const token of tokens) {
  if (token.kind !== "option" || ["dir", "help"].includes(token.name)) continue;
  const meant = didYouMean(token.name, ["dir", "help"]);
  fail(
    `Unknown option --${token.name}.${meant === undefined ? "" : ` Did you mean --${meant}?`}\n\n${usage}`,
  );
}
const [first, second, ...more] = positionals;
if (values["help"] === true) {
  process.stdout.write(usage);
  process.exit(0);
}
if (first === undefined) fail(`Expected the name of the new provider.\n\n${usage}`);
if (more.length > 0) fail(`Unexpected argument ${more[0]}.\n\n${usage}`);

const providers = join(repository, "providers");
const taken = readdirSync(providers).toSorted();

if (first === "try") {
  if (second === undefined) fail(`Expected the name or the path of a provider.\n\n${usage}`);
  const inside = join(providers, second);
  const folder = existsSync(inside) ? inside : resolve(from, second);
  try {
    process.exit((await tryProvider(folder, (text) => process.stdout.write(text))) ? 0 : 1);
  } catch (error) {
    if (!(error instanceof TryError)) throw error;
    fail(error.message);
  }
}

if (second !== undefined) fail(`Expected one name, got two: ${first} and ${second}.\n\n${usage}`);
const dir = values["dir"];
if (dir === true || dir === "") fail(`--dir requires a path.\n\n${usage}`);
const isInside = typeof dir !== "string";
const name = readName(first, isInside ? taken : []);
if ("error" in name) process.exit(fail(name.error));
const skeleton = skeletonOf(
  name,
  isInside ? { kind: "inside", root: repository } : { kind: "outside", folder: resolve(from, dir) },
);
const existing = writeSkeleton(skeleton);
if (existing.length > 0) {
  const paths = existing.map((path) => `  ${relative(from, path)}\n`).join("");
  fail(`No files were written, because these already exist:\n${paths}Remove them or choose another name.`);
}
process.stdout.write(nextSteps(skeleton, name.kebab, isInside));
const similar = isInside ? similarName(name, taken) : undefined;
if (similar !== undefined) {
  process.stdout.write(
    `\nNote: there is also a provider "${similar}". If you meant that one, remove the new files.\n`,
  );
}
