// The Node service on loop devices, with the programs of this machine: file systems, expansion, statistics, devices, and the
// remains after a kill at each position. Runs with `npm run test:clients -- disks`.

import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fake } from "../../../providers/fake/index.ts";
import { systemFiles } from "../../../src/platform/files.ts";
import { systemDisks } from "../../../src/platform/system-disks.ts";
import type { VolumeDriver } from "../../../src/provider/volumes.ts";
import { LoopDisks } from "./loop-disks.ts";
import { type NodeCall, nodeOf, runCall } from "./real-node.ts";

const folder = mkdtempSync(join(tmpdir(), "fairlead-real-"));
const disks = new LoopDisks(320 * 1024 * 1024);
afterAll(() => {
  disks[Symbol.dispose]();
  rmSync(folder, { recursive: true, force: true });
});

/** `resize2fs` of a mounted file system needs CAP_SYS_RESOURCE, which containers usually lack. */
const capabilities = /^CapEff:\s*([0-9a-f]+)$/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1] ?? "0";
const mayResize = (BigInt(`0x${capabilities}`) & (1n << 24n)) !== 0n;
const isInstalled = (type: string): boolean => Bun.which(`mkfs.${type}`) !== null;
const types = ["ext4", "xfs", "btrfs"].filter((type) => {
  if (isInstalled(type)) return true;
  process.stdout.write(`SKIPPED ${type}: mkfs.${type} is not installed\n`);
  return false;
});
if (!mayResize) process.stdout.write("SKIPPED expansion of ext4: the capability SYS_RESOURCE is missing\n");

function nodeAt(device: string) {
  return nodeOf({ ...(fake.volumeDriver as VolumeDriver), devicePathsOf: () => [device] });
}

let count = 0;
function newDisk() {
  count += 1;
  const name = `disk-${count}`;
  const device = disks.device(name);
  const staging = join(folder, `${name}-staging`);
  const node = nodeAt(device);
  const call = (more: Partial<NodeCall> & Pick<NodeCall, "method">) =>
    runCall(node, { staging, target: join(folder, `${name}-pod`, "mount"), type: "ext4", ...more });
  return { name, device, staging, node, call };
}

const shell = (...command: readonly string[]): number => Bun.spawnSync([...command]).exitCode;

/** Writes a file that survives a crash of the machine. */
async function write(path: string, text: string): Promise<void> {
  await Bun.write(path, text);
  expect(shell("sync", path)).toBe(0);
}

describe.each(types)("a volume with %s", (type) => {
  test("formats a volume with %s once, mounts it into a pod, measures it, and keeps its data when it returns", async () => {
    const { staging, call, node } = newDisk();
    await call({ method: "stage", type });
    await call({ method: "publish", type });
    const pod = staging.replace("-staging", "-pod/mount");
    await write(join(pod, "file"), "precious");
    const request = { volumeID: "v1", volumePath: pod, stagingTargetPath: staging };
    const stats = await node.NodeGetVolumeStats?.(request, { signal: new AbortController().signal });
    expect(stats?.usage?.map(({ unit }) => unit)).toEqual(["BYTES", "INODES"]);
    expect(stats?.usage?.[0]?.total).toBeGreaterThan(0.5 * disks.size);
    await call({ method: "unpublish" });
    await call({ method: "unstage" });
    expect(await Bun.file(join(staging, "file")).exists()).toBe(false);
    await call({ method: "stage", type });
    expect(await Bun.file(join(staging, "file")).text()).toBe("precious");
    await call({ method: "unstage" });
  });

  test.skipIf(type === "ext4" && !mayResize)("grows a mounted volume with its disk", async () => {
    const { name, staging, call } = newDisk();
    await call({ method: "stage", type });
    await write(join(staging, "file"), "precious");
    const before = (await systemDisks.usage(staging)).bytes.total;
    await expect(call({ method: "expand", type, bytes: 2 * disks.size })).rejects.toMatchObject({
      code: "UNAVAILABLE",
    });
    disks.grow(name);
    expect(await call({ method: "expand", type, bytes: 2 * disks.size })).toEqual({
      capacityBytes: 2 * disks.size,
    });
    expect((await systemDisks.usage(staging)).bytes.total).toBeGreaterThan(1.8 * before);
    // Repeated, as the kubelet does after a lost response.
    await call({ method: "expand", type, bytes: 2 * disks.size });
    expect(await Bun.file(join(staging, "file")).text()).toBe("precious");
    await call({ method: "unstage" });
  });

  test("rejects a disk with another file system and leaves it unchanged", async () => {
    const { device, call } = newDisk();
    expect(shell("mkfs.ext2", "-q", device)).toBe(0);
    await expect(call({ method: "stage", type })).rejects.toMatchObject({ code: "FAILED_PRECONDITION" });
    expect(Bun.spawnSync(["blkid", "-p", "-s", "TYPE", "-o", "value", device]).stdout.toString()).toBe(
      "ext2\n",
    );
  });
});

