// EBS volumes and their snapshots, with the ids, names, tags and tokens of the CSI driver ebs.csi.aws.com, so that
// its PersistentVolumes remain usable.

import {
  type Call,
  CloudError,
  codeOf,
  collect,
  type DesiredVolume,
  deleted,
  done,
  ifFound,
  inProgress,
  mapEntries,
  type ObservedSnapshot,
  type ObservedVolume,
  type Snapshots,
  type Volumes,
} from "#ccm";
import type { Ec2Api, NewVolume, Tag } from "../api/ec2.ts";
import type { ApiSnapshot, ApiVolume } from "../api/resources.ts";
import { type Cluster, prefix } from "../cluster.ts";
import { instanceIDOf } from "../instances.ts";
import { tagIn, tagList } from "../load-balancers/balancer-names.ts";
import { isUsualZone } from "../load-balancers/subnets.ts";
import type { Settings } from "../settings.ts";
import type { Zones } from "../topology.ts";
import { driverName, gibibyte, placeholder, type VolumeParameters, zoneKey } from "./volume-driver.ts";

type Desired = DesiredVolume<VolumeParameters>;

const nameTag = "CSIVolumeName";
const snapshotTag = "CSIVolumeSnapshotName";
const ratioTag = `${driverName}/IOPSPerGb`;
const followsTag = `${driverName}/AllowAutoIOPSIncreaseOnModify`;

/** The framework expands the volume that `get` returned. */
interface Observed extends ObservedVolume {
  readonly found: ApiVolume;
}

/** EC2 shows a volume for some time after its deletion. */
const exists = ({ status }: ApiVolume): boolean => status !== "deleted";

function toObserved(found: ApiVolume): Observed {
  const { volumeId: id, size, availabilityZone, status, attachmentSet, tagSet } = found;
  const attached = (attachmentSet ?? []).filter((one) => one.status !== "detached");
  const isChanging =
    status === "creating" || status === "deleting" || attached.some((one) => one.status !== "attached");
  return {
    id,
    found,
    name: tagIn(tagSet, nameTag) ?? id,
    size: Number(size) * gibibyte,
    topology: { [zoneKey]: availabilityZone ?? "" },
    attachedTo: attached.flatMap(({ instanceId }) => instanceId ?? []),
    device: attached[0]?.device ?? "",
    state: status === "error" ? "failed" : isChanging ? "changing" : "ready",
  };
}

/** The smallest and the largest IOPS of a type, and the IOPS that each GiB allows. */
const iopsOfType: Readonly<
  Record<string, { readonly min: number; readonly max: number; readonly perGiB: number }>
> = {
  gp3: { min: 3000, max: 80_000, perGiB: 500 },
  io1: { min: 100, max: 64_000, perGiB: 50 },
  io2: { min: 100, max: 256_000, perGiB: 1000 },
};

/** Limits the IOPS to those that a volume of this size can have, as the Go driver does. */
function capped(type: string, size: number, wanted: number, isRaised: boolean): number {
  const limits = iopsOfType[type];
  if (limits === undefined) return wanted;
  const { min, max, perGiB } = limits;
  const raised = isRaised ? Math.max(min, wanted) : wanted;
  const ofSize = perGiB * size;
  return Math.min(raised, max, ofSize < min ? raised : ofSize);
}

function iopsOf(size: number, { type, iops, iopsPerGB, allowAutoIOPSPerGBIncrease }: Desired["parameters"]) {
  const wanted = iops ?? (iopsPerGB === undefined ? undefined : iopsPerGB * size);
  return wanted === undefined ? undefined : capped(type, size, wanted, allowAutoIOPSPerGBIncrease);
}

type Pairs = readonly (readonly [string, string])[];

/** The Go driver's tags with `--k8s-tag-cluster-id`, and the operator's tags. */
const clusterTags = (
  name: string,
  cluster: string,
  extra: ReadonlyMap<string, string> | undefined,
): Pairs => [
  [`${driverName}/cluster`, "true"],
  [prefix + cluster, "owned"],
  ["Name", `${cluster}-dynamic-${name}`],
  [`${driverName}/cluster-name`, cluster],
  ...(extra ?? []),
];

function tagsOf(
  { name, claim, parameters }: Desired,
  cluster: string,
  extra: ReadonlyMap<string, string> | undefined,
): readonly Tag[] {
  const { iopsPerGB, allowAutoIOPSIncreaseOnModify: follows, tagSpecification = new Map() } = parameters;
  const values = { PVCName: claim?.name, PVCNamespace: claim?.namespace, PVName: claim?.volume };
  const filled = (text: string) =>
    text.replaceAll(placeholder, (_, key: keyof typeof values) => values[key] ?? "");
  const ofClaim = "kubernetes.io/created-for/";
  const all: readonly (readonly [string, string | undefined])[] = [
    [nameTag, name],
    [`${ofClaim}pvc/name`, claim?.name],
    [`${ofClaim}pvc/namespace`, claim?.namespace],
    [`${ofClaim}pv/name`, claim?.volume],
    [ratioTag, iopsPerGB === undefined ? undefined : String(iopsPerGB)],
    [followsTag, follows === undefined ? undefined : String(follows)],
    ["KubernetesCluster", cluster],
    ...clusterTags(name, cluster, extra),
    ...[...tagSpecification].map(([key, value]) => [key, filled(value)] as const),
  ];
  return tagList(new Map(all.flatMap(([key, value]) => (value === undefined ? [] : [[key, value]]))));
}

