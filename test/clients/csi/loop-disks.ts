// Disks of simulated clouds as loop devices of this machine: an attached volume gets a device with real data.

import { closeSync, ftruncateSync, mkdtempSync, openSync, rmSync, truncateSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import type { VolumeDriver } from "../../../src/provider/volumes.ts";
import { Unavailable } from "../../tools/rig/install.ts";

function run(...command: readonly string[]): string {
  const { exitCode, stdout, stderr } = Bun.spawnSync([...command]);
  if (exitCode !== 0) throw new Error(`${command.join(" ")} ended with code ${exitCode}: ${stderr}`);
  return stdout.toString().trim();
}

export function needLoopDevices(): void {
  if (process.getuid?.() !== 0) throw new Unavailable("loop devices and mounts need root");
  for (const name of [
    "losetup",
    "mount",
    "umount",
    "blkid",
    "flock",
    "mkfs.ext4",
    "resize2fs",
    "blockdev",
    "fsck",
  ])
    if (Bun.which(name) === null) throw new Unavailable(`${name} is not installed`);
}

export class LoopDisks implements Disposable {
  readonly folder: string = mkdtempSync(join(tmpdir(), "fairlead-disks-"));
  /** The size of each disk in bytes. The files are sparse. */
  readonly size: number;
  readonly #devices = new Map<string, string>();

  constructor(size: number) {
    this.size = size;
  }

  /** The device for a path of the cloud, such as /dev/disk/by-id/fake-v1. */
  device(path: string): string {
    const known = this.#devices.get(path);
    if (known !== undefined) return known;
    const image = join(this.folder, basename(path));
    const file = openSync(image, "w");
    ftruncateSync(file, this.size);
    closeSync(file);
    const device = run("losetup", "-f", "--show", image);
    this.#devices.set(path, device);
    return device;
  }

  /** Doubles the size of the disk. */
  grow(path: string): void {
    truncateSync(join(this.folder, basename(path)), 2 * this.size);
    run("losetup", "-c", this.device(path));
  }

  /** The same driver, with its devices on this machine. */
  driver<P extends VolumeDriver>(driver: P): P {
    const devicePathsOf: VolumeDriver["devicePathsOf"] = (context, id) =>
      driver
        .devicePathsOf(context, id)
        .slice(0, 1)
        .map((path) => this.device(path));
    return { ...driver, devicePathsOf };
  }

  [Symbol.dispose](): void {
    const mounted = run("findmnt", "-rn", "-o", "TARGET,SOURCE").split("\n");
    for (const line of mounted.toReversed()) {
      const [target = "", source = ""] = line.split(" ");
      if (
        [...this.#devices.values()].some(
          (device) => source === device || source.includes(`[${device.slice(4)}]`),
        )
      )
        Bun.spawnSync(["umount", target]);
    }
    for (const device of this.#devices.values()) Bun.spawnSync(["losetup", "-d", device]);
    rmSync(this.folder, { recursive: true, force: true });
  }
}
