// Volumes of Cinder, with the names, ids, keys and metadata of its CSI driver, so that its PersistentVolumes remain usable.

import {
  type Call,
  CloudError,
  type Context,
  deleted,
  ifFound,
  inProgress,
  mapEntries,
  type ObservedSnapshot,
  type ObservedVolume,
  requestTo,
  type Snapshots,
  text,
  type VolumeDriver,
  type Volumes,
} from "#ccm";
import type { OpenStackApi, ServiceApi } from "./api.ts";
import { serverIDOf } from "./instances.ts";
import type { ApiSnapshot, ApiVolume } from "./resources.ts";
import type { Settings } from "./settings.ts";

const gibibyte = 2 ** 30;
const name = "cinder.csi.openstack.org";
const clusterKey = `${name}/cluster`;
const zoneKey = `topology.${name}/zone`;

const parameters = {
  type: text("Volume type, by name or id. Default: the project's default type."),
  availability: text("Availability zone of the volume. Default: the zone of the Node."),
};

const isID = (id: string): boolean => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id);

/** The link name that udev derives from the serial number: for virtio disks and older QEMU SCSI disks, it has 20 characters. */
function devicesOf(id: string): readonly string[] {
  const serials = [id.slice(0, 20), id];
  const names = ["virtio-", "scsi-0QEMU_QEMU_HARDDISK_"].flatMap((bus) =>
    serials.map((serial) => bus + serial),
  );
  return [...names, `wwn-0x${id.replaceAll("-", "")}`].map((device) => `/dev/disk/by-id/${device}`);
}

export const volumeDriver: VolumeDriver<typeof parameters> = {
  name,
  parameters,
  // Quotas and backends have smaller limits.
  sizes: { min: gibibyte, step: gibibyte, max: 2 ** 20 * gibibyte },
  topologyKeys: [zoneKey],
  nodeIDOf: (providerID) => serverIDOf(providerID)?.id,
  providerIDOf: (nodeID) => `openstack:///${nodeID}`,
  topologyOf: ({ zone }) => (zone === undefined ? undefined : { [zoneKey]: zone }),
  limitOf: () => 256,
  contextOf: () => ({}),
  publishContextOf: ({ device }) => ({ DevicePath: device }),
  devicePathsOf: (_, volumeID) => (isID(volumeID) ? devicesOf(volumeID) : []),
  formatOptionsOf: () => "",
  sources: ["snapshot", "volume"],
};

const description = "Created by OpenStack Cinder CSI driver";

/** After a failed change, such as `error_extending`, the volume is unchanged. */
function stateOf({ status }: Pick<ApiVolume, "status">): ObservedVolume["state"] {
  if (status === "error") return "failed";
  return /^(available|in-use|error_.*)$/.test(status) ? "ready" : "changing";
}

const snapshotStates: Readonly<Record<string, ObservedSnapshot["state"]>> = {
  available: "ready",
  "backing-up": "ready",
  error: "failed",
  error_deleting: "failed",
};

function toSnapshot({ id, name, size, status, ...snapshot }: ApiSnapshot): ObservedSnapshot {
  return {
    id,
    name,
    volumeID: snapshot.volume_id,
    size: size * gibibyte,
    createdAt: new Date(`${snapshot.created_at.replace(/Z$/, "")}Z`),
    state: snapshotStates[status] ?? "creating",
  };
}

/** Cinder keeps a volume that has snapshots, so a snapshot can always be used where its volume can. */
function cinderSnapshots(
  storage: ServiceApi,
  cluster: string,
  volumeOf: (id: string, call: Call) => Promise<ObservedVolume | undefined>,
): Snapshots {
  return {
    list: (call) => mapEntries(storage.list<ApiSnapshot>("/snapshots/detail", call), toSnapshot),
    get: async (id, call) => {
      if (!isID(id)) return undefined;
      const found = await ifFound(storage.read<ApiSnapshot>("/snapshots/{id}", id, "snapshot", call));
      const volume = found && (await volumeOf(found.volume_id, call));
      return found && { ...toSnapshot(found), topology: volume?.topology };
    },
    create: async ({ name, volume }, call) => {
      // Older versions of Cinder accept a snapshot of a volume in use only with `force`.
      const wanted = { name, volume_id: volume.id, force: true, description };
      const body = { snapshot: { ...wanted, metadata: { [clusterKey]: cluster } } };
      const request = { ...requestTo("POST /snapshots", {}, body), expects: ["snapshot"] };
      const { snapshot } = await storage.call<{ readonly snapshot: ApiSnapshot }>(request, call);
      return { ...inProgress(`snapshot ${name}`), id: snapshot.id };
    },
    remove: ({ id, name }, call) =>
      deleted(storage.call(requestTo("DELETE /snapshots/{id}", { id }), call), () =>
        inProgress(`snapshot ${name}`),
      ),
  };
}

