// The Node service with disks, mounts and programs in memory. csi-sanity uses real ones (npm run test:clients -- csi).

import { describe, expect, test } from "bun:test";
import { volumeDriver as driver } from "../../../providers/fake/volumes.ts";
import type { DiskPath, Disks } from "../../../src/platform/disks.ts";
import type { Files } from "../../../src/platform/files.ts";
import type { VolumeDriver } from "../../../src/provider/volumes.ts";
import { VirtualClock } from "../../../src/testing/virtual-time/virtual-clock.ts";
import { volumeNodeOf } from "../../../src/volumes/controller/topology.ts";
import { splitOptions } from "../../../src/volumes/csi/file-systems.ts";
import { parseMounts } from "../../../src/volumes/csi/mounts.ts";
import { nodeService } from "../../../src/volumes/csi/node-service.ts";
import type { Message } from "../../../src/volumes/csi/volume-requests.ts";

const device = "/dev/sdb";
const staging = "/staging";
const target = "/pods/1/mount";
const folders = new Set(["/", "/pods/1", "/pods/2"]);
const life = new AbortController().signal;
const blkidOf = {
  nothing: { exitCode: 2, stdout: "" },
  ext4: { exitCode: 0, stdout: `DEVNAME=${device}\nTYPE=ext4\n` },
};

/** A machine with one attached disk. */
class Machine {
  readonly paths = new Map<string, DiskPath>([[device, { kind: "block", device: 2064 }]]);
  /** Link targets. */
  readonly links = new Map<string, string>();
  readonly ran: string[] = [];
  mounts: { path: string; source: string; type: string }[] = [];
  head: Uint8Array = new Uint8Array(1024 * 1024);
  blkid: { exitCode: number; stdout: string } = blkidOf.nothing;
  fsck = 0;
  /** The file system that the claim requests. */
  fsType = "";
  /** Whether another program has the lock of the device. */
  isLocked = false;
  /** Programs that end when these promises do. */
  readonly delays = new Map<string, Promise<void>>();
  readonly warnings: string[] = [];
  /** The attributes that the kernel shows for a device, by the path in /sys. */
  readonly shown = new Map<string, string>();
  onHold: () => void = () => undefined;
  readonly clock = new VirtualClock();
  readonly #changes: Partial<VolumeDriver>;
  #service: ReturnType<typeof nodeService> | undefined;

  constructor(changes: Partial<VolumeDriver> = {}) {
    this.#changes = changes;
  }

  readonly disks: Disks = {
    stat: async (path) =>
      this.paths.get(path) ?? (folders.has(path) ? { kind: "folder", device: 0 } : undefined),
    realPath: async (path) => this.links.get(path) ?? path,
    hold: async (path) => {
      this.onHold();
      return {
        path: this.links.get(path) ?? path,
        descriptor: 9,
        [Symbol.asyncDispose]: async () => undefined,
      };
    },
    makeFolder: async (path) => void this.paths.set(path, { kind: "folder", device: 0 }),
    makeFile: async (path) => void this.paths.set(path, { kind: "file", device: 0 }),
    removeEmpty: async (path) => void this.paths.delete(path),
    head: async () => this.head,
    usage: async () => ({
      bytes: { total: 100, available: 60, used: 30 },
      inodes: { total: 10, available: 6, used: 4 },
    }),
  };

