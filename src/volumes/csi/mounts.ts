// The mounts of this machine: where each device is mounted, and how to mount and unmount.

import { basename, dirname, join } from "node:path";
import type { Disks } from "../../platform/disks.ts";
import type { Files } from "../../platform/files.ts";
import { type Programs, runFileSystemProgram } from "./file-systems.ts";

export interface Mount {
  readonly path: string;
  readonly type: string;
  /** The device of a file system. */
  readonly source: string;
  /** The mounted path within the file system, such as `/sdb` for a device in /dev. */
  readonly root: string;
}

const unescapePath = (text: string): string =>
  text.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));

/** The lines of /proc/self/mountinfo. */
export function parseMounts(text: string): readonly Mount[] {
  return text.split("\n").flatMap((line) => {
    const [before = "", after = ""] = line.split(" - ");
    const [, , , root = "", path] = before.split(" ");
    const [type = "", source = ""] = after.split(" ");
    if (path === undefined) return [];
    return [{ path: unescapePath(path), type, source: unescapePath(source), root: unescapePath(root) }];
  });
}

/** The maximum number of mounts on one path that a crash could leave. */
const maxStacked = 10;

export class Mounts {
  readonly #disks: Disks;
  readonly #files: Pick<Files, "read">;
  readonly #programs: Programs;

  constructor(disks: Disks, files: Pick<Files, "read">, programs: Programs) {
    this.#disks = disks;
    this.#files = files;
    this.#programs = programs;
  }

  /** The mount at the path; the last one if there are several. The path itself may be unreadable if its device is gone. */
  async at(path: string): Promise<Mount | undefined> {
    const folder = dirname(path);
    if ((await this.#disks.stat(folder)) === undefined) return undefined;
    const real = join(await this.#disks.realPath(folder), basename(path));
    return (await this.#all()).findLast((mount) => mount.path === real);
  }

  /** Where the device, or its file system, is mounted. */
  async pathsOf(device: string): Promise<readonly string[]> {
    const real = await this.#disks.realPath(device);
    const node = real.replace(/^\/dev(?=\/)/, "");
    return (await this.#all())
      .filter(({ type, source, root }) => source === real || (type === "devtmpfs" && root === node))
      .map(({ path }) => path);
  }

  async #all(): Promise<readonly Mount[]> {
    return parseMounts(await this.#files.read("/proc/self/mountinfo"));
  }

  mount(source: string, path: string, options: readonly string[], type?: string): Promise<unknown> {
    const as = type === undefined ? [] : ["-t", type];
    const list = options.length === 0 ? [] : ["-o", options.join(",")];
    return runFileSystemProgram(this.#programs, ["mount", ...as, ...list, source, path]);
  }

  async bind(source: string, path: string, isReadOnly: boolean): Promise<void> {
    await this.mount(source, path, ["bind"]);
    // The kernel ignores `ro` in a bind call. If given the source, `mount` would not keep options such as `noexec`.
    if (isReadOnly) await runFileSystemProgram(this.#programs, ["mount", "-o", "remount,bind,ro", path]);
  }

  /** Succeeds even if nothing is mounted there. */
  async unmount(path: string): Promise<void> {
    for (let count = 0; count < maxStacked && (await this.at(path)) !== undefined; count++)
      await runFileSystemProgram(this.#programs, ["umount", path]);
  }

  /** Unmounts the path, and removes it if it is empty. */
  async clear(path: string): Promise<void> {
    await this.unmount(path);
    if ((await this.#disks.stat(path)) !== undefined) await this.#disks.removeEmpty(path);
  }
}
