// Prepares clients to run: their packages and executables are kept outside the repository.

import { join, resolve } from "node:path";
import { missingAssets } from "../../cluster/rig/assets.ts";
import { cached, hashOf, run } from "../../tools/rig/cached.ts";
import { goProgram, installing, needTool, Unavailable } from "../../tools/rig/install.ts";
import type { PreparedClient } from "./suite.ts";

const shared = resolve(import.meta.dir, "..");

/** The folder with a client's Python and packages. `folder` contains requirements.txt. */
export function pythonPackages(name: string, folder: string): string {
  const python = needTool("python3");
  const requirements = join(folder, "requirements.txt");
  return installing(`the packages of ${name}`, () =>
    cached(`python-${hashOf([requirements])}`, (target) => {
      run([python, "-m", "venv", target], folder);
      run([join(target, "bin/python"), "-m", "pip", "install", "-q", "-r", requirements], folder);
    }),
  );
}

/** `folder` contains requirements.txt and scenario.py. */
export function pythonClient(name: string, folder: string): PreparedClient {
  const path = `PYTHONPATH=${join(shared, "python")}`;
  const python = join(pythonPackages(name, folder), "bin/python");
  return { name, command: ["env", path, python, "-B", join(folder, "scenario.py")] };
}

/** `folder` contains the program and its go.mod and go.sum. */
export function goClient(name: string, folder: string): PreparedClient {
  return { name, command: [goProgram(folder, [join(shared, "go")])] };
}

/** Throws Unavailable if no API server can be started. */
export function needControlPlane(): void {
  const missing = missingAssets(["etcd", "kube-apiserver"]);
  if (missing !== undefined) throw new Unavailable(missing);
}

/** `file` is a test file whose name `npm test` does not match. */
export function testFile(name: string, file: string, seconds = 120): PreparedClient {
  return { name, command: [process.execPath, "test", `--timeout=${seconds * 1000}`, file] };
}
