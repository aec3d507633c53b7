// Decides what a VolumeSnapshot and its VolumeSnapshotContent need next, and their status: the rules of the
// snapshot-controller and of csi-snapshotter, with their messages. Pure.

import type { Problem } from "../../core/problem.ts";
import { quantityOf } from "../../core/quantity.ts";
import type { PersistentVolume, PersistentVolumeClaim } from "../../kube/objects.ts";
import type {
  VolumeSnapshot,
  VolumeSnapshotClass,
  VolumeSnapshotContent,
} from "../../kube/volume-snapshots.ts";
import type { ObservedSnapshot } from "../../provider/volumes.ts";
import {
  beingCreatedKey,
  beingDeletedKey,
  defaultSnapshotClassKey,
  groupHandleKey,
  snapshotGroup,
} from "./names.ts";

export const contentNameOf = ({ metadata: { uid } }: VolumeSnapshot): string => `snapcontent-${uid}`;
export const snapshotNameOf = ({ spec }: VolumeSnapshotContent): string =>
  `snapshot-${spec.volumeSnapshotRef.uid}`;

export const handleOf = ({ spec, status }: VolumeSnapshotContent): string | undefined =>
  status?.snapshotHandle ?? spec.source.snapshotHandle;

/** The snapshot-controller and the group part of csi-snapshotter manage these. */
export const isInGroup = ({ metadata, status }: VolumeSnapshotContent): boolean =>
  metadata.annotations?.[groupHandleKey] !== undefined || status?.volumeGroupSnapshotHandle !== undefined;

/** Whether each refers to the other. */
export function isBoundTo({ spec }: VolumeSnapshotContent, { metadata }: VolumeSnapshot): boolean {
  const { name, namespace, uid } = spec.volumeSnapshotRef;
  return name === metadata.name && namespace === metadata.namespace && uid === metadata.uid;
}

export type ContentPlan = "create" | "check" | "delete" | "release" | "none";

/** `release`: the snapshot in the cloud is retained, or was never created. */
export function planContent(content: VolumeSnapshotContent): ContentPlan {
  const { metadata, spec, status } = content;
  const { annotations = {} } = metadata;
  const isAnnounced =
    annotations[beingDeletedKey] !== undefined && annotations[beingCreatedKey] === undefined;
  const isUnbound = spec.source.snapshotHandle !== undefined && (spec.volumeSnapshotRef.uid ?? "") === "";
  if (metadata.deletionTimestamp !== undefined && (isAnnounced || isUnbound))
    return spec.deletionPolicy === "Delete" && status?.snapshotHandle !== undefined ? "delete" : "release";
  if (status?.readyToUse === true) return "none";
  return handleOf(content) === undefined ? "create" : "check";
}

/** Undefined if the status is already correct. */
export function contentStatus(
  { status = {} }: VolumeSnapshotContent,
  { id, size, createdAt, state }: ObservedSnapshot,
): object | undefined {
  const isReady = state === "ready";
  const next = {
    snapshotHandle: status.snapshotHandle ?? id,
    creationTime: status.creationTime ?? createdAt.getTime() * 1_000_000,
    restoreSize: status.restoreSize ?? size,
    readyToUse: isReady,
  };
  const isSame = Object.entries(next).every(([key, value]) => status[key as keyof typeof next] === value);
  return isSame ? undefined : { ...next, ...(isReady && status.error !== undefined && { error: null }) };
}

/** `metav1.Time`: whole seconds. */
const timeOf = (nanoseconds: number): string =>
  new Date(nanoseconds / 1_000_000).toISOString().replace(/\.\d+/, "");

/** The fields that a VolumeSnapshot's status takes from its VolumeSnapshotContent. Undefined if it already has them. */
export function snapshotStatus(
  { status = {} }: VolumeSnapshot,
  { metadata, status: from = {} }: VolumeSnapshotContent,
): VolumeSnapshot["status"] | undefined {
  const { creationTime, restoreSize, readyToUse = false, error } = from;
  const next = {
    boundVolumeSnapshotContentName: status.boundVolumeSnapshotContentName ?? metadata.name,
    creationTime: status.creationTime ?? (creationTime && timeOf(creationTime)),
    restoreSize: status.restoreSize ?? (restoreSize === undefined ? undefined : quantityOf(restoreSize)),
    readyToUse,
    error: readyToUse ? undefined : error,
  };
  const isSame = Object.entries(next).every(
    ([key, value]) => JSON.stringify(status[key as keyof typeof next]) === JSON.stringify(value),
  );
  return isSame ? undefined : (next as VolumeSnapshot["status"]);
}

