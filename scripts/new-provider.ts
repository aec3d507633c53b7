// `npm run new-provider -- <name>`: writes the skeleton of a provider, which compiles at once and is red where its author
// has to write. `try <name|path>` runs one against its own simulator, with the real manager on the sandbox.

import { existsSync, readdirSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { parseArgs } from "node:util";
import { didYouMean } from "../src/core/did-you-mean.ts";
import { nextSteps } from "./new-provider/next-steps.ts";
import { nearName, readName } from "./new-provider/provider-name.ts";
import { repository, skeletonOf } from "./new-provider/skeleton.ts";
import { tryProvider } from "./new-provider/try-provider.ts";
import { writeSkeleton } from "./new-provider/write-skeleton.ts";

const usage = `Usage: npm run new-provider -- <name> [--dir <path>]   a new provider, with --dir outside this repository
       npm run new-provider -- try <name|path>         runs one with its simulator on the sandbox
`;

function fail(text: string): never {
  process.stderr.write(text.endsWith("\n") ? text : `${text}\n`);
  process.exit(2);
}

/** npm moves into the repository and says where it was called. */
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
  fail(`--${token.name} is not known${meant === undefined ? "" : `; did you mean --${meant}?`}\n${usage}`);
}
const [first, second, ...more] = positionals;
if (values["help"] === true) {
  process.stdout.write(usage);
  process.exit(0);
}
if (first === undefined || more.length > 0) fail(usage);

const providers = join(repository, "providers");
const taken = readdirSync(providers).toSorted();

if (first === "try") {
  const inside = join(providers, second ?? "");
  const folder = second !== undefined && existsSync(inside) ? inside : resolve(from, second ?? "");
  process.exit((await tryProvider(folder, (text) => process.stdout.write(text))) ? 0 : 1);
}

if (second !== undefined) fail(`One name, got two: ${first} and ${second}.\n${usage}`);
const dir = values["dir"];
if (dir === true || dir === "") fail(`--dir must be a path.\n${usage}`);
const isInside = typeof dir !== "string";
const name = readName(first ?? "", isInside ? taken : []);
if ("wrong" in name) process.exit(fail(name.wrong));
const skeleton = skeletonOf(
  name,
  isInside ? { kind: "inside", root: repository } : { kind: "outside", folder: resolve(from, dir) },
);
const inTheWay = writeSkeleton(skeleton);
if (inTheWay.length > 0) {
  const paths = inTheWay.map((path) => `  ${relative(from, path)}\n`).join("");
  fail(`Nothing was written, because these are there already:\n${paths}Remove them, or take another name.`);
}
process.stdout.write(nextSteps(skeleton, name.kebab, isInside));
const near = isInside ? nearName(name, taken) : undefined;
if (near !== undefined) {
  process.stdout.write(
    `\nThere is a provider "${near}" too. If you meant that one, remove what was written just now.\n`,
  );
}