const letters = [..."abcdefghijklmnopqrstuvwxyz"];
/** Device names in the Go driver's order: instances without NVMe can use only the first 52, which is more than they need. */
const deviceNames: readonly string[] = [
  ...["a", "b", "d"].flatMap((one) => letters.map((other) => `/dev/xvd${one}${other}`)).slice(0, 76),
  ...["xvd", "sd"].flatMap((name) => letters.slice(1).map((letter) => `/dev/${name}${letter}`)),
];
const usualNames = deviceNames.slice(0, 52);
/** EC2 does not show all names that are in use. */
const maxAttempts = 5;

/** A recently used name may fail to attach, so each volume begins at a different name. */
export function namesFor(id: string, taken: ReadonlySet<string>): readonly string[] {
  const first = Number.parseInt(id.slice(-6), 16) % usualNames.length;
  const all = [...usualNames.slice(first), ...usualNames.slice(0, first), ...deviceNames.slice(52)];
  return all.filter((name) => !taken.has(name)).slice(0, maxAttempts);
}

const isNameInUse = (error: unknown): boolean =>
  CloudError.is(error) &&
  codeOf(error) === "InvalidParameterValue" &&
  error.message.includes("already in use");

/** The changes that this process knows of. */
class OwnChanges {
  /** The ids of volumes that are being expanded, which volumes do not show. */
  readonly expanding = new Set<string>();
  readonly #usedTokens = new Map<string, number>();

  /** The token of the Go driver: after a volume that EC2 failed to create, the name is followed by -2, -3 and so on. */
  tokenFor(name: string): string {
    const used = this.#usedTokens.get(name) ?? 0;
    const text = used === 0 ? name : `${name}-${used + 1}`;
    return new Bun.CryptoHasher("sha256").update(text).digest("hex");
  }

