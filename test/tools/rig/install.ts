// External tools that tests run: Go modules are built into the cache, and Debian packages are installed where this is allowed.
// A tool that cannot be obtained is Unavailable, and its tests are skipped with the reason.

import { existsSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { cached, cachedFile, hashOf, run } from "./cached.ts";

/** Why a tool cannot run here. */
export class Unavailable extends Error {}

/** Set if the tools must exist, so that no test is skipped. */
const areRequired = process.env["FAIRLEAD_REQUIRE_TOOLS"] === "1";

/** Finds a command, and returns its path. */
export function needTool(name: string): string {
  const path = Bun.which(name);
  if (path === null) throw new Unavailable(`${name} is not installed`);
  return path;
}

/** A failed installation is a property of the machine, not of the code. */
export function installing<T>(what: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof Unavailable) throw error;
    const lines = String(error instanceof Error ? error.message : error)
      .trim()
      .split("\n");
    throw new Unavailable(`${what} could not be installed: ${lines.at(-1) ?? ""}`);
  }
}

/** Equal for all programs, so that they share compiled packages. Without debugging information, a build takes less time. */
const goEnv = {
  GOFLAGS: "-mod=readonly -trimpath -buildvcs=false -gcflags=all=-dwarf=false -ldflags=-s",
  GOWORK: "off",
  CGO_ENABLED: "0",
};

export interface GoTool {
  /** The package with the command, for example helm.sh/helm/v4/cmd/helm. */
  readonly path: string;
  readonly version: string;
  /** The command's name. */
  readonly name: string;
}

/** The path of a command built from a Go module. */
export function goTool({ path, version, name }: GoTool): string {
  const go = needTool("go");
  const folder = installing(name, () =>
    cached(`go-${name}-${version}`, (target) => {
      run([go, "install", `${path}@${version}`], target, { ...goEnv, GOBIN: target });
    }),
  );
  const command = join(folder, name);
  if (!existsSync(command)) throw new Error(`${path}@${version} has no command ${name}`);
  return command;
}

export interface PublishedProgram {
  /** The module, for example github.com/kubernetes-csi/external-attacher/v4, and the folder with the command in it. */
  readonly module: string;
  readonly version: string;
  readonly folder: string;
}

/**
 * The path of a command from a Go module with replaced modules. `go install` rejects such a module, so the command is built in
 * the module's folder.
 */
export function publishedProgram({ module, version, folder }: PublishedProgram): string {
  const go = needTool("go");
  const name = basename(folder);
  return cachedFile(`go-${name}-${version}`, (path) => {
    const build = [go, "build", "-o", path, `./${folder}`];
    installing(name, () => run(build, goModule(module, version), goEnv));
  });
}

const goSources = (folder: string): readonly string[] =>
  [...new Bun.Glob("*.{go,mod,sum}").scanSync({ cwd: folder })].toSorted().map((name) => join(folder, name));

/**
 * The path of the Go program in this folder of the repository, built with exactly the modules of its go.sum. `replaced` are the
 * folders of the modules that its go.mod replaces, and `target` is a tool of its go.mod that is built instead.
 */
export function goProgram(folder: string, replaced: readonly string[] = [], target = "."): string {
  const go = needTool("go");
  const name = target === "." ? "" : `-${basename(target)}`;
  return cachedFile(`go-${hashOf([folder, ...replaced].flatMap(goSources))}${name}`, (path) => {
    installing(`the modules of ${basename(folder)}`, () => run([go, "mod", "download"], folder, goEnv));
    run([go, "build", "-o", path, target], folder, goEnv);
  });
}

/** The module that builds a Go manager for a cloud. */
export const goManagerFolder = resolve(import.meta.dir, "../../clients/go-manager");

/** The folder with the files of a Go module. */
export function goModule(path: string, version: string): string {
  const go = needTool("go");
  return installing(path, () => {
    const command = [go, "mod", "download", "-json", `${path}@${version}`];
    const { stdout, stderr } = Bun.spawnSync(command, { cwd: "/", stdin: "ignore" });
    const { Dir } = JSON.parse(stdout.toString() || "{}") as { readonly Dir?: string };
    if (Dir === undefined) throw new Error(`${stdout}${stderr}`);
    return Dir;
  });
}

/**
 * The path of a command from a Debian package. Only CI and FAIRLEAD_INSTALL_TOOLS=1 allow an installation; otherwise the command
 * must exist.
 */
export function debianTool(name: string, packages: readonly string[]): string {
  const found = Bun.which(name);
  if (found !== null) return found;
  const isAllowed = process.env["CI"] === "true" || process.env["FAIRLEAD_INSTALL_TOOLS"] === "1";
  if (!isAllowed)
    throw new Unavailable(`${name} is not installed; run: apt-get install ${packages.join(" ")}`);
  const apt = needTool("apt-get");
  installing(name, () => {
    const env = { DEBIAN_FRONTEND: "noninteractive" };
    const install = [apt, "install", "-q", "-y", "--no-install-recommends", ...packages];
    try {
      run(install, "/", env);
    } catch {
      run([apt, "update", "-q"], "/", env);
      run(install, "/", env);
    }
  });
  return needTool(name);
}

/** The result of `make`, or undefined after a line that states why the tests of `what` are skipped. */
export function orSkipped<T>(what: string, make: () => T): T | undefined {
  try {
    return make();
  } catch (error) {
    if (!(error instanceof Unavailable) || areRequired) throw error;
    process.stderr.write(`(skip) ${what}: ${error.message}\n`);
    return undefined;
  }
}