test("neither formats nor mounts a real disk with data", async () => {
  const { device, call } = newDisk();
  const write = Bun.spawnSync(["dd", `of=${device}`, "bs=1", "seek=500000", "conv=notrunc"], {
    stdin: Buffer.from("precious"),
  });
  expect(write.exitCode).toBe(0);
  await expect(call({ method: "stage" })).rejects.toMatchObject({ code: "FAILED_PRECONDITION" });
  const head = await systemDisks.head(device, 1024 * 1024);
  expect(Buffer.from(head.subarray(500_000, 500_008)).toString()).toBe("precious");
});

test("gives a pod a raw device, which has the new size after an expansion", async () => {
  const { name, device, staging, call, node } = newDisk();
  const type = undefined;
  await call({ method: "stage", type });
  await call({ method: "publish", type });
  await call({ method: "publish", type });
  const pod = staging.replace("-staging", "-pod/mount");
  expect((await systemDisks.stat(pod))?.device).toBe((await systemDisks.stat(device))?.device ?? -1);
  disks.grow(name);
  expect(await runCall(node, { method: "expand", staging: pod, type, bytes: 2 * disks.size })).toEqual({
    capacityBytes: 2 * disks.size,
  });
  await call({ method: "unpublish" });
  expect(await systemDisks.stat(pod)).toBeUndefined();
  expect((await systemDisks.head(device, 1024)).every((byte) => byte === 0)).toBe(true);
});

test("passes mount options to the kernel", async () => {
  const { staging, call } = newDisk();
  await call({ method: "stage", flags: ["noatime", "nodev"] });
  const options = Bun.spawnSync(["findmnt", "-n", "-o", "OPTIONS", staging]).stdout.toString();
  expect(options.trim().split(",")).toContain("noatime");
  await call({ method: "unstage" });
});

test("keeps noexec, nosuid and nodev for a read-only mount in a pod", async () => {
  const { staging, call } = newDisk();
  await call({ method: "stage", flags: ["noexec", "nosuid", "nodev"] });
  await call({ method: "publish", isReadOnly: true });
  const pod = staging.replace("-staging", "-pod/mount");
  const options = Bun.spawnSync(["findmnt", "-n", "-o", "VFS-OPTIONS", pod]).stdout.toString();
  expect(options.trim().split(",")).toEqual(expect.arrayContaining(["ro", "noexec", "nosuid", "nodev"]));
  await call({ method: "unpublish" });
  await call({ method: "unstage" });
});

test("leaves no file at the path of a device that disappears during preparation", async () => {
  const { name, device, staging } = newDisk();
  const path = join(folder, name);
  const [major = "", minor = ""] = Bun.spawnSync(["stat", "-c", "%Hr %Lr", device])
    .stdout.toString()
    .split(/\s/);
  expect(shell("mknod", path, "b", major, minor)).toBe(0);
  const driver = { ...(fake.volumeDriver as VolumeDriver), devicePathsOf: () => [path] };
  const node = nodeOf(driver, {
    ...systemFiles,
    run: (...args) => {
      rmSync(path, { force: true });
      return systemFiles.run(...args);
    },
  });
  await expect(runCall(node, { method: "stage", staging, type: "ext4" })).rejects.toMatchObject({
    code: "INTERNAL",
  });
  expect(await systemDisks.stat(path)).toBeUndefined();
});

const moments = ["before", "during", "cut", "after"] as const;

/**
 * Runs the call in a process that is killed at the position. Returns whether the call ended first,
 * because it has fewer positions.
 */
