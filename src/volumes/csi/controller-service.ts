// The CSI services Identity and Controller: what sidecars such as external-provisioner and external-attacher call.

import type { ObservedSnapshot, ObservedVolume, VolumeDriver, VolumeSource } from "../../provider/volumes.ts";
import type { Handlers } from "../grpc/rpc-server.ts";
import { RpcError } from "../grpc/status.ts";
import type { CloudSnapshots } from "./cloud-snapshots.ts";
import type { CloudVolumes } from "./cloud-volumes.ts";
import type { CsiSchema, csiServices } from "./spec.ts";
import {
  pageOf,
  readParameters,
  readSize,
  readSource,
  readTopologies,
  refusedCapability,
  requireCapabilities,
} from "./volume-requests.ts";

type Services = typeof csiServices;

export interface IdentityOptions {
  readonly driver: VolumeDriver;
  readonly version: string;
}

export function identityService({
  driver,
  version,
}: IdentityOptions): Handlers<CsiSchema, Services["Identity"]> {
  return {
    GetPluginInfo: () => ({ name: driver.name, vendorVersion: version }),
    GetPluginCapabilities: () => ({
      capabilities: [
        { service: { type: "CONTROLLER_SERVICE" } },
        { service: { type: "VOLUME_ACCESSIBILITY_CONSTRAINTS" } },
        { volumeExpansion: { type: "ONLINE" } },
      ],
    }),
    Probe: () => ({ ready: { value: true } }),
  };
}

const capabilities = [
  "CREATE_DELETE_VOLUME",
  "PUBLISH_UNPUBLISH_VOLUME",
  "LIST_VOLUMES",
  "LIST_VOLUMES_PUBLISHED_NODES",
  "EXPAND_VOLUME",
  "SINGLE_NODE_MULTI_WRITER",
] as const;

/** The cloud's capabilities for volume sources. */
const capabilitiesOf = {
  snapshot: ["CREATE_DELETE_SNAPSHOT", "LIST_SNAPSHOTS", "GET_SNAPSHOT"],
  volume: ["CLONE_VOLUME"],
} as const;

/** Throws for a field that must be set. */
export function requireField(name: string, value: string): string {
  if (value === "") throw new RpcError("INVALID_ARGUMENT", `The ${name} is missing.`);
  return value;
}

export interface ControllerOptions {
  readonly driver: VolumeDriver;
  readonly volumes: CloudVolumes;
  readonly warn: (message: string) => void;
}

