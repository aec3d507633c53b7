// Runs a script or the tests with the pinned Bun, and installs the dependencies first when they are missing or outdated. This
// is plain JavaScript without packages, because it runs on Node.js or Bun before anything is installed.

import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { findBun } from "./find-bun.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const modules = join(root, "node_modules");
const stamp = join(modules, ".fairlead-lock");
const onBun = process.versions.bun !== undefined;

const lock = createHash("sha256")
  .update(readFileSync(join(root, "package-lock.json")))
  .digest("hex");

const install = () => {
  process.stderr.write(
    "Installing the development dependencies (first run, or package-lock.json has changed) …\n",
  );
  // Without npm, Bun installs the dependencies from the same lock file.
  const [command, args] =
    onBun && spawnSync("npm", ["--version"]).error !== undefined
      ? [process.execPath, ["install", "--no-save", "--ignore-scripts"]]
      : ["npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]];
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: ["ignore", 2, 2] });
  if (status !== 0) {
    process.stderr.write(
      `Installing the dependencies failed: "${command} ${args.join(" ")}" ${error ? `could not run: ${error.message}` : `exited with ${status}`}. Check that the package registry is reachable, then try again.\n`,
    );
    process.exit(1);
  }
  writeFileSync(stamp, lock);
};

if (!existsSync(stamp) || readFileSync(stamp, "utf8") !== lock) install();

const { bun: required } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")).devDependencies;
const bun = findBun(modules, required);
if (bun === undefined) {
  process.stderr.write(
    `Bun ${required} is required, and node_modules has none for ${process.platform} ${process.arch}${onBun ? `; this is Bun ${process.versions.bun}` : ""}. Nothing was run. Install Bun ${required} (https://bun.sh) and use "bun run" instead of "npm run".\n`,
  );
  process.exit(1);
}

/**
 * One process for each processor, which shares modules and compiled code between its files. The timeout only ends a test that
 * hangs: no test may depend on how fast the machine is.
 */
const testOptions = ["--parallel", "--no-isolate", "--timeout=600000"];
const [command, ...rest] = process.argv.slice(2);
/** `npm test` must end within a minute, so the long files are for `npm run test:all`, or run by name. */
const isQuick = process.env.FAIRLEAD_TESTS === undefined && !rest.some((word) => /[/\\]/.test(word));
if (isQuick) testOptions.push("--path-ignore-patterns=**/*.long.test.ts");
const args = command === undefined ? [] : [command, ...(command === "test" ? testOptions : []), ...rest];

/** JavaScriptCore's last compiler costs the tests more time than it saves them. */
const compiler = command === "test" ? { BUN_JSC_useFTLJIT: process.env.BUN_JSC_useFTLJIT ?? "0" } : {};

// Some libraries print colors even into a file.
const colors = process.stdout.isTTY ? {} : { NO_COLOR: process.env.NO_COLOR ?? "1" };
const child = spawn(bun, args, {
  cwd: root,
  stdio: "inherit",
  env: { ...process.env, ...colors, ...compiler },
});
// The terminal sends Ctrl-C to the child as well; the launcher only waits for it to exit.
process.on("SIGINT", () => {});
process.on("SIGTERM", () => child.kill("SIGTERM"));
process.on("SIGHUP", () => child.kill("SIGHUP"));
const codes = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 };
child.on("exit", (code, signal) => process.exit(code ?? codes[signal] ?? 1));
