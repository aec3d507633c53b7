// Operations of EBS volumes and snapshots. A change takes some time, during which the volume shows that it is in progress.

import { Refused } from "#ccm/testing";
import { listIn, recordIn, type SentParameters, tagsIn, textIn } from "../query.ts";
import { type Account, zones } from "../state/account.ts";
import type { Snapshot, Volume } from "../state/resources.ts";
import { known, pageOf, type QueryOperations, selected, tagSet } from "./operations.ts";

/** The attachments of an instance: its volumes, including its root volume, and its network interfaces. */
const placesOfInstance = 28;
/** The quota of the account, in GiB. */
const maxStorage = 50 * 1024;

const textOf = (parameters: SentParameters, name: string): string => textIn(parameters[name]) ?? "";

function view({ id, size, zone, type, iops, throughput, encrypted, state, attachments, tags }: Volume) {
  const attachmentSet = attachments.map(({ instance, device, state: status }) => ({
    volumeId: id,
    instanceId: instance,
    device,
    status,
  }));
  return {
    volumeId: id,
    size,
    availabilityZone: zone,
    volumeType: type,
    iops,
    throughput,
    encrypted,
    status: state,
    attachmentSet,
    tagSet: tagSet({ tags } as Volume),
  };
}

function create(account: Account, parameters: SentParameters) {
  const { volumes, snapshots, later, times, tokens } = account;
  const text = (name: string) => textIn(parameters[name]);
  const [size, zone, type] = [
    Number(text("Size")),
    textOf(parameters, "AvailabilityZone"),
    text("VolumeType"),
  ];
  if (!zones.some(({ name }) => name === zone))
    throw new Refused(400, `The zone '${zone}' does not exist.`, "InvalidZone.NotFound");
  const all = volumes.list();
  if (all.reduce((sum, one) => sum + one.size, size) > maxStorage)
    throw new Refused(400, "The maximum of gigabytes was exceeded.", "VolumeLimitExceeded");
  const source =
    text("SnapshotId") === undefined ? undefined : snapshots.withID(textOf(parameters, "SnapshotId"));
  if (source !== undefined && source.state !== "completed")
    throw new Refused(400, `Snapshot ${source.id} is in the '${source.state}' state`, "IncorrectState");
  if (source !== undefined && size < source.size)
    throw new Refused(400, `The size must be at least ${source.size}`, "InvalidParameterValue");
  const token = text("ClientToken") ?? "";
  const { Action: _, ...sent } = parameters;
  const written = JSON.stringify(sent);
  const former = tokens.get(token);
  if (former !== undefined && (former.written !== written || volumes.get(former.id) === undefined))
    throw new Refused(400, "Arguments on this idempotent request differ.", "IdempotentParameterMismatch");
  if (former !== undefined) return view(volumes.existing(former.id));
  const id = account.id("vol");
  tokens.set(token, { written, id });
  const tags = tagsIn(recordIn(listIn(parameters["TagSpecification"])[0])["Tag"]);
  const made = volumes.put({
    id,
    name: tags["CSIVolumeName"] ?? "",
    tags,
    size,
    zone,
    type: type ?? "gp2",
    attachments: [],
    iops: text("Iops"),
    throughput: text("Throughput"),
    encrypted: text("Encrypted") === "true",
    state: "creating",
    modification: undefined,
    data: source?.data ?? "",
  });
  later.add(times.change, () => volumes.change(id, { state: "available" }));
  return view(made);
}

function find({ volumes }: Account, parameters: SentParameters): Volume {
  return volumes.withID(textOf(parameters, "VolumeId"));
}

function attach(account: Account, parameters: SentParameters) {
  const { volumes, instances, later, times } = account;
  const { id, zone, state } = find(account, parameters);
  const instance = instances.withID(textOf(parameters, "InstanceId"));
  const device = textOf(parameters, "Device");
  if (state === "in-use") throw new Refused(400, `${id} is already attached to an instance`, "VolumeInUse");
  if (state !== "available") throw new Refused(400, `${id} is ${state}`, "IncorrectState");
  if (instance.zone !== zone)
    throw new Refused(400, `${id} is in another zone`, "InvalidVolume.ZoneMismatch");
  const others = volumes.list().flatMap(({ attachments }) => attachments);
  const there = others.filter((one) => one.instance === instance.id);
  if (
    device === account.rootDevice ||
    account.hiddenDevices.has(device) ||
    there.some((one) => one.device === device)
  )
    throw new Refused(400, `Attachment point ${device} is already in use`, "InvalidParameterValue");
  if (there.length + instance.interfaces.length + 1 >= placesOfInstance)
    throw new Refused(400, `${instance.id} has no place for ${id}`, "AttachmentLimitExceeded");
  const attachment = { instance: instance.id, device };
  volumes.change(id, { state: "in-use", attachments: [{ ...attachment, state: "attaching" }] });
  later.add(times.change, () => volumes.change(id, { attachments: [{ ...attachment, state: "attached" }] }));
  return { volumeId: id, instanceId: instance.id, device, status: "attaching" };
}

