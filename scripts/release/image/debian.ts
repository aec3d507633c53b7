// The Debian packages of the lock: downloaded from a mirror while it has them, then from the archive of snapshots. The checksums of
// the lock decide, so neither server needs trust.

import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { cachedDownload } from "../../build/cache.ts";
import { ScriptError } from "../../command-line.ts";
import type { LockedPackage } from "./lock.ts";

const advice =
  "To update the locked versions: npm run release -- --lock-image. To build without images: --no-image.";

/** The addresses of the package, in the order to try. */
export function addressesOf({ path }: Pick<LockedPackage, "path">, snapshot: string): readonly string[] {
  const [archive = "", ...rest] = path.split("/");
  return [
    `https://deb.debian.org/${path}`,
    `https://snapshot.debian.org/archive/${archive}/${snapshot}/${rest.join("/")}`,
  ];
}

async function get(address: string): Promise<Uint8Array | string> {
  try {
    const response = await fetch(address);
    return response.ok ? await response.bytes() : `${response.status} ${response.statusText}`;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** The content from the first address that has the package. Throws if none has it, or if its checksum differs. */
export async function download(
  { name, version, sha256 }: Pick<LockedPackage, "name" | "version" | "sha256">,
  addresses: readonly string[],
): Promise<Uint8Array> {
  const failures: string[] = [];
  for (const address of addresses) {
    const answer = await get(address);
    if (typeof answer === "string") {
      failures.push(`  ${address}: ${answer}`);
      continue;
    }
    const found = createHash("sha256").update(answer).digest("hex");
    if (found === sha256) return answer;
    throw new ScriptError(
      `${name} ${version} from ${address} has the checksum ${found}, but deploy/image/packages.json has ${sha256}. It is not used.`,
    );
  }
  throw new ScriptError(
    `${name} ${version} could not be downloaded:\n${failures.join("\n")}\nNo image is built. ${advice}`,
  );
}

/** The path of the package file, which is downloaded once. */
export function fetchPackage(locked: LockedPackage, snapshot: string): Promise<string> {
  return cachedDownload(`debian/${locked.sha256}.deb`, async (folder) => {
    const path = join(folder, "package.deb");
    writeFileSync(path, await download(locked, addressesOf(locked, snapshot)));
    return path;
  });
}

/** Unpacks a package without its scripts, and returns its description. */
export function unpack(path: string, folder: string): string {
  run(["dpkg-deb", "-x", path, folder], folder);
  return run(["dpkg-deb", "-f", path], folder);
}

export function run(command: readonly [string, ...string[]], cwd: string): string {
  if (Bun.which(command[0]) === null) throw new ScriptError(`${command[0]} is not installed. ${advice}`);
  const { exitCode, stdout, stderr } = Bun.spawnSync([...command], { cwd, stdin: "ignore" });
  if (exitCode === 0) return stdout.toString();
  throw new ScriptError(`"${command.join(" ")}" exited with ${exitCode}:\n${stdout}${stderr}`);
}