  noteUsed(name: string): void {
    if (this.#usedTokens.size >= 1000) this.#usedTokens.clear();
    this.#usedTokens.set(name, (this.#usedTokens.get(name) ?? 0) + 1);
  }
}

/** The data of a `pending` snapshot is already fixed: later writes to the volume are not part of it. */
const snapshotStates: Readonly<Record<string, ObservedSnapshot["state"]>> = {
  pending: "uploading",
  completed: "ready",
  error: "failed",
};

function toSnapshot(found: ApiSnapshot): ObservedSnapshot {
  const { snapshotId: id, volumeId, volumeSize, startTime, status, tagSet } = found;
  return {
    id,
    name: tagIn(tagSet, snapshotTag) ?? id,
    size: Number(volumeSize) * gibibyte,
    // The volume id of a copied snapshot.
    volumeID: volumeId === "vol-ffffffff" ? "" : (volumeId ?? ""),
    createdAt: new Date(startTime ?? 0),
    state: snapshotStates[status ?? ""] ?? "uploading",
  };
}

function ebsSnapshots(ec2: Ec2Api, settings: Settings, cluster: Cluster): Snapshots {
  return {
    list: (call) => mapEntries(ec2.snapshotPages(call), toSnapshot),
    get: async (id, call) => {
      if (!/^snap-[0-9a-f]+$/.test(id)) return undefined;
      const [found] = (await ifFound(ec2.describeSnapshots({ SnapshotId: [id] }, call))) ?? [];
      return found && toSnapshot(found);
    },
    create: async ({ name, volume: { id } }, call) => {
      const { id: own } = await cluster.tag(call);
      const pairs: Pairs = [[snapshotTag, name], ...clusterTags(name, own, settings["volumes-extra-tags"])];
      const Description = `Created by AWS EBS CSI driver for volume ${id}`;
      const snapshot = { VolumeId: id, Description, tags: tagList(new Map(pairs)) };
      return { ...done(), id: await ec2.createSnapshot(snapshot, call) };
    },
    remove: ({ id }, call) => deleted(ec2.change("DeleteSnapshot", { SnapshotId: id }, call)),
  };
}

export function ebsVolumes(
  ec2: Ec2Api,
  settings: Settings,
  cluster: Cluster & { readonly zones: Zones },
): Volumes<VolumeParameters> {
  const own = new OwnChanges();
  const observed = (found: ApiVolume): Observed => {
    const volume = toObserved(found);
    return own.expanding.has(volume.id) ? { ...volume, state: "changing" } : volume;
  };
  const isExpanding = async (id: string, call: Call): Promise<boolean> => {
    const [last] = (await ifFound(ec2.describeVolumesModifications({ VolumeId: [id] }, call))) ?? [];
    return last?.modificationState === "modifying";
  };
  const zoneOf = async (topology: Desired["topology"], call: Call): Promise<string> => {
    const known = topology?.[zoneKey] ?? settings.zone;
    if (known !== undefined) return known;
    const zones = [...(await cluster.zones.with([], call)).values()].filter(isUsualZone);
    return zones.map(({ zoneName }) => zoneName).toSorted()[0] ?? "";
  };
  /** The device names in use. Throws if the instance does not exist. */
  const namesIn = async (machine: string, call: Call): Promise<ReadonlySet<string>> => {
    const Filter = [{ Name: "instance-id", Value: [machine] }];
    const isID = instanceIDOf(machine) === machine;
    const [found] = isID ? await collect(ec2.instancePages({ Filter }, call)) : [];
    if (found === undefined || found.instanceState?.name === "terminated")
      throw new CloudError("not-found", `Instance ${machine} does not exist.`, { operation: "AttachVolume" });
    return new Set(found.blockDeviceMapping?.flatMap(({ deviceName }) => deviceName ?? []));
  };
  return {
    list: async function* (call) {
      for await (const page of ec2.volumePages(call)) yield page.filter(exists).map(observed);
    },
    get: async (id, call) => {
      if (!/^vol-[0-9a-f]+$/.test(id)) return undefined;
      if (own.expanding.has(id) && !(await isExpanding(id, call))) own.expanding.delete(id);
      const [found] = (await ifFound(ec2.describeVolumes({ VolumeId: [id] }, call))) ?? [];
      return found && exists(found) ? observed(found) : undefined;
    },
    create: async (desired, call) => {
      const { name, parameters } = desired;
      const { type, iops, iopsPerGB, throughput, encrypted, kmsKeyId } = parameters;
      const both = "The StorageClass has iops and iopsPerGB. Create one with either of them.";
      if (iops !== undefined && iopsPerGB !== undefined)
        throw new CloudError("invalid", both, { operation: "CreateVolume" });
      const size = desired.size / gibibyte;
      const { id } = await cluster.tag(call);
      const volume: NewVolume = {
        ClientToken: own.tokenFor(name),
        AvailabilityZone: await zoneOf(desired.topology, call),
        SnapshotId: desired.source?.id,
        VolumeInitializationRate: desired.source && parameters.volumeInitializationRate,
        Size: size,
        VolumeType: type,
        Iops: iopsOf(size, parameters),
        Throughput: throughput,
        Encrypted: encrypted || kmsKeyId !== undefined,
        KmsKeyId: kmsKeyId,
        MultiAttachEnabled: false,
        tags: tagsOf(desired, id, settings["volumes-extra-tags"]),
      };
      try {
        return { ...inProgress(`volume ${name}`), id: await ec2.createVolume(volume, call) };
      } catch (error) {
        if (codeOf(error) === "IdempotentParameterMismatch") own.noteUsed(name);
        throw error;
      }
    },
    remove: ({ id, name }, call) =>
      deleted(ec2.change("DeleteVolume", { VolumeId: id }, call), () => inProgress(`volume ${name}`)),
    attach: async ({ id, name }, machine, call) => {
      const taken = await namesIn(machine, call);
      let refused: unknown = new CloudError("quota", `Instance ${machine} has no free device name.`, {
        operation: "AttachVolume",
      });
      for (const Device of namesFor(id, taken)) {
        try {
          await ec2.change("AttachVolume", { VolumeId: id, InstanceId: machine, Device }, call);
          return inProgress(`volume ${name}`);
        } catch (error) {
          if (!isNameInUse(error)) throw error;
          refused = error;
        }
      }
      throw refused;
    },
    detach: ({ id, name }, machine, call) => {
      const sent = ec2.change("DetachVolume", { VolumeId: id, InstanceId: machine }, call);
      return deleted(sent, () => inProgress(`volume ${name}`));
    },
    expand: async (volume, size, call) => {
      const { id, name, found } = volume as Observed;
      const ratio = Number(tagIn(found.tagSet, ratioTag) ?? 0);
      const follows = ratio > 0 && tagIn(found.tagSet, followsTag) === "true";
      const Size = size / gibibyte;
      const Iops = follows ? capped(found.volumeType ?? "", Size, ratio * Size, true) : undefined;
      await ec2.change("ModifyVolume", { VolumeId: id, Size, Iops }, call);
      own.expanding.add(id);
      return inProgress(`volume ${name}`);
    },
    snapshots: ebsSnapshots(ec2, settings, cluster),
  };
}
