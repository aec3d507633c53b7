// Volumes of DigitalOcean, with the names, ids and keys of its CSI driver, so that its PersistentVolumes remain usable.

import {
  type Call,
  CloudError,
  collect,
  deleted,
  done,
  ifFound,
  jobStarted,
  mapEntries,
  type ObservedSnapshot,
  type ObservedVolume,
  type Pending,
  pendingJobs,
  requestTo,
  type Snapshots,
  type VolumeDriver,
  type VolumeOutcome,
  type Volumes,
} from "#ccm";
import type { DigitalOceanApi } from "./api.ts";
import { dropletIDOf } from "./instances.ts";
import type { ApiAction, ApiSnapshot, ApiVolume } from "./resources.ts";
import type { Settings } from "./settings.ts";
import { applyTag, hasTag, taggingRequest, tagOf } from "./tags.ts";

const gibibyte = 2 ** 30;
const name = "dobs.csi.digitalocean.com";
const volumeName = `${name}/volume-name`;
/** A PersistentVolume may have the former name of the driver. */
const neverFormat = [`${name}/noformat`, "com.digitalocean.csi.dobs/noformat"];

export const volumeDriver: VolumeDriver<Record<never, never>> = {
  name,
  parameters: {},
  sizes: { min: gibibyte, step: gibibyte, max: 16_384 * gibibyte },
  topologyKeys: ["region"],
  nodeIDOf: dropletIDOf,
  providerIDOf: (nodeID) => `digitalocean://${nodeID}`,
  topologyOf: ({ region }) => (region === undefined ? undefined : { region }),
  limitOf: () => 7,
  contextOf: () => ({}),
  publishContextOf: ({ device }) => ({ [volumeName]: device }),
  devicePathsOf: ({ [volumeName]: device }) => (device ? [`/dev/disk/by-id/scsi-0DO_Volume_${device}`] : []),
  sources: ["snapshot"],
  formatOptionsOf: (context) => (neverFormat.some((key) => key in context) ? undefined : ""),
};

/** The framework attaches the volume that `get` returned. */
interface Observed extends ObservedVolume {
  readonly tags: ApiVolume["tags"];
}

/** A volume shows a change only when it has ended; until then, only its action shows it. */
function toObserved({ id, name, size_gigabytes, region, droplet_ids, tags }: ApiVolume): Observed {
  return {
    id,
    name,
    tags,
    device: name,
    state: "ready",
    size: size_gigabytes * gibibyte,
    topology: { region: region.slug },
    attachedTo: (droplet_ids ?? []).map(String),
  };
}

function outcomeOf({ id, status }: ApiAction, { name }: ObservedVolume): VolumeOutcome {
  if (status === "completed") return done();
  return jobStarted({ job: String(id), waitingFor: `volume ${name}` });
}

/** The API shows actions one by one, without a reason for failures. */
export function pendingActions(api: DigitalOceanApi): Pending {
  return pendingJobs({ limit: 1 }, async ([id = ""], call) => {
    const action = await ifFound(api.action(id, call));
    if (action === undefined) return new Map();
    const text = `DigitalOcean reports that the action ${action.type} (${id}) failed.`;
    const failed = new CloudError("unavailable", text, { operation: "GET /actions/{id}" });
    const ends = { "in-progress": "running", completed: { facts: {} }, errored: failed } as const;
    return new Map([[id, ends[action.status]]]);
  });
}

/** Whether this is the id of a volume or of its snapshot. Numeric ids belong to snapshots of droplets. */
const isID = (id: string): boolean => /^[0-9a-f-]{36}$/.test(id);

const creating = "POST /volumes";
const acting = "POST /volumes/{id}/actions";

