// A machine for the Node service without root: a folder stands for each disk, and a link for each mount. Format, check and mount are the
// calls of the real service.

import { lstatSync, mkdirSync, rmdirSync, rmSync, symlinkSync } from "node:fs";
import { basename, join } from "node:path";
import type { Disks } from "../../src/platform/disks.ts";
import type { Files } from "../../src/platform/files.ts";
import { systemDisks } from "../../src/platform/system-disks.ts";

interface Mounted {
  readonly path: string;
  readonly device: string;
  readonly type: string;
}

export class FolderMachine {
  readonly #folder: string;
  readonly #size: number;
  readonly #types = new Map<string, string>();
  #mounts: readonly Mounted[] = [];

  constructor(folder: string, size: number) {
    this.#folder = folder;
    this.#size = size;
  }

  readonly disks: Disks = {
    ...systemDisks,
    stat: async (path) => (isDevice(path) ? { kind: "block", device: 1 } : systemDisks.stat(path)),
    realPath: async (path) => (isDevice(path) ? path : systemDisks.realPath(path)),
    hold: async (path) => ({ path, descriptor: 0, [Symbol.asyncDispose]: async () => undefined }),
    head: async (_, length) => new Uint8Array(length),
  };

  readonly files: Pick<Files, "read" | "run"> = {
    // Nothing is in /sys: a folder has no serial number.
    read: async (path) => {
      if (path !== "/proc/self/mountinfo") throw new Error(`${path} does not exist`);
      return this.#mounts
        .map(({ path, device, type }) => `1 2 8:1 / ${path} rw - ${type} ${device} rw\n`)
        .join("");
    },
    run: async (command) => {
      const [program = "", ...args] = command[0] === "flock" ? command.slice(6) : command;
      const device = args.at(-1) ?? "";
      const type = this.#types.get(device);
      if (program === "blockdev") return answer(`${this.#size}\n`);
      if (program === "blkid") return type === undefined ? answer("", 2) : answer(`TYPE=${type}\n`);
      if (program.startsWith("mkfs.")) this.#types.set(device, program.slice("mkfs.".length));
      if (program === "mount" && !args.includes("remount,bind,ro")) this.#mount(args.at(-2) ?? "", device);
      return answer("");
    },
  };

  #mount(source: string, path: string): void {
    const staged = this.#mounts.find((each) => each.path === source);
    const device = staged?.device ?? source;
    const disk = join(this.#folder, basename(device));
    mkdirSync(disk, { recursive: true });
    if (lstatSync(path).isDirectory()) rmdirSync(path);
    else rmSync(path);
    symlinkSync(disk, path);
    this.#mounts = [...this.#mounts, { path, device, type: this.#types.get(device) ?? "" }];
  }
}

const isDevice = (path: string): boolean => path.startsWith("/dev/");
const answer = (stdout: string, exitCode = 0) => ({ exitCode, stdout, stderr: "" });
