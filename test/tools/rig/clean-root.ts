// A folder with only a shell and the commands that scripts of packages call, in which dpkg and rpm install, upgrade and remove a
// package as on a machine that has never had it. It needs root, because both tools run the scripts in a chroot.

import { copyFileSync, mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { keepFolder } from "../../cluster/rig/kept-process.ts";
import { needTool, Unavailable } from "./install.ts";

export class CleanRoot {
  readonly path: string = mkdtempSync(join(tmpdir(), "fairlead-root-"));

  readonly #tool: "dpkg" | "rpm";

  constructor(tool: "dpkg" | "rpm") {
    this.#tool = tool;
    keepFolder(this.path);
    for (const folder of ["dev", "tmp", "var/lib/dpkg/info", "var/lib/dpkg/updates"]) this.#folder(folder);
    writeFileSync(join(this.path, "var/lib/dpkg/status"), "");
    writeFileSync(join(this.path, "dev/null"), "");
    for (const name of ["sh", "install", "rm"]) this.#copyCommand(name);
  }

  static prepare(): void {
    if (process.getuid?.() !== 0) throw new Unavailable("a chroot needs root");
    needTool("dpkg");
  }

  #folder(path: string): void {
    mkdirSync(join(this.path, path), { recursive: true });
  }

  /** Copies a command with its libraries. */
  #copyCommand(name: string): void {
    const command = needTool(name);
    const libraries = Bun.spawnSync(["ldd", command]).stdout.toString().match(/\/\S+/g) ?? [];
    for (const path of libraries) this.#copy(path, path);
    this.#copy(command, `/bin/${name}`);
  }

  #copy(from: string, to: string): void {
    this.#folder(dirname(to));
    copyFileSync(from, join(this.path, to));
  }

  /** Throws with the output when the tool fails. */
  run(...options: readonly string[]): void {
    const flags =
      this.#tool === "dpkg"
        ? ["--force-depends", "--force-architecture"]
        : ["--nodeps", ...(options.includes("-e") ? [] : ["--ignorearch"])];
    const command = [this.#tool, "--root", this.path, ...flags, ...options];
    const { exitCode, stdout, stderr } = Bun.spawnSync(command, {
      stdin: "ignore",
      env: { PATH: "/bin:/usr/bin:/sbin:/usr/sbin" },
    });
    if (exitCode !== 0)
      throw new Error(`"${command.join(" ")}" exited with ${exitCode}:\n${stdout}${stderr}`);
  }

  /** All paths except those of the tool itself. */
  files(): readonly string[] {
    const all = [...new Bun.Glob("**").scanSync({ cwd: this.path, onlyFiles: false, dot: true })];
    return all.filter((path) => !/^(var|usr\/lib\/sysimage)(\/|$)/.test(path)).toSorted();
  }
}
