// Downloads Debian packages with apt, for any processor and without a change of this machine: apt gets its own folders. The
// sources and keys are those of the machine, or of the file in FAIRLEAD_APT_SOURCES.

import { createHash } from "node:crypto";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { cachedDownload } from "../../build/cache.ts";
import { ScriptError } from "../../command-line.ts";
import { type Architecture, architectures, type LockedPackage, packageNames } from "./lock.ts";

/** A missing apt or another distribution is the usual reason of a failure. */
const advice =
  "Images need apt-get and dpkg-deb, and the sources of the Debian release in deploy/image/packages.json (FAIRLEAD_APT_SOURCES=<file> names them). To update the versions: npm run release -- --lock-image. To build without images: --no-image.";

function run(command: readonly [string, ...string[]], cwd: string): string {
  if (Bun.which(command[0]) === null) throw new ScriptError(`${command[0]} is not installed.`);
  const { exitCode, stdout, stderr } = Bun.spawnSync([...command], { cwd, stdin: "ignore" });
  if (exitCode === 0) return stdout.toString();
  throw new ScriptError(`"${command.join(" ")}" exited with ${exitCode}:\n${stdout}${stderr}`);
}

function sourceOptions(): readonly string[] {
  const file = process.env["FAIRLEAD_APT_SOURCES"] ?? "";
  return file === "" ? [] : [`-oDir::Etc::sourcelist=${file}`, "-oDir::Etc::sourceparts=/nonexistent"];
}

/** apt-get for a processor, in its own folder. The package lists are downloaded when they are needed first. */
class Apt {
  readonly #architecture: Architecture;
  #folder: string | undefined;

  constructor(architecture: Architecture) {
    this.#architecture = architecture;
  }

  /** The name of the package's file, with its checksum. */
  newest(name: string): { readonly file: string; readonly sha256: string } {
    const printed = this.#get("download", "--print-uris", name);
    const [, file = "", sha256 = ""] = /^'[^']+' (\S+) \d+ SHA256:([0-9a-f]{64})/m.exec(printed) ?? [];
    return { file, sha256 };
  }

  /** Downloads the package into the folder, and returns its path. */
  download(name: string, version: string, folder: string): string {
    this.#get("download", `${name}=${version}`);
    const out = join(this.#open(), "out");
    const [file = ""] = readdirSync(out);
    cpSync(join(out, file), join(folder, file));
    rmSync(join(out, file));
    return join(folder, file);
  }

  #get(...args: readonly string[]): string {
    const folder = this.#open();
    try {
      return run(["apt-get", "-q", ...this.#options(folder), ...args], join(folder, "out"));
    } catch (error) {
      throw new ScriptError(`${error instanceof Error ? error.message.trimEnd() : error}\n\n${advice}`);
    }
  }

  #options(folder: string): readonly string[] {
    return [
      ...[
        `-oDir::State=${folder}/state`,
        `-oDir::Cache=${folder}/cache`,
        `-oDir::State::status=${folder}/status`,
      ],
      ...[`-oAPT::Architecture=${this.#architecture}`, `-oAPT::Architectures=${this.#architecture}`],
      "-oAPT::Sandbox::User=root",
      ...sourceOptions(),
    ];
  }

  #open(): string {
    if (this.#folder !== undefined) return this.#folder;
    const folder = mkdtempSync(join(tmpdir(), "fairlead-apt-"));
    this.#folder = folder;
    for (const path of ["state/lists/partial", "cache/archives/partial", "out"]) {
      mkdirSync(join(folder, path), { recursive: true });
    }
    writeFileSync(join(folder, "status"), "");
    this.#get("update");
    return folder;
  }

  [Symbol.dispose](): void {
    if (this.#folder !== undefined) rmSync(this.#folder, { recursive: true, force: true });
  }
}

const sha256Of = (path: string): string => createHash("sha256").update(readFileSync(path)).digest("hex");

/** The paths of packages for one processor. Each is downloaded once. */
export function fetchPackages(packages: readonly LockedPackage[]): readonly string[] {
  using apt = new Apt(packages[0]?.architecture ?? "amd64");
  return packages.map(({ name, version, sha256 }) =>
    cachedDownload(`debian/${sha256}.deb`, (folder) => {
      const path = apt.download(name, version, folder);
      const found = sha256Of(path);
      if (found === sha256) return path;
      throw new ScriptError(
        `${name} ${version} has the checksum ${found}, but the lock has ${sha256}. It is not used.`,
      );
    }),
  );
}

/** The newest version of each package in the sources. */
export function newestPackages(): readonly LockedPackage[] {
  return architectures.flatMap((architecture) => {
    using apt = new Apt(architecture);
    return packageNames.map((name) => {
      const { file, sha256 } = apt.newest(name);
      const [, version = ""] = file.split("_");
      return { name, version: decodeURIComponent(version), architecture, sha256 };
    });
  });
}

/** Unpacks a package without its scripts, and returns its description. */
export function unpack(path: string, folder: string): string {
  run(["dpkg-deb", "-x", path, folder], folder);
  return run(["dpkg-deb", "-f", path], folder);
}
