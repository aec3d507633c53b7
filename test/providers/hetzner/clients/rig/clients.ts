// The official clients of Hetzner Cloud, ready to run: their packages and executables are kept outside the repository.

import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { cached, cachedFile, run } from "../../../../tools/rig/cached.ts";
import { installing, needTool, Unavailable } from "../../../../tools/rig/install.ts";

const root = resolve(import.meta.dir, "..");

export interface PreparedClient {
  readonly name: string;
  readonly command: readonly string[];
}

/** The path of the OpenAPI document. */
export function openApiDocument(): string {
  const setting = process.env["HCLOUD_OPENAPI"] ?? "";
  if (setting === "") throw new Unavailable("HCLOUD_OPENAPI is not set to its path");
  const path = resolve(process.env["INIT_CWD"] ?? process.cwd(), setting);
  if (!existsSync(path)) throw new Unavailable(`HCLOUD_OPENAPI is ${setting}, which does not exist`);
  return path;
}

function hashOf(paths: readonly string[]): string {
  const hasher = new Bun.CryptoHasher("sha256");
  for (const path of paths) hasher.update(readFileSync(path));
  return hasher.digest("hex").slice(0, 16);
}

function preparePython(): PreparedClient {
  const python = needTool("python3");
  const requirements = join(root, "python/requirements.txt");
  let folder = "";
  installing("the packages of the Python client", () => {
    folder = cached(`python-${hashOf([requirements])}`, (target) => {
      run([python, "-m", "venv", target], root);
      run([join(target, "bin/python"), "-m", "pip", "install", "-q", "-r", requirements], root);
    });
  });
  return {
    name: "hcloud for Python",
    command: [join(folder, "bin/python"), join(root, "python/scenario.py")],
  };
}

function prepareGo(): PreparedClient {
  const go = needTool("go");
  const folder = join(root, "go");
  const names = ["go.mod", "go.sum", ...new Bun.Glob("*.go").scanSync({ cwd: folder })];
  const paths = names.toSorted().map((name) => join(folder, name));
  const env = { GOFLAGS: "-mod=readonly", GOWORK: "off" };
  const executable = cachedFile(`go-${hashOf(paths)}`, (path) => {
    installing("the modules of the Go client", () => run([go, "mod", "download"], folder, env));
    run([go, "build", "-buildvcs=false", "-o", path, "."], folder, env);
  });
  return { name: "hcloud-go", command: [executable] };
}

/** Fairlead's own manager, with the provider under test. */
function prepareFairlead(): PreparedClient {
  const file = join(root, "fairlead/manager.client.ts");
  return { name: "Fairlead", command: [process.execPath, "test", "--timeout=120000", file] };
}

/** The types of the provider against those of the OpenAPI document. */
function prepareTypes(): PreparedClient {
  const document = openApiDocument();
  const file = join(root, "types/types.client.ts");
  return {
    name: "types",
    command: ["env", `HCLOUD_OPENAPI=${document}`, process.execPath, "test", "--timeout=120000", file],
  };
}

/** The rehearsal of a change between managers. It has a cloud of its own. */
function prepareRehearsal(): PreparedClient {
  const file = join(root, "rehearsal/rehearsal.client.ts");
  return { name: "rehearsal", command: [process.execPath, "test", "--timeout=300000", file] };
}

export const clients = {
  python: preparePython,
  go: prepareGo,
  fairlead: prepareFairlead,
  types: prepareTypes,
  rehearsal: prepareRehearsal,
} as const;
