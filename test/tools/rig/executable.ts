// The executable of a cloud as users run it, built once for all tests of this process, in a temporary folder.

import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { keepFolder } from "../../cluster/rig/kept-process.ts";
import { run } from "./cached.ts";

const root = resolve(import.meta.dir, "../../..");
const built = new Map<string, string>();

export function builtExecutable(cloud: string): string {
  const known = built.get(cloud);
  if (known !== undefined) return known;
  const folder = mkdtempSync(join(tmpdir(), "fairlead-built-"));
  keepFolder(folder);
  run([process.execPath, "scripts/build.ts", cloud, "--outdir", folder], root);
  const path = join(folder, `${cloud}-cloud-controller-manager`);
  built.set(cloud, path);
  return path;
}