/** The source of a VolumeSnapshot. */
export interface SnapshotFacts {
  readonly classes: readonly VolumeSnapshotClass[];
  readonly claim: PersistentVolumeClaim | undefined;
  readonly volume: PersistentVolume | undefined;
  /** Whether the cloud has snapshots. */
  readonly hasSnapshots: boolean;
}

const failed = (why: string): Problem => ({
  severity: "error",
  reason: "SnapshotContentCreationFailed",
  text: `Failed to create snapshot content with error ${why}`,
});

/** The class of the VolumeSnapshot, or its driver's default class. */
export function classFor(
  { spec }: VolumeSnapshot,
  { classes, volume }: SnapshotFacts,
): VolumeSnapshotClass | Problem {
  const name = spec.volumeSnapshotClassName;
  if (name !== undefined) {
    const found = classes.find(({ metadata }) => metadata.name === name);
    const text = `Failed to get snapshot class with error volumesnapshotclass.${snapshotGroup} "${name}" not found. No snapshot is created until it exists.`;
    return found ?? { severity: "error", reason: "GetSnapshotClassFailed", text };
  }
  const isDefault = ({ metadata, driver }: VolumeSnapshotClass): boolean =>
    metadata.annotations?.[defaultSnapshotClassKey] === "true" && driver === volume?.spec?.csi?.driver;
  const [only, ...others] = classes.filter(isDefault);
  if (only !== undefined && others.length === 0) return only;
  const why =
    only === undefined
      ? "cannot find default snapshot class"
      : `${others.length + 1} default snapshot classes were found`;
  const text = `Failed to set default snapshot class with error ${why}. Set spec.volumeSnapshotClassName in a new VolumeSnapshot, or the annotation ${defaultSnapshotClassKey} on one VolumeSnapshotClass.`;
  return { severity: "error", reason: "SetDefaultSnapshotClassFailed", text };
}

/** Why no snapshot can be created of this claim; undefined if it can. */
export function refusedSource(
  { spec, metadata }: VolumeSnapshot,
  { claim, volume, hasSnapshots }: SnapshotFacts,
  { driver, metadata: { name: className }, parameters = {} }: VolumeSnapshotClass,
): Problem | undefined {
  const name = spec.source.persistentVolumeClaimName ?? "";
  const of = volume?.spec?.claimRef;
  const secret = Object.keys(parameters).find((key) => /secret-?name/i.test(key));
  if (!hasSnapshots)
    return failed(
      `volumes of ${driver} have no snapshots: the cloud cannot create them. Delete the VolumeSnapshot.`,
    );
  if (claim === undefined) return failed(`the PVC ${metadata.namespace}/${name} does not exist`);
  if (claim.metadata.deletionTimestamp !== undefined)
    return failed(`cannot add finalizer on claim ${name} because it is being deleted`);
  if (claim.status?.phase !== "Bound" || volume === undefined)
    return failed(`the PVC ${name} is not yet bound to a PV, will not attempt to take a snapshot`);
  if (of?.name !== name || of.namespace !== metadata.namespace || of.uid !== claim.metadata.uid)
    return failed(`the PV ${volume.metadata.name} is not bound to the PVC ${name}`);
  if (volume.spec?.csi?.driver !== driver)
    return failed(
      `the PV ${volume.metadata.name} is not a volume of ${driver}, the driver of the class ${className}`,
    );
  if (secret === undefined) return undefined;
  return failed(`the class ${className} has the parameter ${secret}: secrets are not supported`);
}

/** Why a VolumeSnapshotContent does not belong to the VolumeSnapshot; undefined if it does, or can be bound to it. */
export function misbound(
  snapshot: VolumeSnapshot,
  { metadata: { name }, spec }: VolumeSnapshotContent,
): Problem | undefined {
  const isPrepared = snapshot.spec.source.volumeSnapshotContentName !== undefined;
  if (isPrepared !== (spec.source.snapshotHandle !== undefined))
    return {
      severity: "error",
      reason: "SnapshotContentMismatch",
      text: isPrepared
        ? "VolumeSnapshotContent is dynamically provisioned while expecting a pre-provisioned one"
        : `VolumeSnapshotContent ${name} is pre-provisioned while expecting a dynamically provisioned one`,
    };
  const { name: of, namespace, uid = "" } = spec.volumeSnapshotRef;
  const { metadata } = snapshot;
  const isOther = uid !== metadata.uid && (uid !== "" || !isPrepared);
  if (of === metadata.name && namespace === metadata.namespace && !isOther) return undefined;
  const text = `VolumeSnapshotContent [${name}] is bound to a different snapshot`;
  return { severity: "error", reason: "SnapshotContentMisbound", text };
}
