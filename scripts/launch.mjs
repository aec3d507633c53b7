// Starts a script or the tests on the pinned Bun, and installs what is missing first. Plain JavaScript without imports
// from the project, because it runs on Node.js 20 or on Bun before anything is installed.

import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const modules = join(root, "node_modules");
const stamp = join(modules, ".fairlead-lock");
const onBun = process.versions.bun !== undefined;

const lock = createHash("sha256")
  .update(readFileSync(join(root, "package-lock.json")))
  .digest("hex");

const install = () => {
  process.stderr.write("Installing the development dependencies, once …\n");
  // Without npm there is Bun alone; it reads the same lock file.
  const [command, args] =
    onBun && spawnSync("npm", ["--version"]).error !== undefined
      ? [process.execPath, ["install", "--no-save", "--ignore-scripts"]]
      : ["npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]];
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: ["ignore", 2, 2] });
  if (status !== 0) {
    process.stderr.write(
      `${command} ${args.join(" ")} did not work${error ? `: ${error.message}` : ""}. Is the package registry reachable?\n`,
    );
    process.exit(1);
  }
  writeFileSync(stamp, lock);
};

if (!existsSync(stamp) || readFileSync(stamp, "utf8") !== lock) install();

/** The executable inside the package of this platform: the launcher in .bin needs an install script, this does not. */
const findBun = () => {
  const scope = join(modules, "@oven");
  const packages = existsSync(scope) ? readdirSync(scope).map((name) => join(scope, name, "bin", "bun")) : [];
  // Where install scripts ran, they moved the executable here.
  const candidates = [...packages, join(modules, "bun", "bin", "bun.exe")];
  const works = (path) => spawnSync(path, ["--version"]).status === 0;
  const found = candidates.find((path) => existsSync(path) && works(path));
  return found ?? (onBun ? process.execPath : undefined);
};

const bun = findBun();
if (bun === undefined) {
  process.stderr.write(
    `There is no Bun for ${process.platform} ${process.arch} in node_modules. Install Bun and use "bun run" instead of npm.\n`,
  );
  process.exit(1);
}

// Some libraries colour whatever they print, also into a file.
const colours = process.stdout.isTTY ? {} : { NO_COLOR: process.env.NO_COLOR ?? "1" };
const child = spawn(bun, process.argv.slice(2), {
  cwd: root,
  stdio: "inherit",
  env: { ...process.env, ...colours },
});
// Ctrl-C reaches the child by itself; the launcher only waits for its end.
process.on("SIGINT", () => {});
process.on("SIGTERM", () => child.kill("SIGTERM"));
process.on("SIGHUP", () => child.kill("SIGHUP"));
const codes = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 };
child.on("exit", (code, signal) => process.exit(code ?? codes[signal] ?? 1));