export function digitalOceanVolumes(
  api: DigitalOceanApi,
  settings: Settings,
): Volumes<typeof volumeDriver.parameters> {
  const tag = tagOf(settings);
  const act = async (volume: ObservedVolume, change: object, call: Call) => {
    const request = requestTo(acting, { id: volume.id }, { ...change, ...volume.topology });
    const response = api.call<{ readonly action: ApiAction }>({ ...request, expects: ["action"] }, call);
    const { action } = await response;
    return outcomeOf(action, volume);
  };
  return {
    list: (call) => mapEntries(api.volumes(call), toObserved),
    get: async (id, call) => {
      const found = isID(id) ? await ifFound(api.volume(id, call)) : undefined;
      const volume = found && toObserved(found);
      if (volume === undefined || volume.attachedTo.length > 0) return volume;
      const actions = (await ifFound(collect(api.volumeActions(id, call)))) ?? [];
      const isChanging = actions.some(({ status }) => status === "in-progress");
      return isChanging ? { ...volume, state: "changing" } : volume;
    },
    create: async ({ name, size, topology, claim, source }, call) => {
      const region = topology?.["region"] ?? settings.region;
      const text = `No region is known for volume ${name}. Use volumeBindingMode: WaitForFirstConsumer in the StorageClass, or set REGION.`;
      if (region === undefined) throw new CloudError("invalid", text, { operation: creating });
      const description = claim && `PersistentVolumeClaim ${claim.namespace}/${claim.name}`;
      const place = { region, tags: tag === undefined ? undefined : [tag] };
      const body = { name, description, size_gigabytes: size / gibibyte, snapshot_id: source?.id, ...place };
      const request = { ...requestTo(creating, {}, body), expects: ["volume"] };
      const { volume } = await api.call<{ readonly volume: ApiVolume }>(request, call);
      return { ...done(), id: volume.id };
    },
    remove: ({ id }, call) => deleted(api.call(requestTo("DELETE /volumes/{id}", { id }), call)),
    attach: async (volume, machine, call) => {
      const missing = new CloudError("not-found", `Droplet ${machine} does not exist.`, {
        operation: acting,
      });
      if (!/^\d+$/.test(machine)) throw missing;
      if (tag !== undefined && !hasTag((volume as Observed).tags, tag))
        await applyTag(api, taggingRequest(tag, "volume", volume.id), call);
      try {
        return await act(volume, { type: "attach", droplet_id: Number(machine) }, call);
      } catch (error) {
        // The API does not say which of the two is missing.
        const isUnclear = CloudError.is(error) && ["not-found", "invalid"].includes(error.kind);
        if (isUnclear && (await ifFound(api.droplet(machine, call))) === undefined) throw missing;
        throw error;
      }
    },
    detach: (volume, machine, call) => act(volume, { type: "detach", droplet_id: Number(machine) }, call),
    expand: (volume, size, call) => act(volume, { type: "resize", size_gigabytes: size / gibibyte }, call),
    snapshots: digitalOceanSnapshots(api, tag),
  };
}

/** A snapshot is complete when the response to its creation arrives. */
function toSnapshot({
  id,
  name,
  resource_id,
  regions,
  min_disk_size,
  created_at,
}: ApiSnapshot): ObservedSnapshot {
  const [region] = regions;
  return {
    id,
    name,
    volumeID: resource_id,
    size: min_disk_size * gibibyte,
    state: "ready",
    createdAt: new Date(created_at),
    topology: region === undefined ? undefined : { region },
  };
}

function digitalOceanSnapshots(api: DigitalOceanApi, tag: string | undefined): Snapshots {
  return {
    list: (call) => mapEntries(api.snapshots(call), toSnapshot),
    get: async (id, call) => (isID(id) ? ifFound(api.snapshot(id, call).then(toSnapshot)) : undefined),
    create: async ({ name, volume }, call) => {
      const body = { name, tags: tag === undefined ? undefined : [tag] };
      const request = {
        ...requestTo("POST /volumes/{id}/snapshots", { id: volume.id }, body),
        expects: ["snapshot"],
      };
      const { snapshot } = await api.call<{ readonly snapshot: ApiSnapshot }>(request, call);
      return { ...done(), id: snapshot.id };
    },
    remove: ({ id }, call) => deleted(api.call(requestTo("DELETE /snapshots/{id}", { id }), call)),
  };
}
