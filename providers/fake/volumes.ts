// Volumes of the fake cloud: in one zone each, attached to one machine. Their snapshots are in all zones.

import {
  type Call,
  deleted,
  ifFound,
  mapEntries,
  type ObservedSnapshot,
  type ObservedVolume,
  oneOf,
  type Snapshots,
  seconds,
  text,
  type VolumeDriver,
  type VolumeOutcome,
  type Volumes,
} from "#ccm";
import type { ApiSnapshot, ApiVolume, FakeApi } from "./api.ts";

const gibibyte = 2 ** 30;
const zoneKey = "topology.fake.example/zone";

const parameters = {
  tier: oneOf("How fast the volume is.", ["standard", "fast"], { fallback: "standard" }),
  fsFormatOptions: text("Options for mkfs, as in a shell."),
};

export const volumeDriver: VolumeDriver<typeof parameters> = {
  name: "csi.fake.example",
  parameters,
  sizes: { min: gibibyte, step: gibibyte, max: 1024 * gibibyte },
  topologyKeys: [zoneKey],
  nodeIDOf: (providerID) => /^fake:\/\/(\d+)$/.exec(providerID)?.[1],
  providerIDOf: (nodeID) => `fake://${nodeID}`,
  topologyOf: ({ zone }) => (zone === undefined ? undefined : { [zoneKey]: zone }),
  limitOf: () => 8,
  contextOf: ({ fsFormatOptions = "" }) => ({ fsFormatOptions }),
  publishContextOf: ({ device }) => ({ device }),
  devicePathsOf: ({ device }) => (device ? [device] : []),
  formatOptionsOf: ({ fsFormatOptions = "" }) => fsFormatOptions,
  sources: ["snapshot", "volume"],
};

function toObserved({ id, name, size, zone, machine, status }: ApiVolume): ObservedVolume {
  return {
    id,
    name,
    size: size * gibibyte,
    topology: { [zoneKey]: zone },
    attachedTo: machine === null ? [] : [machine],
    device: `/dev/disk/by-id/fake-${id}`,
    state: status === "available" ? "ready" : "changing",
  };
}

function toSnapshot({ id, name, size, volume, status, created_at }: ApiSnapshot): ObservedSnapshot {
  return {
    id,
    name,
    volumeID: volume,
    size: size * gibibyte,
    state: status,
    createdAt: new Date(created_at),
  };
}

const accepted = (waitingFor: string): VolumeOutcome => ({ done: false, checkAfter: seconds(1), waitingFor });

export function fakeVolumes(api: FakeApi, mark: { readonly cluster: string }): Volumes<typeof parameters> {
  const change = async (
    { id, name }: ObservedVolume,
    spec: Parameters<FakeApi["changeVolume"]>[1],
    call: Call,
  ) => {
    await api.changeVolume(id, spec, call);
    return accepted(`volume ${name}`);
  };
  return {
    list: (call) => mapEntries(api.volumes(call), toObserved),
    get: (id, call) => ifFound(api.volume(id, call).then(({ volume }) => toObserved(volume))),
    create: async ({ name, size, topology, parameters: { tier }, source }, call) => {
      const zone = topology?.[zoneKey];
      const labels = { cluster: mark.cluster };
      const spec = {
        name,
        labels,
        tier,
        size: size / gibibyte,
        ...(zone !== undefined && { zone }),
        ...(source !== undefined && { [source.kind]: source.id }),
      };
      const { volume } = await api.createVolume(spec, call);
      return { ...accepted(`volume ${name}`), id: volume.id };
    },
    remove: ({ id }, call) => deleted(api.deleteVolume(id, call)),
    attach: (volume, machine, call) => change(volume, { machine }, call),
    detach: (volume, _machine, call) => change(volume, { machine: null }, call),
    expand: (volume, size, call) => change(volume, { size: size / gibibyte }, call),
    snapshots: fakeSnapshots(api, mark),
  };
}

function fakeSnapshots(api: FakeApi, mark: { readonly cluster: string }): Snapshots {
  return {
    list: (call) => mapEntries(api.snapshots(call), toSnapshot),
    get: (id, call) => ifFound(api.snapshot(id, call).then(({ snapshot }) => toSnapshot(snapshot))),
    create: async ({ name, volume }, call) => {
      const spec = { name, labels: { cluster: mark.cluster }, volume: volume.id };
      const { snapshot } = await api.createSnapshot(spec, call);
      return { ...accepted(`snapshot ${name}`), id: snapshot.id };
    },
    remove: ({ id }, call) => deleted(api.deleteSnapshot(id, call)),
  };
}
