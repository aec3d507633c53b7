// Bun's runtime for a target: the installed one, or the npm package with the version and the checksum of package-lock.json.

import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { ScriptError } from "../command-line.ts";
import { cachedDownload } from "./cache.ts";
import { endingOf, runtimePackage, type Target } from "./targets.ts";

const root = resolve(import.meta.dir, "../..");

export interface RuntimePackage {
  readonly name: string;
  readonly version: string;
  /** `sha512-` and the checksum of the package, in base64. */
  readonly integrity: string;
}

/** The entry of package-lock.json. */
export function lockedRuntime(target: Target): RuntimePackage {
  const name = runtimePackage(target);
  const { packages } = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as {
    readonly packages: Readonly<Record<string, { readonly version?: string; readonly integrity?: string }>>;
  };
  const { version, integrity } = packages[`node_modules/${name}`] ?? {};
  if (version === undefined || integrity === undefined) {
    throw new ScriptError(
      `package-lock.json has no version and checksum of ${name}, so ${target} cannot be built.`,
    );
  }
  return { name, version, integrity };
}

function run(command: readonly [string, ...string[]], cwd: string): string {
  if (Bun.which(command[0]) === null) {
    throw new ScriptError(
      `${command[0]} is not installed. It is needed once per platform, to download the runtime of Bun.`,
    );
  }
  const { exitCode, stdout, stderr } = Bun.spawnSync([...command], { cwd, stdin: "ignore" });
  if (exitCode === 0) return stdout.toString();
  throw new ScriptError(`"${command.join(" ")}" exited with ${exitCode}:\n${stderr}`);
}

/** Throws unless the file has the checksum. */
export function checkIntegrity(what: string, bytes: Uint8Array, integrity: string): void {
  const found = `sha512-${createHash("sha512").update(bytes).digest("base64")}`;
  if (found === integrity) return;
  throw new ScriptError(
    `${what} has the checksum ${found}, but package-lock.json has ${integrity}. It is not used.`,
  );
}

/** The path of the runtime. The first build for another platform downloads about 50 MB into the cache. */
export async function runtimeOf(target: Target): Promise<string> {
  const { name, version, integrity } = lockedRuntime(target);
  const path = `bin/bun${endingOf(target)}`;
  const installed = join(root, "node_modules", name, path);
  if (existsSync(installed)) return installed;
  return cachedDownload(`runtimes/${name.replace("@oven/", "")}-${version}`, (folder) => {
    const packed = run(["npm", "pack", "--json", "--loglevel=error", `${name}@${version}`], folder);
    const [{ filename = "" } = {}] = JSON.parse(packed) as readonly { readonly filename?: string }[];
    checkIntegrity(`${name}@${version}`, readFileSync(join(folder, filename)), integrity);
    run(["tar", "-xzf", filename, `package/${path}`], folder);
    return join(folder, "package", path);
  });
}
