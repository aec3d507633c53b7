// Makes clients ready to run: their packages and executables are kept outside the repository.

import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { cached, cachedFile, run } from "../../tools/rig/cached.ts";
import { installing, needTool } from "../../tools/rig/install.ts";
import type { PreparedClient } from "./suite.ts";

const shared = resolve(import.meta.dir, "..");

function hashOf(paths: readonly string[]): string {
  const hasher = new Bun.CryptoHasher("sha256");
  for (const path of paths) hasher.update(readFileSync(path));
  return hasher.digest("hex").slice(0, 16);
}

/** `folder` has requirements.txt and scenario.py. */
export function pythonClient(name: string, folder: string): PreparedClient {
  const python = needTool("python3");
  const requirements = join(folder, "requirements.txt");
  const installed = installing(`the packages of ${name}`, () =>
    cached(`python-${hashOf([requirements])}`, (target) => {
      run([python, "-m", "venv", target], folder);
      run([join(target, "bin/python"), "-m", "pip", "install", "-q", "-r", requirements], folder);
    }),
  );
  const path = `PYTHONPATH=${join(shared, "python")}`;
  return { name, command: ["env", path, join(installed, "bin/python"), "-B", join(folder, "scenario.py")] };
}

const sourcesOf = (folder: string): readonly string[] =>
  [...new Bun.Glob("*.{go,mod,sum}").scanSync({ cwd: folder })].toSorted().map((name) => join(folder, name));

/** `folder` has the program and its go.mod and go.sum. */
export function goClient(name: string, folder: string): PreparedClient {
  const go = needTool("go");
  const env = { GOFLAGS: "-mod=readonly", GOWORK: "off" };
  const sources = [...sourcesOf(folder), ...sourcesOf(join(shared, "go"))];
  const executable = cachedFile(`go-${hashOf(sources)}`, (path) => {
    installing(`the modules of ${name}`, () => run([go, "mod", "download"], folder, env));
    run([go, "build", "-buildvcs=false", "-o", path, "."], folder, env);
  });
  return { name, command: [executable] };
}

/** `file` is a test file with a name that `npm test` does not find. */
export function testFile(name: string, file: string, seconds = 120): PreparedClient {
  return { name, command: [process.execPath, "test", `--timeout=${seconds * 1000}`, file] };
}
