// Finds, creates, checks and grows file systems. A disk is formatted only if it is provably blank: no program recognizes
// anything on it, and its first bytes are zero.

import { shortList } from "../../core/text.ts";
import type { Disks, HeldDevice } from "../../platform/disks.ts";
import type { Files } from "../../platform/files.ts";
import { RpcError } from "../grpc/status.ts";

interface FileSystem {
  readonly make: (device: string, options: readonly string[]) => readonly string[];
  readonly grow: (device: string, path: string) => readonly string[];
  readonly mountOptions: readonly string[];
}

/** The file systems of the CSI drivers in use. `nouuid`: a volume that was created from another volume has the same id. */
const fileSystems: Readonly<Record<string, FileSystem>> = {
  ext4: {
    make: (device, options) => ["mkfs.ext4", "-F", "-m0", ...options, device],
    grow: (device) => ["resize2fs", device],
    mountOptions: [],
  },
  xfs: {
    make: (device, options) => ["mkfs.xfs", ...options, device],
    grow: (_device, path) => ["xfs_growfs", "-d", path],
    mountOptions: ["nouuid"],
  },
  btrfs: {
    make: (device, options) => ["mkfs.btrfs", ...options, device],
    grow: (_device, path) => ["btrfs", "filesystem", "resize", "max", path],
    mountOptions: [],
  },
};

const defaultType = "ext4";
/** File systems, partition tables and volume managers have their signature in this range, or where blkid finds it. */
const headLength = 1024 * 1024;

/** The offset of `sb_inprogress` in the superblock of XFS, which is at the beginning of the device. */
const xfsInProgress = 126;

const clearCommand = (device: string): string => `dd if=/dev/zero of=${device} bs=1M count=1`;

export interface Programs {
  readonly files: Pick<Files, "run">;
}

/** A program that formats, checks or grows must not be interrupted, neither with a call nor with this process. */
const never = new AbortController().signal;

/** Throws INTERNAL with the output of the program, unless the exit code is one of these. */
export async function runFileSystemProgram(
  { files }: Programs,
  command: readonly string[],
  accepted: readonly number[] = [0],
  descriptor?: number,
): Promise<{ readonly exitCode: number; readonly stdout: string }> {
  const { exitCode, stdout, stderr } = await files
    .run(command, { LC_ALL: "C" }, never, descriptor)
    .catch((error: unknown) => {
      throw new RpcError(
        "INTERNAL",
        `${command[0]} cannot be started. Install it on this machine or in the image.`,
        {
          cause: error,
        },
      );
    });
  if (accepted.includes(exitCode)) return { exitCode, stdout };
  const said = shortList([stderr, stdout].filter((text) => text.trim() !== ""));
  throw new RpcError("INTERNAL", `${command.join(" ")} ended with code ${exitCode}: ${said}`);
}

/** All sums of 1, 2, 4, 8, 16, 32 and 128. Exit code 64 means that flock could not start the program. */
const fsckCodes = Array.from({ length: 256 }, (_, code) => code).filter((code) => (code & 64) === 0);

/** The exit code of `flock` when another program holds the lock. No program here exits with it. */
const isLocked = 75;

/**
 * Runs while holding the lock of the device that udev also respects. A format that was started by a former process, and
 * continues without it, holds the lock until it has ended. `flock` gets the open file descriptor, because it would create
 * a file at the path of a device that the machine has lost.
 */
async function runOnDevice(
  programs: Programs,
  { path: device, descriptor }: HeldDevice,
  command: readonly string[],
  accepted: readonly number[] = [0],
): Promise<{ readonly exitCode: number; readonly stdout: string }> {
  const { exitCode, stdout } = await runFileSystemProgram(
    programs,
    ["flock", "-E", String(isLocked), "-w", "10", "/proc/self/fd/3", ...command],
    [...accepted, isLocked],
    descriptor,
  );
  if (exitCode !== isLocked) return { exitCode, stdout };
  throw new RpcError(
    "ABORTED",
    `Another program works on ${device}, such as a format that began before this process was started again. It is not interrupted. Try again.`,
  );
}

export class FileSystems {
  readonly #disks: Disks;
  readonly #programs: Programs;

  constructor(disks: Disks, programs: Programs) {
    this.#disks = disks;
    this.#programs = programs;
  }

  /** The file system for the type of a capability. */
  typeOf(requested: string): string {
    const type = requested === "" ? defaultType : requested;
    if (Object.hasOwn(fileSystems, type)) return type;
    const known = Object.keys(fileSystems).join(", ");
    throw new RpcError("INVALID_ARGUMENT", `The file system ${type} is not supported. Use one of ${known}.`);
  }

