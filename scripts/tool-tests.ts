// `npm run test:tools`: what users download and install, tried with the tools that they use, such as helm or promtool. The tools are
// installed outside the repository; what cannot be installed is skipped, with a line that says why.

import { resolve } from "node:path";
import { keepLoopbackDirect } from "../src/platform/environment.ts";

const root = resolve(import.meta.dir, "..");

const usage = `Usage: npm run test:tools -- [part of a file name]... [bun test options]

Runs test/tools with the real tools. Go modules are built into \${XDG_CACHE_HOME:-~/.cache}/fairlead. Debian packages are installed
only with CI=true or FAIRLEAD_INSTALL_TOOLS=1. Tests that need an API server need KUBEBUILDER_ASSETS, as test:cluster does.
`;

const words = process.argv.slice(2);
if (words.includes("--help") || words.includes("-h")) {
  process.stdout.write(usage);
  process.exit(0);
}
keepLoopbackDirect();

const flagsAt = words.findIndex((word) => word.startsWith("-"));
const parts = flagsAt === -1 ? words : words.slice(0, flagsAt);
const flags = flagsAt === -1 ? [] : words.slice(flagsAt);
const all = [...new Bun.Glob("test/tools/*.tool.ts").scanSync({ cwd: root })].toSorted();
const files = all.filter((path) => parts.length === 0 || parts.some((part) => path.includes(part)));
if (files.length === 0) {
  process.stderr.write(
    `No tool test file has ${parts.join(" or ")} in its name. There are:\n${all.map((path) => `  ${path}\n`).join("")}`,
  );
  process.exit(2);
}
const child = Bun.spawn(
  [process.execPath, "test", "--timeout=600000", ...flags, ...files.map((path) => `./${path}`)],
  { cwd: root, stdio: ["inherit", "inherit", "inherit"] },
);
process.exit(await child.exited);