  readonly files: Pick<Files, "read" | "run"> = {
    read: async (path) => {
      if (path === "/proc/self/mountinfo")
        return this.mounts
          .map(({ path, source, type }) => `1 2 8:16 / ${path} rw - ${type} ${source} rw`)
          .join("\n");
      const text = this.shown.get(path);
      if (text === undefined) throw new Error(`${path} does not exist`);
      return text;
    },
    run: async (given, _env, _signal, descriptor) => {
      const [, , , , , locked = ""] = given;
      const isOpen = locked === "/proc/self/fd/3" && descriptor === 9;
      // Fails as the program does.
      if (given[0] === "flock" && !isOpen && !this.paths.has(locked))
        this.paths.set(locked, { kind: "file", device: 0 });
      const command = given[0] === "flock" ? given.slice(6) : given;
      const [program = "", ...args] = command;
      this.ran.push(command.join(" "));
      if (given[0] === "flock" && this.isLocked) return { exitCode: 75, stdout: "", stderr: "" };
      await this.delays.get(program);
      const last = args.at(-1) ?? "";
      if (program === "blkid") return { ...this.blkid, stderr: "" };
      if (program === "fsck") return { exitCode: this.fsck, stdout: "", stderr: "" };
      if (program === "blockdev") return { exitCode: 0, stdout: "67108864\n", stderr: "" };
      if (program === "umount") this.mounts = this.mounts.filter(({ path }) => path !== last);
      if (program.startsWith("mkfs.")) this.blkid = { exitCode: 0, stdout: `TYPE=${program.slice(5)}\n` };
      if (program === "mount" && !args.includes("remount,bind,ro")) {
        const [source = ""] = args.slice(-2);
        const from = this.mounts.find(({ path }) => path === source);
        const type = args[0] === "-t" ? (args[1] ?? "") : (from?.type ?? "devtmpfs");
        this.mounts.push({ path: last, source: from?.source ?? source, type });
      }
      return { exitCode: 0, stdout: "", stderr: "" };
    },
  };

  /** Mutating calls. */
  get changes(): readonly string[] {
    return this.ran.filter((command) => !/^(blkid|blockdev|fsck)/.test(command));
  }

  get service() {
    this.#service ??= nodeService({
      driver: { ...(driver as VolumeDriver), ...this.#changes },
      disks: this.disks,
      files: this.files,
      clock: this.clock,
      identity: { id: "7", limit: 8, topology: { zone: "a" } },
      warn: (message) => this.warnings.push(message),
    });
    return this.#service;
  }

  get node() {
    return this.service.handlers;
  }

  stage(changes: Partial<Message<"NodeStageVolumeRequest">> = {}, fsType = ""): Promise<string> {
    const mount = { fsType, mountFlags: [], volumeMountGroup: "" };
    const request = {
      volumeID: "v1",
      stagingTargetPath: staging,
      secrets: {},
      volumeContext: {},
      publishContext: { device },
      volumeCapability: { accessMode: { mode: "SINGLE_NODE_WRITER" as const }, block: undefined, mount },
      ...changes,
    };
    return outcome(async () => this.node.NodeStageVolume?.(request, { signal: life }));
  }

  publish(changes: Partial<Message<"NodePublishVolumeRequest">> = {}): Promise<string> {
    const mount = { fsType: "", mountFlags: [], volumeMountGroup: "" };
    const request = {
      volumeID: "v1",
      stagingTargetPath: staging,
      targetPath: target,
      secrets: {},
      volumeContext: {},
      publishContext: { device },
      readonly: false,
      volumeCapability: { accessMode: { mode: "SINGLE_NODE_WRITER" as const }, block: undefined, mount },
      ...changes,
    };
    return outcome(async () => this.node.NodePublishVolume?.(request, { signal: life }));
  }
}

async function outcome(work: () => Promise<unknown>): Promise<string> {
  try {
    await work();
    return "OK";
  } catch (error) {
    const { code, message } = error as Error & { readonly code?: string };
    return `${code}: ${message}`;
  }
}