export function cinderVolumes(
  { storage, compute }: OpenStackApi,
  settings: Settings,
  { cluster }: Context["mark"],
): Volumes<typeof parameters> {
  const isAnywhere = settings["ignore-volume-az"];
  const toObserved = ({ id, name, size, attachments, ...volume }: ApiVolume): ObservedVolume => ({
    id,
    name,
    size: size * gibibyte,
    topology: isAnywhere ? {} : { [zoneKey]: volume.availability_zone },
    attachedTo: attachments.map(({ server_id }) => server_id),
    device: attachments[0]?.device ?? "",
    state: stateOf(volume),
  });
  const waiting = ({ name, id }: Pick<ObservedVolume, "name" | "id">) => inProgress(`volume ${name} (${id})`);
  const get = async (id: string, call: Call) => {
    const read = () => storage.read<ApiVolume>("/volumes/{id}", id, "volume", call);
    return isID(id) ? ifFound(read().then(toObserved)) : undefined;
  };
  return {
    get,
    snapshots: cinderSnapshots(storage, cluster, get),
    list: (call) => mapEntries(storage.list<ApiVolume>("/volumes/detail", call), toObserved),
    create: async ({ name, size, topology, parameters, claim, source }, call) => {
      const owner = claim && {
        "csi.storage.k8s.io/pvc/name": claim.name,
        "csi.storage.k8s.io/pvc/namespace": claim.namespace,
        "csi.storage.k8s.io/pv/name": claim.volume,
      };
      const wanted = {
        name,
        size: size / gibibyte,
        description,
        volume_type: parameters.type,
        metadata: { [clusterKey]: cluster, ...owner },
        ...(source && { [source.kind === "snapshot" ? "snapshot_id" : "source_volid"]: source.id }),
        availability_zone: parameters.availability ?? (isAnywhere ? undefined : topology?.[zoneKey]),
      };
      const request = { ...requestTo("POST /volumes", {}, { volume: wanted }), expects: ["volume"] };
      const { volume } = await storage.call<{ readonly volume: ApiVolume }>(request, call);
      return { ...waiting(volume), id: volume.id };
    },
    remove: (volume, call) =>
      deleted(storage.call(requestTo("DELETE /volumes/{id}", { id: volume.id }), call), () =>
        waiting(volume),
      ),
    attach: async (volume, machine, call) => {
      const operation = "POST /servers/{id}/os-volume_attachments";
      const text = `Server ${machine} does not exist in the project and region of [Global], where volumes are.`;
      const missing = new CloudError("not-found", text, { operation });
      if (!isID(machine)) throw missing;
      const body = { volumeAttachment: { volumeId: volume.id } };
      try {
        await compute.call(requestTo(operation, { id: machine }, body), call);
      } catch (error) {
        // The missing object may be the volume.
        const isUnclear = CloudError.is(error) && error.kind === "not-found";
        const read = () => ifFound(compute.read<object>("/servers/{id}", machine, "server", call));
        throw isUnclear && (await read()) === undefined ? missing : error;
      }
      return waiting(volume);
    },
    detach: (volume, machine, call) => {
      const operation = "DELETE /servers/{id}/os-volume_attachments/{volume}";
      const request = requestTo(operation, { id: machine, volume: volume.id });
      return deleted(compute.call(request, call), () => waiting(volume));
    },
    expand: async (volume, size, call) => {
      const body = { "os-extend": { new_size: size / gibibyte } };
      await storage.call(requestTo("POST /volumes/{id}/action", { id: volume.id }, body), call);
      return waiting(volume);
    },
  };
}
