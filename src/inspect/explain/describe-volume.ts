// Describes a claim or a PersistentVolume: whether there is a volume, where it is attached, and why something waits. Pure.

import { isPaused } from "../../controllers/pause.ts";
import { pausedAnnotation } from "../../controllers/well-known.ts";
import { defined } from "../../core/defined.ts";
import {
  type KubeObject,
  keyOf,
  type PersistentVolume,
  type PersistentVolumeClaim,
  type VolumeAttachment,
} from "../../kube/objects.ts";
import { provisionerKeys, selectedNodeKey } from "../../volumes/controller/names.ts";
import {
  type Describable,
  type Judgement,
  type KnownState,
  type ObjectNote,
  stateOf,
  summaryWith,
} from "./description.ts";

/** A claim or a PersistentVolume, and related objects. */
export type VolumeObjects = (
  | {
      readonly kind: "PersistentVolumeClaim";
      readonly claim: PersistentVolumeClaim;
      readonly volume: PersistentVolume | undefined;
    }
  | {
      readonly kind: "PersistentVolume";
      readonly claim: PersistentVolumeClaim | undefined;
      readonly volume: PersistentVolume;
    }
) & {
  /** Undefined if unknown here. */
  readonly attachments: readonly VolumeAttachment[] | undefined;
};

export interface KnownVolume extends KnownState {
  readonly objects: VolumeObjects;
  /** The name of Fairlead's CSI driver; undefined if unknown here. */
  readonly driver: string | undefined;
}

const objectOf = (objects: VolumeObjects): KubeObject =>
  objects.kind === "PersistentVolume" ? objects.volume : objects.claim;

/** The owner of the volume; undefined while it is unknown. */
function driverOf({ volume, claim }: VolumeObjects): string | undefined {
  const { annotations = {} } = claim?.metadata ?? {};
  const provisioner = provisionerKeys.map((key) => annotations[key]).find((value) => value !== undefined);
  return volume === undefined ? provisioner : (volume.spec?.csi?.driver ?? "another kind of volume");
}

function attachmentText({ spec, status, metadata }: VolumeAttachment): string {
  const state = metadata.deletionTimestamp !== undefined ? "being detached" : "being attached";
  const isDone = status?.attached === true && metadata.deletionTimestamp === undefined;
  return isDone ? spec.nodeName : `${spec.nodeName} (${state})`;
}

function whereText(attachments: VolumeObjects["attachments"]): string {
  if (attachments === undefined) return "unknown Nodes (only a running manager knows the attachments)";
  return attachments.length === 0 ? "no Node" : attachments.map(attachmentText).join(", ");
}

const isMoving = ({ metadata, status }: VolumeAttachment): boolean =>
  metadata.deletionTimestamp !== undefined || status?.attached !== true;

function judgeClaim(
  { metadata, status }: PersistentVolumeClaim,
  { volume, attachments }: VolumeObjects,
): Judgement {
  if (metadata.deletionTimestamp !== undefined)
    return { state: "working", summary: "It is being deleted, which waits until no pod uses it." };
  if (status?.phase === "Bound" && volume !== undefined)
    return {
      state: attachments?.some(isMoving) === true ? "working" : "settled",
      summary: `It has the volume ${volume.spec?.csi?.volumeHandle} (${volume.metadata.name}), attached to ${whereText(attachments)}.`,
    };
  const hasProvisioner = provisionerKeys.some((key) => metadata.annotations?.[key] !== undefined);
  if (volume === undefined && !hasProvisioner)
    return {
      state: "unmanaged",
      summary: `It is ${status?.phase ?? "new"}: kube-controller-manager has not asked for a volume. With volumeBindingMode WaitForFirstConsumer, it does when a pod uses the claim.`,
    };
  const selected = metadata.annotations?.[selectedNodeKey];
  const where = selected === undefined ? "" : ` for the Node ${selected}`;
  return {
    state: "working",
    summary: `It is ${status?.phase ?? "new"}. Its volume is being created${where}.`,
  };
}