function detach(account: Account, parameters: SentParameters) {
  const { volumes, later, times } = account;
  const { id, state, attachments } = find(account, parameters);
  if (state !== "in-use") throw new Refused(400, `${id} is ${state}`, "IncorrectState");
  const instance = textOf(parameters, "InstanceId");
  if (!attachments.some((one) => one.instance === instance))
    throw new Refused(400, `${id} is not attached to ${instance}`, "InvalidAttachment.NotFound");
  volumes.change(id, { attachments: attachments.map((one) => ({ ...one, state: "detaching" })) });
  later.add(times.change, () => volumes.change(id, { state: "available", attachments: [] }));
  return { volumeId: id, instanceId: instance, status: "detaching" };
}

function remove(account: Account, parameters: SentParameters): undefined {
  const { volumes, later, times } = account;
  const { id, state } = find(account, parameters);
  if (state === "in-use") throw new Refused(400, `${id} is attached`, "VolumeInUse");
  if (state !== "available") throw new Refused(400, `${id} is ${state}`, "IncorrectState");
  volumes.change(id, { state: "deleting" });
  later.add(times.change, () => volumes.remove(id));
  return undefined;
}

function modify(account: Account, parameters: SentParameters) {
  const { volumes, later, times } = account;
  const { id, size: former, modification, iops } = find(account, parameters);
  const size = Number(textIn(parameters["Size"]) ?? former);
  if (modification !== undefined && modification !== "completed")
    throw new Refused(400, `${id} is ${modification}`, "IncorrectModificationState");
  if (size < former) throw new Refused(400, "New size cannot be smaller", "InvalidParameterValue");
  volumes.change(id, { modification: "modifying" });
  later.add(times.change, () => {
    volumes.change(id, { size, modification: "optimizing", iops: textIn(parameters["Iops"]) ?? iops });
    later.add(times.change, () => volumes.change(id, { modification: "completed" }));
  });
  return { volumeModification: { volumeId: id, modificationState: "modifying", targetSize: size } };
}

function snapshotView({ id, volume, size, startedAt, state, tags }: Snapshot) {
  return {
    snapshotId: id,
    volumeId: volume,
    volumeSize: size,
    startTime: startedAt,
    status: state,
    tagSet: tagSet({ tags } as Snapshot),
  };
}

/** The data of a snapshot is final when the request is answered; volumes can be created from it later. */
function createSnapshot(account: Account, parameters: SentParameters) {
  const { snapshots, later, times, ids } = account;
  const { id: volume, size, data } = find(account, parameters);
  const tags = tagsIn(recordIn(listIn(parameters["TagSpecification"])[0])["Tag"]);
  const id = account.id("snap");
  const named = { id, tags, name: tags["CSIVolumeSnapshotName"] ?? "" };
  const made = snapshots.put({ ...named, volume, size, data, startedAt: ids.now, state: "pending" });
  later.add(times.change, () => {
    if (snapshots.get(id) !== undefined) snapshots.change(id, { state: "completed" });
  });
  return snapshotView(made);
}

export function volumeOperations(account: Account): QueryOperations {
  const { volumes, snapshots } = account;
  return {
    "ec2:DescribeSnapshots": (parameters) => {
      const all = selected(known(snapshots), parameters, "SnapshotId", () => ({}));
      const { entries, nextToken } = pageOf(all, parameters, "SnapshotId");
      return { snapshotSet: entries.map(snapshotView), nextToken };
    },
    "ec2:CreateSnapshot": (parameters) => createSnapshot(account, parameters),
    "ec2:DeleteSnapshot": (parameters) => {
      snapshots.remove(snapshots.withID(textOf(parameters, "SnapshotId")).id);
      return undefined;
    },
    "ec2:DescribeVolumes": (parameters) => {
      const all = selected(known(volumes), parameters, "VolumeId", (one) => ({
        "volume-id": [one.id],
        "attachment.instance-id": one.attachments.map(({ instance }) => instance),
      }));
      const { entries, nextToken } = pageOf(all, parameters, "VolumeId");
      return { volumeSet: entries.map(view), nextToken };
    },
    "ec2:DescribeVolumesModifications": (parameters) => {
      const all = selected(known(volumes), parameters, "VolumeId", () => ({}));
      const volumeModificationSet = all.flatMap(({ id, modification }) =>
        modification === undefined ? [] : [{ volumeId: id, modificationState: modification }],
      );
      if (volumeModificationSet.length === 0)
        throw new Refused(400, "There is no modification", "InvalidVolumeModification.NotFound");
      return { volumeModificationSet };
    },
    "ec2:CreateVolume": (parameters) => create(account, parameters),
    "ec2:DeleteVolume": (parameters) => remove(account, parameters),
    "ec2:AttachVolume": (parameters) => attach(account, parameters),
    "ec2:DetachVolume": (parameters) => detach(account, parameters),
    "ec2:ModifyVolume": (parameters) => modify(account, parameters),
  };
}
