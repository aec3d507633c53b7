// The checks that need no server: types, lint and format, architecture, words. Each prints its name and how long it took.

import { stopUnlessKnown } from "./known-options.ts";

stopUnlessKnown(process.argv.slice(2), {
  usage: "Usage: npm run check\n  types, lint and format, architecture, words; it takes no options\n",
  options: [],
});

const bin = (name: string): string => new URL(`../node_modules/.bin/${name}`, import.meta.url).pathname;

const checks: readonly (readonly [string, readonly string[]])[] = [
  ["types", [bin("tsc"), "-p", "."]],
  ["lint and format", [bin("biome"), "check", "--error-on-warnings", "."]],
  ["architecture", [process.execPath, "test", "test/architecture.test.ts"]],
  ["words", [process.execPath, "scripts/check/run-words.ts"]],
];

let failed = 0;
for (const [name, command] of checks) {
  const started = performance.now();
  const { exitCode, stdout, stderr } = Bun.spawnSync([...command], {
    cwd: new URL("..", import.meta.url).pathname,
  });
  const took = `${((performance.now() - started) / 1000).toFixed(1)} s`;
  if (exitCode === 0) process.stdout.write(`ok      ${name} (${took})\n`);
  else {
    failed += 1;
    process.stdout.write(`FAILED  ${name} (${took})\n${stdout}${stderr}\n`);
  }
}
process.stdout.write(`${checks.length - failed} passed, ${failed} failed\n`);
process.exit(failed === 0 ? 0 : 1);
