// The CSI service Node: what the kubelet calls to format, mount, expand and measure volumes of its machine.

import { type Milliseconds, milliseconds, seconds } from "../core/brand.ts";
import type { Handlers } from "../grpc/rpc-server.ts";
import { RpcError } from "../grpc/status.ts";
import { type Clock, sleep } from "../platform/clock.ts";
import type { Disks, Usage } from "../platform/disks.ts";
import type { Files } from "../platform/files.ts";
import type { Segments, VolumeDriver } from "../provider/volumes.ts";
import { requireField } from "./controller-service.ts";
import { FileSystems } from "./file-systems.ts";
import { Mounts } from "./mounts.ts";
import type { CsiSchema, csiServices } from "./spec.ts";
import { type Message, requireCapabilities } from "./volume-requests.ts";

/** This machine, as CSI names it. */
export interface NodeIdentity {
  readonly id: string;
  readonly limit: number;
  readonly topology: Segments | undefined;
}

export interface NodeOptions {
  readonly driver: VolumeDriver;
  readonly identity: NodeIdentity;
  readonly disks: Disks;
  readonly files: Pick<Files, "read" | "run">;
  readonly clock: Clock;
  /** Aborted when the process ends. */
  readonly life: AbortSignal;
}

const capabilities = [
  "STAGE_UNSTAGE_VOLUME",
  "GET_VOLUME_STATS",
  "EXPAND_VOLUME",
  "SINGLE_NODE_MULTI_WRITER",
] as const;

/** An attached disk appears a moment after the cloud says so. */
const deviceWait: Milliseconds = seconds(30);
const deviceInterval: Milliseconds = milliseconds(250);

type PathRequest = Pick<
  Message<"NodePublishVolumeRequest">,
  "volumeID" | "publishContext" | "volumeCapability"
>;

class NodeVolumes {
  readonly #options: NodeOptions;
  readonly #systems: FileSystems;
  readonly #mounts: Mounts;
  readonly #busy = new Set<string>();

  constructor(options: NodeOptions) {
    const { disks, files, life } = options;
    this.#options = options;
    this.#systems = new FileSystems(disks, { life, files });
    this.#mounts = new Mounts(disks, files, { life, files });
  }

  async alone<T>(volumeID: string, work: () => Promise<T>): Promise<T> {
    const id = requireField("volume id", volumeID);
    if (this.#busy.has(id)) throw new RpcError("ABORTED", `Another call works on volume ${id}. Try again.`);
    this.#busy.add(id);
    try {
      return await work();
    } finally {
      this.#busy.delete(id);
    }
  }

  async stage(request: Message<"NodeStageVolumeRequest">, signal: AbortSignal): Promise<void> {
    const path = requireField("staging target path", request.stagingTargetPath);
    requireCapabilities([request.volumeCapability]);
    const { mount } = request.volumeCapability ?? {};
    const type = this.#systems.typeOf(mount?.fsType ?? "");
    const device = await this.#device(request, signal);
    // The pod gets the device itself.
    if (mount === undefined) return;
    const { driver, disks } = this.#options;
    if (await this.#isMounted(device, path)) return;
    const isReadOnly = mount.mountFlags.includes("ro");
    const options = driver.formatOptionsOf(request.volumeContext);
    await this.#systems.prepare(device, type, options, isReadOnly);
    await disks.makeFolder(path);
    await this.#mounts.mount(device, path, [...this.#systems.mountOptions(type), ...mount.mountFlags], type);
  }

  async publish(request: Message<"NodePublishVolumeRequest">, signal: AbortSignal): Promise<void> {
    const path = requireField("target path", request.targetPath);
    requireCapabilities([request.volumeCapability]);
    const staging = request.stagingTargetPath;
    const { disks } = this.#options;
    if (request.volumeCapability?.block !== undefined) {
      const device = await this.#device(request, signal);
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

  /** ReadWriteOncePod: only one pod may have it. */
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

  async expand({ volumePath, volumeCapability }: Message<"NodeExpandVolumeRequest">): Promise<number> {
    requireField("volume path", volumePath);
    const { disks } = this.#options;
    const found = await disks.stat(volumePath);
    if (found === undefined) throw missing(volumePath);
    if (found.kind === "block" || volumeCapability?.block !== undefined)
      return this.#systems.sizeOf(volumePath);
    const mount = await this.#mounts.at(volumePath);
    if (mount === undefined) throw missing(volumePath);
    await this.#systems.grow(mount.source, volumePath, mount.type);
    return this.#systems.sizeOf(mount.source);
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

  /** The path of the device, once it is there. */
  async #device({ volumeID, publishContext }: PathRequest, signal: AbortSignal): Promise<string> {
    const { driver, disks, clock } = this.#options;
    const path = driver.devicePathOf(publishContext);
    if (path === undefined || path === "")
      throw new RpcError("INVALID_ARGUMENT", `The publish context of volume ${volumeID} names no device.`);
    const end = clock.monotonic() + deviceWait;
    while ((await disks.stat(path))?.kind !== "block") {
      if (clock.monotonic() >= end)
        throw new RpcError(
          "UNAVAILABLE",
          `${path}, the device of volume ${volumeID}, is not on this machine. Try again.`,
        );
      await sleep(clock, deviceInterval, signal);
    }
    return path;
  }

  /** Throws if something else is mounted there. */
  async #isMounted(device: string, path: string): Promise<boolean> {
    const mount = await this.#mounts.at(path);
    if (mount === undefined) return false;
    const { disks } = this.#options;
    const [wanted, found] = [await disks.stat(device), await disks.stat(mount.source)];
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

export function nodeService(options: NodeOptions): Handlers<CsiSchema, (typeof csiServices)["Node"]> {
  const volumes = new NodeVolumes(options);
  const { id, limit, topology } = options.identity;
  const nothing = async (work: Promise<unknown>) => {
    await work;
    return {};
  };
  return {
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
      accessibleTopology: topology && { segments: topology },
    }),
  };
}
