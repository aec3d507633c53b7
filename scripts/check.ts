// The checks that need no server: types, promises, lint and format, architecture, words. Each prints its name and duration. With
// the path of a provider outside this repository, they check that provider. With --fix, files are formatted first.

import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { commandLine, fail, fromCaller } from "./command-line.ts";
import { portableRules } from "./new-provider/tidy.ts";

const { values, positionals } = commandLine(
  "Usage: npm run check [-- [--fix] <path>]\n  types, promises, lint and format, architecture, words; with a path, of a provider outside this repository\n  --fix: format first, and apply the safe fixes of the linter\n",
  { fix: { type: "boolean", default: false } },
  1,
);
const lint = ["check", "--error-on-warnings", ...(values.fix ? ["--write"] : [])];

const repository = new URL("..", import.meta.url).pathname;
const bin = (name: string): string => join(repository, "node_modules/.bin", name);
const script = (name: string): readonly string[] => [
  process.execPath,
  join(repository, "scripts/check", name),
];

type Check = readonly [name: string, command: readonly string[], cwd?: string];

const ofRepository: readonly Check[] = [
  ["types", [bin("tsc"), "-p", "."]],
  ["promises", script("run-promises.ts")],
  ["lint and format", [bin("biome"), ...lint, "."]],
  ["architecture", [process.execPath, "test", "--timeout=120000", "test/architecture.test.ts"]],
  ["words", script("run-words.ts")],
];

/** `rules`: a folder with the project's rules for the linter. */
const ofProvider = (folder: string, rules: string): readonly Check[] => [
  ["types", [bin("tsc"), "-p", folder]],
  ["promises", [...script("run-promises.ts"), folder]],
  ["lint and format", [bin("biome"), ...lint, `--config-path=${rules}`, "."], folder],
  ["architecture", [...script("run-architecture.ts"), folder]],
  ["words", [...script("run-words.ts"), folder]],
];

/** The number of checks that failed. */
function runAll(checks: readonly Check[]): number {
  let failed = 0;
  for (const [name, command, cwd = repository] of checks) {
    const started = performance.now();
    const { exitCode, stdout, stderr } = Bun.spawnSync([...command], { cwd });
    const took = `${((performance.now() - started) / 1000).toFixed(1)} s`;
    if (exitCode === 0) process.stdout.write(`ok      ${name} (${took})\n`);
    else {
      failed += 1;
      process.stdout.write(`FAILED  ${name} (${took})\n${stdout}${stderr}\n`);
    }
  }
  process.stdout.write(`${checks.length - failed} passed, ${failed} failed\n`);
  return failed;
}

const [path] = positionals;
const folder = path === undefined ? undefined : fromCaller(path);
if (folder !== undefined && !existsSync(join(folder, "tsconfig.json")))
  fail(`${folder} has no tsconfig.json. Expected a provider made with --dir.`);
const rules = mkdtempSync(join(tmpdir(), "fairlead-rules-"));
writeFileSync(join(rules, "biome.json"), portableRules());
try {
  const failed = runAll(folder === undefined ? ofRepository : ofProvider(folder, rules));
  process.exitCode = failed === 0 ? 0 : 1;
} finally {
  rmSync(rules, { recursive: true, force: true });
}