describe("a disk", () => {
  test("a provably blank disk is formatted and mounted, once", async () => {
    const machine = new Machine();
    expect(await machine.stage({ volumeContext: { fsFormatOptions: "-L 'my data'" } })).toBe("OK");
    expect(machine.changes).toEqual([
      `mkfs.ext4 -F -m0 -L my data ${device}`,
      `mount -t ext4 ${device} ${staging}`,
    ]);
    expect(await machine.stage()).toBe("OK");
    expect(machine.changes).toHaveLength(2);
  });

  test("a disk with the file system is checked and mounted, never formatted", async () => {
    const machine = new Machine();
    machine.blkid = blkidOf.ext4;
    machine.head = new Uint8Array(10).fill(1);
    expect(await machine.stage()).toBe("OK");
    expect(machine.ran).toContain(`fsck -a ${device}`);
    expect(machine.changes).toEqual([`mount -t ext4 ${device} ${staging}`]);
  });

  test("a blank disk is not formatted when its PersistentVolume forbids it", async () => {
    const machine = new Machine({ formatOptionsOf: () => undefined });
    expect(await machine.stage()).toContain(
      "/dev/sdb is blank, and its PersistentVolume forbids to format it.",
    );
    expect(machine.changes).toEqual([]);
    machine.blkid = blkidOf.ext4;
    expect(await machine.stage()).toBe("OK");
    expect(machine.changes).toEqual([`mount -t ext4 ${device} ${staging}`]);
  });

  test("a disk is found under its own name if the machine has no link to it", async () => {
    const byID = "/dev/disk/by-id/vol-1";
    const machine = new Machine({ devicePathsOf: () => [byID], deviceNameOf: () => device });
    machine.blkid = blkidOf.ext4;
    machine.links.set(device, "/dev/nvme1n1");
    const staged = machine.stage();
    await machine.clock.advance(31_000 as never);
    expect(await staged).toContain(`${byID}, the device of volume v1, is not on this machine`);
    machine.links.clear();
    expect(await machine.stage()).toBe("OK");
    expect(machine.changes).toEqual([`mount -t ext4 ${device} ${staging}`]);
  });

  test.each([
    [
      "SCSI",
      "/dev/disk/by-id/scsi-0HC_Volume_123",
      "device/vpd_pg80",
      "\0\ufffd\0\u0003123",
      "\0\ufffd\0\u000223",
    ],
    [
      "NVMe",
      "/dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_vol0a",
      "device/serial",
      "vol0a   \n",
      "vol0b   \n",
    ],
    [
      "virtio",
      "/dev/disk/by-id/virtio-0123456789-123456789",
      "serial",
      "0123456789-123456789",
      "0123456789-123456780",
    ],
    [
      "SCSI with a name that is cut off",
      `/dev/disk/by-id/scsi-0DO_Volume_pvc-${"0".repeat(36)}`,
      "device/vpd_pg80",
      `\0\ufffd\0$pvc-${"0".repeat(32)}`,
      `\0\ufffd\0$pvc-${"1".repeat(32)}`,
    ],
  ])(
    "a disk of %s is used only while its link leads to the disk with the serial number of the volume",
    async (_, link, file, own, other) => {
      const machine = new Machine({ devicePathsOf: () => [link] });
      machine.paths.set(link, { kind: "block", device: 2064 });
      machine.links.set(link, device);
      machine.shown.set(`/sys/class/block/sdb/${file}`, other);
      const staged = machine.stage();
      await machine.clock.advance(5000 as never);
      expect(machine.ran).toEqual([]);
      machine.shown.set(`/sys/class/block/sdb/${file}`, own);
      await machine.clock.advance(1000 as never);
      expect(await staged).toBe("OK");
      expect(machine.mounts).toMatchObject([{ source: device }]);
    },
  );

  test("a disk that the machine loses while it is being prepared is not replaced by a file", async () => {
    const machine = new Machine();
    machine.onHold = () => machine.paths.delete(device);
    await machine.stage();
    expect(machine.paths.has(device)).toBe(false);
  });

  const kept: readonly (readonly [string, (machine: Machine) => void, string])[] = [
    [
      "with data that is not a known file system",
      (machine) => (machine.head = machine.head.map((_, index) => (index === 1_000_000 ? 1 : 0))),
      "FAILED_PRECONDITION: /dev/sdb has no file system that is known, but it is not blank, so it is not formatted.",
    ],
    [
      "whose head cannot be read completely",
      (machine) => (machine.head = new Uint8Array(512)),
      "FAILED_PRECONDITION: /dev/sdb has no file system that is known, but it is not blank",
    ],
    [
      "with another file system",
      (machine) => (machine.blkid = { exitCode: 0, stdout: "TYPE=xfs\n" }),
      "FAILED_PRECONDITION: /dev/sdb has xfs, and the claim asks for ext4, so it is neither mounted nor formatted.",
    ],
    [
      "with a partition table",
      (machine) => (machine.blkid = { exitCode: 0, stdout: "PTTYPE=gpt\n" }),
      "FAILED_PRECONDITION: /dev/sdb has a partition table (gpt)",
    ],
    [
      "with several signatures",
      (machine) => (machine.blkid = { exitCode: 8, stdout: "" }),
      "FAILED_PRECONDITION: /dev/sdb has several signatures",
    ],
    [
      "that blkid cannot read",
      (machine) => (machine.blkid = { exitCode: 4, stdout: "" }),
      "INTERNAL: flock -E 75 -w 10 /proc/self/fd/3 blkid -p -o export /dev/sdb ended with code 4",
    ],
    [
      "with an xfs file system whose format did not end",
      (machine) => {
        machine.blkid = { exitCode: 0, stdout: "TYPE=xfs\n" };
        machine.head[126] = 1;
        machine.fsType = "xfs";
      },
      "FAILED_PRECONDITION: /dev/sdb has an XFS file system whose format was cut off, so it is neither mounted nor formatted.",
    ],
    [
      "with an xfs file system whose head cannot be read",
      (machine) => {
        machine.blkid = { exitCode: 0, stdout: "TYPE=xfs\n" };
        machine.head = new Uint8Array(126);
        machine.fsType = "xfs";
      },
      "FAILED_PRECONDITION: /dev/sdb has an XFS file system whose format was cut off",
    ],
    [
      "with a file system that fsck cannot correct",
      (machine) => {
        machine.blkid = blkidOf.ext4;
        machine.fsck = 4;
      },
      "INTERNAL: The file system on /dev/sdb has errors that fsck -a cannot correct",
    ],
  ];
  test.each(kept)("a disk %s is neither formatted nor mounted", async (_, prepare, text) => {
    const machine = new Machine();
    prepare(machine);
    expect(await machine.stage({}, machine.fsType)).toStartWith(text);
    expect(machine.changes).toEqual([]);
  });

  test("a disk with an xfs file system whose format has ended is mounted", async () => {
    const machine = new Machine();
    machine.blkid = { exitCode: 0, stdout: "TYPE=xfs\n" };
    expect(await machine.stage({}, "xfs")).toBe("OK");
    expect(machine.changes).toEqual([`mount -t xfs -o nouuid ${device} ${staging}`]);
  });

  test("a blank disk is not formatted for a read-only mount", async () => {
    const machine = new Machine();
    const mount = { fsType: "ext4", mountFlags: ["ro"], volumeMountGroup: "" };
    const volumeCapability = { accessMode: { mode: "SINGLE_NODE_WRITER" as const }, block: undefined, mount };
    expect(await machine.stage({ volumeCapability })).toStartWith("FAILED_PRECONDITION: /dev/sdb is blank");
    expect(machine.changes).toEqual([]);
  });

  test("a disk gets the file system that the claim requests, or a message", async () => {
    for (const [type, command] of [
      ["xfs", `mkfs.xfs ${device}`],
      ["btrfs", `mkfs.btrfs ${device}`],
    ] as const) {
      const machine = new Machine();
      expect(await machine.stage({}, type)).toBe("OK");
      expect(machine.changes[0]).toBe(command);
    }
    expect(await new Machine().stage({}, "ntfs")).toBe(
      "INVALID_ARGUMENT: The file system ntfs is not supported. Use one of ext4, xfs, btrfs.",
    );
  });

  test("a disk is awaited until it appears, but not forever", async () => {
    const machine = new Machine();
    machine.paths.delete(device);
    const staged = machine.stage();
    await machine.clock.advance(1000 as never);
    machine.paths.set(device, { kind: "block", device: 2064 });
    await machine.clock.advance(1000 as never);
    expect(await staged).toBe("OK");
    const never = new Machine();
    never.paths.delete(device);
    const refused = never.stage();
    await never.clock.advance(31_000 as never);
    expect(await refused).toStartWith(
      "UNAVAILABLE: /dev/sdb, the device of volume v1, is not on this machine",
    );
  });

  test("the disk is the first existing one of several candidates", async () => {
    const machine = new Machine({ devicePathsOf: (_, id) => [`/dev/disk/by-id/${id}`, device] });
    expect(await machine.stage()).toBe("OK");
    expect(machine.mounts).toMatchObject([{ source: device }]);
    const both = new Machine({ devicePathsOf: (_, id) => [`/dev/disk/by-id/${id}`, device] });
    both.paths.set("/dev/disk/by-id/v1", { kind: "block", device: 2064 });
    expect(await both.stage()).toBe("OK");
    expect(both.mounts).toMatchObject([{ source: "/dev/disk/by-id/v1" }]);
    const without = new Machine({ devicePathsOf: () => ["/dev/a", "/dev/b"] });
    const refused = without.stage();
    await without.clock.advance(31_000 as never);
    expect(await refused).toStartWith("UNAVAILABLE: /dev/a or /dev/b, the device of volume v1, is not on");
  });

  test("a disk is not mounted over another mount", async () => {
    const machine = new Machine();
    machine.paths
      .set("/dev/sdc", { kind: "block", device: 2080 })
      .set(staging, { kind: "folder", device: 0 });
    machine.mounts.push({ path: staging, source: "/dev/sdc", type: "ext4" });
    expect(await machine.stage()).toStartWith("INTERNAL: /dev/sdc is mounted at /staging");
    expect(machine.changes).toEqual([]);
  });
});

