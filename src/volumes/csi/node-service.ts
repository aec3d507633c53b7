// The CSI Node service: calls by the kubelet that format, mount, expand and measure volumes on its machine.

import { basename } from "node:path";
import { type Milliseconds, milliseconds, seconds } from "../../core/brand.ts";
import { type Clock, sleep } from "../../platform/clock.ts";
import type { Disks, HeldDevice, Usage } from "../../platform/disks.ts";
import type { Files } from "../../platform/files.ts";
import type { Segments, VolumeDriver } from "../../provider/volumes.ts";
import type { Handlers } from "../grpc/rpc-server.ts";
import { RpcError } from "../grpc/status.ts";
import { requireField } from "./controller-service.ts";
import { FileSystems } from "./file-systems.ts";
import { Mounts } from "./mounts.ts";
import type { CsiSchema, csiServices } from "./spec.ts";
import { type Message, requireCapabilities, sizeText, withFormerKeys } from "./volume-requests.ts";

/** This machine under its CSI name. */
export interface CSIMachine {
  readonly id: string;
  readonly limit: number;
  readonly topology: Segments | undefined;
}

export interface NodeOptions {
  readonly driver: VolumeDriver;
  readonly identity: CSIMachine;
  readonly disks: Disks;
  readonly files: Pick<Files, "read" | "run">;
  readonly clock: Clock;
  readonly warn: (message: string) => void;
}

export interface NodeService {
  readonly handlers: Handlers<CsiSchema, (typeof csiServices)["Node"]>;
  /** Resolves when nothing is being formatted or mounted. */
  readonly idle: () => Promise<void>;
}

const capabilities = [
  "STAGE_UNSTAGE_VOLUME",
  "GET_VOLUME_STATS",
  "EXPAND_VOLUME",
  "SINGLE_NODE_MULTI_WRITER",
] as const;

/** An attached disk appears shortly after the cloud reports it. */
const deviceWait: Milliseconds = seconds(30);
const deviceInterval: Milliseconds = milliseconds(250);
/** A serial number of this length or more may be truncated. */
const shortenedSerial = 20;

type PathRequest = Pick<
  Message<"NodePublishVolumeRequest">,
  "volumeID" | "publishContext" | "volumeCapability"
>;

class NodeVolumes {
  readonly #options: NodeOptions;
  readonly #systems: FileSystems;
  readonly #mounts: Mounts;
  readonly #running = new Map<string, Promise<unknown>>();

  constructor(options: NodeOptions) {
    const { disks, files } = options;
    this.#options = options;
    this.#systems = new FileSystems(disks, { files });
    this.#mounts = new Mounts(disks, files, { files });
  }

