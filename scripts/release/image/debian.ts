// Downloads Debian packages with apt, for any processor and without a change of this machine: apt gets its own folders. The
// sources and keys are those of the machine, or of the file in FAIRLEAD_APT_SOURCES.

import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { cachedDownload } from "../../build/cache.ts";
import { BuildError } from "../../build/provider-module.ts";
import { type Architecture, architectures, type LockedPackage, packageNames } from "./lock.ts";

function run(command: readonly string[], cwd: string): string {
  const { exitCode, stdout, stderr } = Bun.spawnSync([...command], { cwd, stdin: "ignore" });
  if (exitCode === 0) return stdout.toString();
  throw new BuildError(`"${command.join(" ")}" exited with ${exitCode}:\n${stdout}${stderr}`);
}

/** A missing apt or another distribution is the usual reason of a failure. */
const advice =
  "Images need apt-get and dpkg-deb, and the sources of the Debian release in deploy/image/packages.json (FAIRLEAD_APT_SOURCES=<file> names them). To update the versions: npm run release -- --lock-image. To build without images: --no-image.";

function sourceOptions(): readonly string[] {
  const file = process.env["FAIRLEAD_APT_SOURCES"] ?? "";
  return file === "" ? [] : [`-oDir::Etc::sourcelist=${file}`, "-oDir::Etc::sourceparts=/nonexistent"];
}

/** Runs `work` with an apt-get for the processor, with fresh package lists. */
function withApt<T>(
  architecture: Architecture,
  work: (apt: (...args: string[]) => string, folder: string) => T,
): T {
  const folder = mkdtempSync(join(tmpdir(), "fairlead-apt-"));
  const options = [
    ...[
      `-oDir::State=${folder}/state`,
      `-oDir::Cache=${folder}/cache`,
      `-oDir::State::status=${folder}/status`,
    ],
    ...[
      `-oAPT::Architecture=${architecture}`,
      `-oAPT::Architectures=${architecture}`,
      "-oAPT::Sandbox::User=root",
    ],
    ...sourceOptions(),
  ];
  for (const path of ["state/lists/partial", "cache/archives/partial", "out"]) {
    mkdirSync(join(folder, path), { recursive: true });
  }
  writeFileSync(join(folder, "status"), "");
  const apt = (...args: string[]): string => run(["apt-get", "-q", ...options, ...args], join(folder, "out"));
  try {
    apt("update");
    return work(apt, folder);
  } catch (error) {
    throw new BuildError(`${error instanceof Error ? error.message.trimEnd() : error}\n\n${advice}`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const sha256Of = (path: string): string => createHash("sha256").update(readFileSync(path)).digest("hex");

/** The path of the package. It is downloaded once. */
export function fetchPackage({ name, version, architecture, sha256 }: LockedPackage): string {
  return cachedDownload(`debian/${sha256}.deb`, (target) =>
    withApt(architecture, (apt, folder) => {
      apt("download", `${name}=${version}`);
      const [file = ""] = readdirSync(join(folder, "out"));
      const path = join(folder, "out", file);
      const found = sha256Of(path);
      if (found !== sha256) {
        throw new BuildError(
          `${name} ${version} has the checksum ${found}, but the lock has ${sha256}. It is not used.`,
        );
      }
      writeFileSync(join(target, basename(path)), readFileSync(path));
      return join(target, basename(path));
    }),
  );
}

/** The newest version of each package in the sources. */
export function newestPackages(): readonly LockedPackage[] {
  return architectures.flatMap((architecture) =>
    withApt(architecture, (apt) =>
      packageNames.map((name) => {
        const [, file = "", sha256 = ""] =
          /^'[^']+' (\S+) \d+ SHA256:([0-9a-f]{64})/m.exec(apt("download", "--print-uris", name)) ?? [];
        const [, version = ""] = file.split("_");
        return { name, version: decodeURIComponent(version), architecture, sha256 };
      }),
    ),
  );
}

/** Unpacks a package without its scripts, and returns its description. */
export function unpack(path: string, folder: string): string {
  run(["dpkg-deb", "-x", path, folder], folder);
  return run(["dpkg-deb", "-f", path], folder);
}