test("a disk that a former process is still formatting is neither formatted nor mounted", async () => {
  const machine = new Machine();
  machine.isLocked = true;
  expect(await machine.stage()).toStartWith(`ABORTED: Another program works on ${device}`);
  expect(machine.mounts).toEqual([]);
  machine.isLocked = false;
  machine.ran.length = 0;
  expect(await machine.stage()).toBe("OK");
  expect(machine.changes).toEqual([`mkfs.ext4 -F -m0 ${device}`, `mount -t ext4 ${device} ${staging}`]);
});

test("the Node service is idle once a running format has ended", async () => {
  const machine = new Machine();
  const format = Promise.withResolvers<void>();
  machine.delays.set("mkfs.ext4", format.promise);
  const staged = machine.stage();
  await Bun.sleep(0);
  let isIdle = false;
  const idle = machine.service.idle().then(() => {
    isIdle = true;
  });
  await Bun.sleep(0);
  expect(isIdle).toBe(false);
  format.resolve();
  expect(await staged).toBe("OK");
  await idle;
});

test("the mount of a lost device is replaced by the device of the volume", async () => {
  const machine = new Machine();
  machine.blkid = blkidOf.ext4;
  machine.mounts.push({ path: staging, source: "/dev/sdx", type: "ext4" });
  expect(await machine.stage()).toBe("OK");
  expect(machine.changes).toEqual([`umount ${staging}`, `mount -t ext4 ${device} ${staging}`]);
  expect(machine.warnings).toEqual([
    `/dev/sdx, which is mounted at ${staging}, is no longer on this machine. It is unmounted, and ${device} is mounted there. Pods that used it must be started again.`,
  ]);
});