  async alone<T>(volumeID: string, work: () => Promise<T>): Promise<T> {
    const id = requireField("volume id", volumeID);
    if (this.#running.has(id))
      throw new RpcError("ABORTED", `Another call works on volume ${id}. Try again.`);
    const running = work();
    this.#running.set(id, running);
    try {
      return await running;
    } finally {
      this.#running.delete(id);
    }
  }

  async idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.allSettled(this.#running.values());
  }

  async stage(request: Message<"NodeStageVolumeRequest">, signal: AbortSignal): Promise<void> {
    const path = requireField("staging target path", request.stagingTargetPath);
    requireCapabilities([request.volumeCapability]);
    const { mount } = request.volumeCapability ?? {};
    const type = this.#systems.typeOf(mount?.fsType ?? "");
    await using held = await this.#device(request, signal);
    const device = held.path;
    // The pod gets the device itself.
    if (mount === undefined) return;
    const { driver, disks } = this.#options;
    if (await this.#isMounted(device, path)) return;
    const isReadOnly = mount.mountFlags.includes("ro");
    const options = driver.formatOptionsOf(request.volumeContext, type);
    await this.#systems.prepare(held, type, options, isReadOnly);
    await disks.makeFolder(path);
    await this.#mounts.mount(device, path, [...this.#systems.mountOptions(type), ...mount.mountFlags], type);
  }

  async publish(request: Message<"NodePublishVolumeRequest">, signal: AbortSignal): Promise<void> {
    const path = requireField("target path", request.targetPath);
    requireCapabilities([request.volumeCapability]);
    const staging = request.stagingTargetPath;
    const { disks } = this.#options;
    if (request.volumeCapability?.block !== undefined) {
      await using held = await this.#device(request, signal);
      const device = held.path;
      const [wanted, found] = [await disks.stat(device), await disks.stat(path)];
      if (found?.kind === "block" && found.device === wanted?.device) return;
      if (found?.kind === "block") throw occupied(path, "another device");
      await this.#requireSingleUse(request, device);
      await disks.makeFile(path);
      return this.#mounts.bind(device, path, request.readonly);
    }
    if (staging === "")
      throw new RpcError(
        "FAILED_PRECONDITION",
        "The staging target path is missing. Stage the volume first.",
      );
    const staged = await this.#mounts.at(staging);
    if (staged === undefined)
      throw new RpcError("FAILED_PRECONDITION", `Nothing is mounted at ${staging}. Stage the volume first.`);
    if (await this.#isMounted(staged.source, path)) return;
    await this.#requireSingleUse(request, staged.source);
    await disks.makeFolder(path);
    return this.#mounts.bind(staging, path, request.readonly);
  }

  /** ReadWriteOncePod: only one pod may use the volume. */
  async #requireSingleUse(
    { volumeCapability, stagingTargetPath }: Message<"NodePublishVolumeRequest">,
    device: string,
  ): Promise<void> {
    if (volumeCapability?.accessMode?.mode !== "SINGLE_NODE_SINGLE_WRITER") return;
    const { disks } = this.#options;
    const staging =
      stagingTargetPath === "" || (await disks.stat(stagingTargetPath)) === undefined
        ? undefined
        : await disks.realPath(stagingTargetPath);
    const [other] = (await this.#mounts.pathsOf(device)).filter((path) => path !== staging);
    if (other !== undefined)
      throw new RpcError(
        "FAILED_PRECONDITION",
        `${device} is mounted at ${other}, and its access mode allows one pod. Wait until the other pod has ended.`,
      );
  }

  /** The kubelet removes the folder. */
  async unstage(path: string): Promise<void> {
    await this.#mounts.unmount(requireField("staging target path", path));
  }

  async unpublish(path: string): Promise<void> {
    await this.#mounts.clear(requireField("target path", path));
  }

  async expand(request: Message<"NodeExpandVolumeRequest">): Promise<number> {
    const { volumePath, volumeCapability, capacityRange } = request;
    requireField("volume path", volumePath);
    const found = await this.#options.disks.stat(volumePath);
    if (found === undefined) throw missing(volumePath);
    const isBlock = found.kind === "block" || volumeCapability?.block !== undefined;
    const mount = isBlock ? undefined : await this.#mounts.at(volumePath);
    if (!isBlock && mount === undefined) throw missing(volumePath);
    const device = mount?.source ?? volumePath;
    const size = await this.#systems.sizeOf(device);
    const required = capacityRange?.requiredBytes ?? 0;
    if (size < required)
      throw new RpcError(
        "UNAVAILABLE",
        `${device} has ${sizeText(size)}, and the volume has ${sizeText(required)}: this machine does not see its new size yet. Try again.`,
      );
    if (mount === undefined) return size;
    await using held = await this.#options.disks.hold(device);
    if (held === undefined) throw missing(volumePath);
    await this.#systems.grow(held, volumePath, mount.type);
    return size;
  }

  async usage(volumePath: string) {
    requireField("volume path", volumePath);
    const { disks } = this.#options;
    const found = await disks.stat(volumePath);
    if (found?.kind === "block")
      return [{ unit: "BYTES" as const, total: await this.#systems.sizeOf(volumePath) }];
    if (found === undefined || (await this.#mounts.at(volumePath)) === undefined) throw missing(volumePath);
    const { bytes, inodes } = await disks.usage(volumePath);
    const shown = (unit: "BYTES" | "INODES", usage: Usage) => ({ unit, ...usage });
    return [shown("BYTES", bytes), shown("INODES", inodes)];
  }

  /** The open device, once it exists. */
  async #device({ volumeID, publishContext }: PathRequest, signal: AbortSignal): Promise<HeldDevice> {
    const { driver, clock } = this.#options;
    const paths = driver.devicePathsOf(publishContext, volumeID);
    const name = driver.deviceNameOf?.(publishContext);
    if (paths.length === 0)
      throw new RpcError("INVALID_ARGUMENT", `The publish context of volume ${volumeID} names no device.`);
    const end = clock.monotonic() + deviceWait;
    for (;;) {
      const held = await this.#hold(paths, name);
      if (held !== undefined) return held;
      if (clock.monotonic() >= end)
        throw new RpcError(
          "UNAVAILABLE",
          `${paths.join(" or ")}, the device of volume ${volumeID}, is not on this machine, or its link still leads to another disk. Try again.`,
        );
      await sleep(clock, deviceInterval, signal);
    }
  }

  async #hold(paths: readonly string[], name: string | undefined): Promise<HeldDevice | undefined> {
    const { disks } = this.#options;
    const isDevice = async (path: string) => (await disks.stat(path))?.kind === "block";
    for (const path of paths) {
      const held = (await isDevice(path)) ? await disks.hold(path) : undefined;
      if (held !== undefined && (await this.#isOf(path, held))) return held;
      await held?.[Symbol.asyncDispose]();
    }
    const isNamed = name !== undefined && (await isDevice(name)) && (await disks.realPath(name)) === name;
    return isNamed ? disks.hold(name) : undefined;
  }

  /**
   * True if the link contains the device's serial number, or the kernel reports none. Otherwise, udev may still link to the
   * former disk.
   */
  async #isOf(link: string, { path }: HeldDevice): Promise<boolean> {
    const read = (file: string) =>
      this.#options.files.read(`/sys/class/block/${basename(path)}/${file}`).catch(() => "");
    // Paths for virtio, NVMe and SCSI. The SCSI page begins with a header of four bytes.
    const [virtio, nvme, page] = await Promise.all(["serial", "device/serial", "device/vpd_pg80"].map(read));
    const serials = [virtio, nvme, page?.slice(4)].map((text = "") => text.replace(/[^!-~]/g, ""));
    const isCut = (one: string) => one.length >= shortenedSerial && link.includes(one);
    const isEnd = (one: string) => one === "" || link.endsWith(`_${one}`) || link.endsWith(`-${one}`);
    return serials.every((one) => isEnd(one) || isCut(one));
  }

  /** Throws if something else is mounted there. Leftover mounts of a device that the machine has lost are unmounted. */
  async #isMounted(device: string, path: string): Promise<boolean> {
    const mount = await this.#mounts.at(path);
    if (mount === undefined) return false;
    const { disks, warn } = this.#options;
    const [wanted, found] = [await disks.stat(device), await disks.stat(mount.source)];
    if (found === undefined && mount.source.startsWith("/dev/")) {
      warn(
        `${mount.source}, which is mounted at ${path}, is no longer on this machine. It is unmounted, and ${device} is mounted there. Pods that used it must be started again.`,
      );
      await this.#mounts.unmount(path);
      return false;
    }
    if (found?.kind === "block" && found.device === wanted?.device) return true;
    throw occupied(path, mount.source);
  }
}

function missing(path: string): RpcError {
  return new RpcError("NOT_FOUND", `No volume is mounted at ${path}.`);
}

function occupied(path: string, what: string): RpcError {
  return new RpcError(
    "INTERNAL",
    `${what} is mounted at ${path}, so nothing else is mounted there. Unmount it.`,
  );
}

export function nodeService(options: NodeOptions): NodeService {
  const volumes = new NodeVolumes(options);
  const { id, limit, topology } = options.identity;
  const nothing = async (work: Promise<unknown>) => {
    await work;
    return {};
  };
  const handlers: NodeService["handlers"] = {
    NodeStageVolume: (request, { signal }) =>
      nothing(volumes.alone(request.volumeID, () => volumes.stage(request, signal))),
    NodeUnstageVolume: ({ volumeID, stagingTargetPath }) =>
      nothing(volumes.alone(volumeID, () => volumes.unstage(stagingTargetPath))),
    NodePublishVolume: (request, { signal }) =>
      nothing(volumes.alone(request.volumeID, () => volumes.publish(request, signal))),
    NodeUnpublishVolume: ({ volumeID, targetPath }) =>
      nothing(volumes.alone(volumeID, () => volumes.unpublish(targetPath))),
    NodeGetVolumeStats: async ({ volumeID, volumePath }) => {
      requireField("volume id", volumeID);
      return { usage: await volumes.usage(volumePath) };
    },
    NodeExpandVolume: async (request) => ({
      capacityBytes: await volumes.alone(request.volumeID, () => volumes.expand(request)),
    }),
    NodeGetCapabilities: () => ({ capabilities: capabilities.map((type) => ({ rpc: { type } })) }),
    NodeGetInfo: () => ({
      nodeID: id,
      maxVolumesPerNode: limit,
      accessibleTopology: topology && { segments: withFormerKeys(topology, options.driver) },
    }),
  };
  return { handlers, idle: () => volumes.idle() };
}