async function killedAt(device: string, call: NodeCall, position: number, moment: string): Promise<boolean> {
  const child = Bun.spawn(
    [
      process.execPath,
      join(import.meta.dir, "crash-child.ts"),
      device,
      JSON.stringify(call),
      `${position}`,
      moment,
    ],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  const output = await new Response(child.stdout).text();
  await child.exited;
  if (output.startsWith("ended")) return true;
  expect(child.signalCode).toBe("SIGKILL");
  return false;
}

/** Repeats the call as the kubelet does. Returns the code of an error that only a person can resolve. */
async function repeated(work: () => Promise<unknown>): Promise<string> {
  for (;;) {
    try {
      await work();
      return "OK";
    } catch (error) {
      const { code = "" } = error as { readonly code?: string };
      if (code === "FAILED_PRECONDITION") return code;
      // Another program is still using the device.
      if (code !== "ABORTED" && code !== "INTERNAL") throw error;
    }
  }
}

describe.each(types)("a killed process, with %s", (type) => {
  test.each(moments)(
    "a SIGKILL %s each program of the first mount leaves a disk that is used without data loss",
    async (moment) => {
      for (let position = 0; ; position += 1) {
        const { device, staging, call } = newDisk();
        const stage: NodeCall = { method: "stage", staging, type };
        if (await killedAt(device, stage, position, moment)) {
          await call({ method: "unstage" });
          expect(position).toBeGreaterThanOrEqual(4);
          break;
        }
        const code = await repeated(() => call({ method: "stage", type }));
        // An interrupted format may leave a disk that is neither blank nor a file system. Such a
        // disk is rejected, not formatted on a guess.
        if (moment === "cut" && code === "FAILED_PRECONDITION") continue;
        expect([position, code]).toEqual([position, "OK"]);
        await write(join(staging, "file"), "precious");
        await call({ method: "unstage" });
        await call({ method: "stage", type });
        expect(await Bun.file(join(staging, "file")).text()).toBe("precious");
        await call({ method: "unstage" });
      }
    },
  );

  test.each(moments)("a SIGKILL %s each program of a later mount keeps the data", async (moment) => {
    for (let position = 0; ; position += 1) {
      const { device, staging, call } = newDisk();
      await call({ method: "stage", type });
      await write(join(staging, "file"), "precious");
      await call({ method: "unstage" });
      const ended = await killedAt(device, { method: "stage", staging, type }, position, moment);
      expect(await repeated(() => call({ method: "stage", type }))).toBe("OK");
      expect(await Bun.file(join(staging, "file")).text()).toBe("precious");
      await call({ method: "unstage" });
      if (ended) break;
    }
  });

  test.skipIf(type === "ext4" && !mayResize).each(moments)(
    "a SIGKILL %s each program of an expansion keeps the data, and the file system grows afterwards",
    async (moment) => {
      for (let position = 0; ; position += 1) {
        const { name, device, staging, call } = newDisk();
        await call({ method: "stage", type });
        await write(join(staging, "file"), "precious");
        const before = (await systemDisks.usage(staging)).bytes.total;
        disks.grow(name);
        const expand: NodeCall = { method: "expand", staging, type, bytes: 2 * disks.size };
        const ended = await killedAt(device, expand, position, moment);
        expect(await repeated(() => call(expand))).toBe("OK");
        expect((await systemDisks.usage(staging)).bytes.total).toBeGreaterThan(1.8 * before);
        expect(await Bun.file(join(staging, "file")).text()).toBe("precious");
        await call({ method: "unstage" });
        if (ended) break;
      }
    },
  );
});

test("waits for a format that outlives its process, and formats the disk only once", async () => {
  const { device, staging, call } = newDisk();
  const log = join(folder, "formats");
  const release = join(folder, "release");
  const bin = join(folder, "bin");
  const real = Bun.which("mkfs.ext4");
  await Bun.write(
    join(bin, "mkfs.ext4"),
    `#!/bin/sh\necho started >> ${log}\nwhile [ ! -e ${release} ]; do sleep 0.02; done\nexec ${real} "$@"\n`,
  );
  expect(shell("chmod", "755", join(bin, "mkfs.ext4"))).toBe(0);
  const child = Bun.spawn(
    [
      ...[process.execPath, join(import.meta.dir, "crash-child.ts"), device],
      ...[JSON.stringify({ method: "stage", staging, type: "ext4" }), "2", "during"],
    ],
    {
      stdio: ["ignore", "ignore", "inherit"],
      env: { ...process.env, PATH: `${bin}:${process.env["PATH"]}` },
    },
  );
  await child.exited;
  while (!(await Bun.file(log).exists())) await Bun.sleep(10);
  const staged = call({ method: "stage" });
  await Bun.sleep(50);
  await Bun.write(release, "");
  await staged;
  expect(await Bun.file(log).text()).toBe("started\n");
  await write(join(staging, "file"), "precious");
  await call({ method: "unstage" });
  await call({ method: "stage" });
  expect(await Bun.file(join(staging, "file")).text()).toBe("precious");
  await call({ method: "unstage" });
});