  mountOptions(type: string): readonly string[] {
    return fileSystems[type]?.mountOptions ?? [];
  }

  /**
   * Makes sure that the device has this file system. A disk with any other content is never formatted, and no disk is
   * formatted without `formatOptions`.
   */
  async prepare(
    held: HeldDevice,
    type: string,
    formatOptions: string | undefined,
    isReadOnly: boolean,
  ): Promise<void> {
    const { path: device } = held;
    const found = await this.#found(held);
    if (found === type) {
      if (type === "xfs") await this.#requireComplete(device);
      if (!isReadOnly && type === "ext4") await this.#check(held);
      return;
    }
    if (found !== undefined)
      throw new RpcError(
        "FAILED_PRECONDITION",
        `${device} has ${found}, and the claim asks for ${type}, so it is neither mounted nor formatted. Set csi.storage.k8s.io/fstype in the StorageClass to what the volume has.`,
      );
    if (isReadOnly)
      throw new RpcError(
        "FAILED_PRECONDITION",
        `${device} is blank, and a read-only volume is not formatted.`,
      );
    if (formatOptions === undefined)
      throw new RpcError(
        "FAILED_PRECONDITION",
        `${device} is blank, and its PersistentVolume forbids to format it. Format it by hand, or remove the attribute from the PersistentVolume.`,
      );
    await this.#requireBlank(device);
    const make = fileSystems[type]?.make(device, splitOptions(formatOptions)) ?? [];
    await runOnDevice(this.#programs, held, make);
  }

  async grow(held: HeldDevice, path: string, type: string): Promise<void> {
    const system = fileSystems[type];
    if (system === undefined)
      throw new RpcError(
        "FAILED_PRECONDITION",
        `${path} has ${type}, which cannot be expanded here. Expand it by hand.`,
      );
    await runOnDevice(this.#programs, held, system.grow(held.path, path));
  }

  async sizeOf(device: string): Promise<number> {
    const { stdout } = await runFileSystemProgram(this.#programs, ["blockdev", "--getsize64", device]);
    return Number(stdout.trim());
  }

  /** The type on the device, or its other content; undefined if blkid finds nothing. */
  async #found(held: HeldDevice): Promise<string | undefined> {
    const probe = ["blkid", "-p", "-o", "export", held.path];
    const { exitCode, stdout } = await runOnDevice(this.#programs, held, probe, [0, 2, 8]);
    const value = (name: string): string | undefined => new RegExp(`^${name}=(.+)$`, "m").exec(stdout)?.[1];
    // 8: several signatures. 2: nothing, or the device cannot be read, and reading its first bytes decides.
    if (exitCode === 8) return "several signatures";
    if (exitCode === 2 && stdout.trim() === "") return undefined;
    const table = value("PTTYPE");
    return value("TYPE") ?? (table === undefined ? "an unknown signature" : `a partition table (${table})`);
  }

  async #requireBlank(device: string): Promise<void> {
    const size = await this.sizeOf(device);
    const expected = Math.min(headLength, size);
    const head = await this.#disks.head(device, expected);
    if (expected > 0 && head.length === expected && head.every((byte) => byte === 0)) return;
    throw new RpcError(
      "FAILED_PRECONDITION",
      `${device} has no file system that is known, but it is not blank, so it is not formatted. If it has no data, for example because a former format was cut off, clear it: ${clearCommand(device)}`,
    );
  }

  /** mkfs.xfs sets a flag when it begins, and clears it at the end. */
  async #requireComplete(device: string): Promise<void> {
    const head = await this.#disks.head(device, xfsInProgress + 1);
    if (head[xfsInProgress] === 0) return;
    throw new RpcError(
      "FAILED_PRECONDITION",
      `${device} has an XFS file system whose format was cut off, so it is neither mounted nor formatted. It has no files; clear it: ${clearCommand(device)}`,
    );
  }

  async #check(held: HeldDevice): Promise<void> {
    const { path: device } = held;
    const { exitCode } = await runOnDevice(this.#programs, held, ["fsck", "-a", device], fsckCodes);
    // 4: errors remain. The other bits, such as 1 for corrected errors, forbid no mount here.
    if ((exitCode & 4) === 0) return;
    throw new RpcError(
      "INTERNAL",
      `The file system on ${device} has errors that fsck -a cannot correct, so it is not mounted. Repair it with fsck.`,
    );
  }
}

/** Options as in a shell: words, with quotes around words that contain spaces. */
export function splitOptions(text: string): readonly string[] {
  return [...text.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(
    ([, one, two, three]) => one ?? two ?? three ?? "",
  );
}