describe("a staged volume", () => {
  test("a staged volume is mounted into pods, read-only on request, and unmounted", async () => {
    const machine = new Machine();
    await machine.stage();
    machine.ran.length = 0;
    expect(await machine.publish({ readonly: true })).toBe("OK");
    expect(await machine.publish({ readonly: true })).toBe("OK");
    expect(machine.changes).toEqual([
      `mount -o bind ${staging} ${target}`,
      `mount -o remount,bind,ro ${target}`,
    ]);
    const clear = () =>
      outcome(async () =>
        machine.node.NodeUnpublishVolume?.({ volumeID: "v1", targetPath: target }, { signal: life }),
      );
    expect([await clear(), machine.paths.has(target), await clear()]).toEqual(["OK", false, "OK"]);
    expect(machine.mounts.map(({ path }) => path)).toEqual([staging]);
  });

  test.each([
    ["mounted", { block: undefined, mount: { fsType: "", mountFlags: [], volumeMountGroup: "" } }],
    ["given as a device", { block: {}, mount: undefined }],
  ])("a staged volume is %s to one pod only with ReadWriteOncePod", async (_, access) => {
    const machine = new Machine();
    await machine.stage();
    const accessMode = { mode: "SINGLE_NODE_SINGLE_WRITER" as const };
    const volumeCapability = { accessMode, ...access };
    expect(await machine.publish({ volumeCapability })).toBe("OK");
    expect(await machine.publish({ volumeCapability, targetPath: "/pods/2/mount" })).toStartWith(
      `FAILED_PRECONDITION: ${device} is mounted at ${target}`,
    );
  });

  test("a volume must be staged before it is mounted into a pod", async () => {
    const machine = new Machine();
    expect(await machine.publish()).toStartWith("FAILED_PRECONDITION: Nothing is mounted at /staging.");
  });

  test("a staged volume is expanded and measured", async () => {
    const machine = new Machine();
    await machine.stage();
    machine.ran.length = 0;
    const request = { volumeID: "v1", volumePath: staging, stagingTargetPath: "", secrets: {} };
    const more = { capacityRange: undefined, volumeCapability: undefined };
    expect(await machine.node.NodeExpandVolume?.({ ...request, ...more }, { signal: life })).toEqual({
      capacityBytes: 67_108_864,
    });
    expect(machine.changes).toEqual([`resize2fs ${device}`]);
    const unseen = { requiredBytes: 2 ** 30, limitBytes: 0 };
    expect(
      await outcome(async () =>
        machine.node.NodeExpandVolume?.({ ...request, ...more, capacityRange: unseen }, { signal: life }),
      ),
    ).toStartWith(`UNAVAILABLE: ${device} has 67108864 bytes, and the volume has 1Gi`);
    expect(machine.changes).toHaveLength(1);
    expect(await machine.node.NodeGetVolumeStats?.(request, { signal: life })).toEqual({
      usage: [
        { unit: "BYTES", total: 100, available: 60, used: 30 },
        { unit: "INODES", total: 10, available: 6, used: 4 },
      ],
    });
  });
});