export function controllerService({
  driver,
  volumes,
  warn,
}: ControllerOptions): Handlers<CsiSchema, Services["Controller"]> {
  const shown = ({ id, size, topology }: ObservedVolume) => ({
    volumeID: id,
    capacityBytes: size,
    // Without segments, the volume can be used everywhere.
    accessibleTopology: Object.keys(topology).length === 0 ? [] : [{ segments: topology }],
  });
  const snapshots = (): CloudSnapshots => {
    if (volumes.snapshots !== undefined) return volumes.snapshots;
    throw new RpcError("UNIMPLEMENTED", `The cloud of ${driver.name} has no snapshots of volumes.`);
  };
  return {
    CreateVolume: async (request, { signal }) => {
      const name = requireField("name", request.name);
      requireCapabilities(request.volumeCapabilities);
      const source = readSource(request.volumeContentSource, driver);
      const range = readSize(request.capacityRange, driver.sizes);
      const places = readTopologies(request.accessibilityRequirements, driver);
      const { values, claim, warnings } = readParameters(request.parameters, driver);
      for (const warning of warnings)
        warn(`Volume ${name}: ${warning}. Fairlead ignores this StorageClass parameter.`);
      const wanted = { name, range, places, parameters: values, claim, source };
      const volume = await volumes.create(wanted, signal);
      const contentSource = source && contentSourceOf(source);
      return { volume: { ...shown(volume), volumeContext: driver.contextOf(values), contentSource } };
    },
    DeleteVolume: async ({ volumeID }, { signal }) => {
      await volumes.remove(requireField("volume id", volumeID), signal);
      return {};
    },
    ControllerPublishVolume: async ({ volumeID, nodeID, volumeCapability, readonly }, { signal }) => {
      requireField("volume id", volumeID);
      requireField("node id", nodeID);
      requireCapabilities([volumeCapability]);
      if (readonly) throw new RpcError("INVALID_ARGUMENT", "Volumes cannot be attached read-only.");
      const volume = await volumes.attach(volumeID, nodeID, signal);
      return { publishContext: driver.publishContextOf(volume) };
    },
    ControllerUnpublishVolume: async ({ volumeID, nodeID }, { signal }) => {
      requireField("volume id", volumeID);
      await volumes.detach(volumeID, nodeID === "" ? undefined : nodeID, signal);
      return {};
    },
    ValidateVolumeCapabilities: async ({ volumeID, ...asked }, { signal }) => {
      requireField("volume id", volumeID);
      if (asked.volumeCapabilities.length === 0)
        throw new RpcError("INVALID_ARGUMENT", "The volume capabilities are missing.");
      if ((await volumes.find(volumeID, signal)) === undefined)
        throw new RpcError("NOT_FOUND", `Volume ${volumeID} does not exist.`);
      const [refused] = asked.volumeCapabilities.flatMap((each) => refusedCapability(each) ?? []);
      if (refused !== undefined) return { message: refused };
      const { volumeContext, volumeCapabilities, parameters } = asked;
      return { confirmed: { volumeContext, volumeCapabilities, parameters } };
    },
    ListVolumes: async (request, { signal }) => {
      const { page, nextToken } = pageOf(await volumes.list(signal), request);
      const entries = page.map((volume) => ({
        volume: shown(volume),
        status: { publishedNodeIDs: volume.attachedTo },
      }));
      return { entries, nextToken };
    },
    ControllerGetCapabilities: () => ({
      capabilities: [...capabilities, ...(driver.sources ?? []).flatMap((kind) => capabilitiesOf[kind])].map(
        (type) => ({ rpc: { type } }),
      ),
    }),
    ControllerExpandVolume: async ({ volumeID, capacityRange, volumeCapability }, { signal }) => {
      requireField("volume id", volumeID);
      if (capacityRange === undefined)
        throw new RpcError("INVALID_ARGUMENT", "The capacity range is missing.");
      const volume = await volumes.expand(volumeID, readSize(capacityRange, driver.sizes), signal);
      return { capacityBytes: volume.size, nodeExpansionRequired: volumeCapability?.block === undefined };
    },
    CreateSnapshot: async ({ name, sourceVolumeID, parameters }, { signal }) => {
      requireField("name", name);
      requireField("source volume id", sourceVolumeID);
      for (const parameter of Object.keys(parameters))
        warn(`Snapshot ${name}: the VolumeSnapshotClass has the parameter ${parameter}; it is ignored.`);
      const snapshot = await snapshots().create({ name, volumeID: sourceVolumeID }, signal);
      return { snapshot: shownSnapshot(snapshot) };
    },
    DeleteSnapshot: async ({ snapshotID }, { signal }) => {
      await snapshots().remove(requireField("snapshot id", snapshotID), signal);
      return {};
    },
    GetSnapshot: async ({ snapshotID }, { signal }) => {
      const snapshot = await snapshots().find(requireField("snapshot id", snapshotID), signal);
      if (snapshot !== undefined) return { snapshot: shownSnapshot(snapshot) };
      throw new RpcError("NOT_FOUND", `Snapshot ${snapshotID} does not exist.`);
    },
    ListSnapshots: async ({ snapshotID, sourceVolumeID, ...request }, { signal }) => {
      const found = snapshotID === "" ? undefined : await snapshots().find(snapshotID, signal);
      const all = snapshotID === "" ? await snapshots().list(signal) : found === undefined ? [] : [found];
      const wanted = all.filter(({ volumeID }) => ["", volumeID].includes(sourceVolumeID));
      const { page, nextToken } = pageOf(wanted, request);
      return { entries: page.map((each) => ({ snapshot: shownSnapshot(each) })), nextToken };
    },
  };
}

const contentSourceOf = ({ kind, id }: VolumeSource) =>
  kind === "snapshot" ? { snapshot: { snapshotID: id } } : { volume: { volumeID: id } };

function shownSnapshot({ id, volumeID, size, createdAt, state }: ObservedSnapshot) {
  const time = createdAt.getTime();
  return {
    snapshotID: id,
    sourceVolumeID: volumeID,
    sizeBytes: size,
    readyToUse: state === "ready",
    creationTime: { seconds: Math.floor(time / 1000), nanos: (time % 1000) * 1_000_000 },
  };
}