const claimOf = ({ spec }: PersistentVolume): string | undefined =>
  spec?.claimRef && keyOf(defined({ name: spec.claimRef.name ?? "", namespace: spec.claimRef.namespace }));

function judgeVolume(volume: PersistentVolume, { attachments }: VolumeObjects): Judgement {
  const { phase = "new" } = volume.status ?? {};
  const policy = volume.spec?.persistentVolumeReclaimPolicy;
  const claim = claimOf(volume);
  const whose = claim === undefined ? "" : ` to ${claim}`;
  const text = `It is ${phase}${whose}, and its volume is attached to ${whereText(attachments)}.`;
  if (phase === "Released" && policy === "Delete")
    return { state: "working", summary: `Its claim is gone, and its volume is being deleted.` };
  if (phase === "Released")
    return { state: "settled", summary: `Its claim is gone. Its volume is kept (${policy}).` };
  return { state: attachments?.some(isMoving) === true ? "working" : "settled", summary: text };
}

function judge({ objects, driver }: KnownVolume, notes: readonly ObjectNote[]): Judgement {
  const actual = driverOf(objects);
  if (driver !== undefined && actual !== undefined && actual !== driver)
    return { state: "unmanaged", summary: `It belongs to ${actual}. Fairlead manages volumes of ${driver}.` };
  if (isPaused(objectOf(objects)))
    return { state: "paused", summary: `It is paused by ${pausedAnnotation}: nothing is changed for it.` };
  const own =
    objects.kind === "PersistentVolumeClaim"
      ? judgeClaim(objects.claim, objects)
      : judgeVolume(objects.volume, objects);
  const state = stateOf(notes);
  const [first] = notes;
  if (state === undefined || first === undefined) return own;
  return { state, ...summaryWith(own.state === "settled" ? `${own.summary} ` : "", first) };
}

export function volumeSubject(known: KnownVolume): Describable {
  const { objects, notes, nextAttemptInSeconds } = known;
  const { kind } = objects;
  return {
    kind,
    name: keyOf(objectOf(objects).metadata),
    notes,
    nextAttemptInSeconds,
    journalNames: partsOf(objects).flatMap(([part, object]) =>
      journalNames[part].map((prefix) => `${prefix}/${keyOf(object.metadata)}`),
    ),
    judge: (all) => judge(known, all),
    facts: () => factsOf(objects),
  };
}

function factsOf({ kind, claim, volume, attachments }: VolumeObjects): Readonly<Record<string, string>> {
  const isClaim = kind === "PersistentVolumeClaim";
  const status = isClaim ? claim?.status?.phase : volume?.status?.phase;
  const { storage: asked } = claim?.spec?.resources?.requests ?? {};
  const { storage: size } = (isClaim ? claim?.status?.capacity : volume?.spec?.capacity) ?? {};
  const has = size === undefined ? "none yet" : size;
  return defined({
    Status: status ?? "new",
    "Storage class": (isClaim ? claim?.spec?.storageClassName : volume?.spec?.storageClassName) || "none",
    Size: asked === undefined || asked === size ? has : `${has}, ${asked} requested`,
    ...(isClaim
      ? { PersistentVolume: volume?.metadata.name ?? "none yet" }
      : { Claim: (volume && claimOf(volume)) ?? "none" }),
    "Reclaim policy": volume?.spec?.persistentVolumeReclaimPolicy,
    Volume: volume?.spec?.csi?.volumeHandle ?? "none yet",
    "Attached to": whereText(attachments),
  });
}

const journalNames = {
  claim: ["persistentvolumeclaims"],
  volume: ["volume", "persistentvolumes"],
  attachment: ["volumeattachments"],
} as const;

/** The objects that an explanation of a volume covers. */
export function partsOf({
  claim,
  volume,
  attachments = [],
}: VolumeObjects): readonly (readonly [keyof typeof journalNames, KubeObject])[] {
  return [
    ...(claim === undefined ? [] : [["claim", claim] as const]),
    ...(volume === undefined ? [] : [["volume", volume] as const]),
    ...attachments.map((attachment) => ["attachment", attachment] as const),
  ];
}