test("the SELinux label that the kubelet requests is an option of the mount", async () => {
  const machine = new Machine();
  const context = 'context="system_u:object_r:container_file_t:s0:c1,c2"';
  const mount = { fsType: "xfs", mountFlags: [context, "noatime"], volumeMountGroup: "" };
  const accessMode = { mode: "SINGLE_NODE_WRITER" as const };
  expect(await machine.stage({ volumeCapability: { accessMode, block: undefined, mount } })).toBe("OK");
  expect(machine.changes).toContain(`mount -t xfs -o nouuid,${context},noatime ${device} ${staging}`);
});

test("gives a pod the raw device without formatting it", async () => {
  const machine = new Machine();
  const accessMode = { mode: "SINGLE_NODE_WRITER" as const };
  const volumeCapability = { accessMode, block: {}, mount: undefined };
  expect(await machine.stage({ volumeCapability })).toBe("OK");
  expect(await machine.publish({ volumeCapability })).toBe("OK");
  expect(machine.changes).toEqual([`mount -o bind ${device} ${target}`]);
});

test("the machine has the identity of its Node as soon as the manager has initialized the Node", () => {
  const node = (providerID: string, labels = {}) =>
    ({ metadata: { name: "a", labels }, spec: { providerID } }) as never;
  const zone = { "topology.kubernetes.io/zone": "zone-1" };
  expect(volumeNodeOf(node("fake://7", zone), driver)).toEqual({
    id: "7",
    limit: 8,
    topology: { "topology.fake.example/zone": "zone-1" },
  });
  expect(volumeNodeOf(node("", zone), driver)).toBe("it has no provider id yet");
  expect(volumeNodeOf(node("other://7", zone), driver)).toContain("is of no machine that can have volumes");
  expect(volumeNodeOf(node("fake://7"), driver)).toContain("are not set yet");
});

test("mounts and options are parsed as the kernel and a shell write them", () => {
  const line = "42 27 7:0 /sub /mnt/my\\040disk rw,relatime shared:1 - ext4 /dev/loop0 rw";
  expect(parseMounts(`${line}\n`)).toEqual([
    { path: "/mnt/my disk", type: "ext4", source: "/dev/loop0", root: "/sub" },
  ]);
  expect(splitOptions(`-L "my data" -i 'size=512'  -q`)).toEqual(["-L", "my data", "-i", "size=512", "-q"]);
});
