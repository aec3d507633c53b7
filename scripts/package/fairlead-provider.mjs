#!/usr/bin/env node
// The command of the npm package @fairlead/provider: runs its scripts with the Bun that npm has installed beside it.

import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { findBun } from "../find-bun.mjs";

const usage = `Usage: fairlead-provider new <name> [--dir <path>]   writes the skeleton of a provider into a new folder; with --hard after
                                                      the name, a complete one with regions, jobs and route documents
       fairlead-provider try [path]                   runs the manager with the provider, its simulator and a test API server
       fairlead-provider test [bun test options]      runs the tests in this folder, with the conformance suites
       fairlead-provider build [path] [options]       builds the executable into dist; build --help shows the options
`;
const root = fileURLToPath(new URL("../..", import.meta.url));
const here = process.cwd();
const [command, ...words] = process.argv.slice(2);
const [first = ""] = words;
const hasPath = first !== "" && !first.startsWith("-");
const given = (option) => words.some((word) => word === option || word.startsWith(`${option}=`));
const withDefault = (option, value) => (given(option) ? [] : [option, value]);
const path = hasPath ? [] : ["."];
const commands = {
  new: ["scripts/new-provider.ts", ...words, ...(hasPath ? withDefault("--dir", first) : [])],
  try: ["scripts/new-provider.ts", "try", ...path, ...words],
  test: ["test", ...words],
  build: ["scripts/build.ts", ...path, ...words, ...withDefault("--outdir", "dist")],
};
const args = Object.hasOwn(commands, command ?? "") ? commands[command] : undefined;
if (args === undefined) {
  const isHelp = command === "--help" || command === "-h" || command === "help";
  process[isHelp ? "stdout" : "stderr"].write(usage);
  process.exit(isHelp ? 0 : 2);
}
const modules = join(dirname(createRequire(import.meta.url).resolve("bun/package.json")), "..");
const { bun: required } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")).dependencies;
const bun = findBun(modules, required);
if (bun === undefined) {
  process.stderr.write(
    `${modules} has no Bun ${required} for ${process.platform} ${process.arch}. Install the packages on this platform again: npm install\n`,
  );
  process.exit(1);
}
// Scripts resolve paths from the folder of the caller; tests run in it.
const { status } = spawnSync(bun, args, {
  cwd: command === "test" ? here : root,
  stdio: "inherit",
  env: { ...process.env, INIT_CWD: here },
});
process.exit(status ?? 1);
