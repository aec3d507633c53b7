// Decides whether the volume of a claim must be expanded, and the claim's status until then: the states and conditions of
// external-resizer. Pure.

import { bytesOf, quantityOf } from "../../core/quantity.ts";
import type { PersistentVolume, PersistentVolumeClaim } from "../../kube/objects.ts";
import type { Patch } from "../../kube/patches/patch.ts";
import { noNodeExpansionKey, preResizeKey } from "./names.ts";

type ClaimStatus = NonNullable<PersistentVolumeClaim["status"]>;
type ClaimCondition = NonNullable<ClaimStatus["conditions"]>[number];

const resizeConditions: readonly string[] = [
  "Resizing",
  "FileSystemResizePending",
  "ControllerResizeError",
  "NodeResizeError",
];

const sizeIn = (map: Readonly<Record<string, string>> | undefined): number | undefined =>
  map?.["storage"] === undefined ? undefined : bytesOf(map["storage"]);

/** The target size; undefined if there is nothing to do, or the kubelet must act next. */
export function sizeToExpandTo(
  { metadata, spec, status }: PersistentVolumeClaim,
  volume: PersistentVolume,
  driver: string,
): number | undefined {
  const requested = sizeIn(spec?.resources?.requests);
  const current = sizeIn(status?.capacity);
  const size = sizeIn(volume.spec?.capacity);
  const isBound = status?.phase === "Bound" && volume.spec?.claimRef?.uid === metadata.uid;
  if (!isBound || volume.spec?.csi?.driver !== driver) return undefined;
  if (requested === undefined || current === undefined || size === undefined || requested <= current)
    return undefined;
  const allocated = sizeIn(status?.allocatedResources);
  const state = status?.allocatedResourceStatuses?.["storage"] ?? "";
  const before = allocated ?? requested;
  switch (state) {
    case "NodeResizePending":
    case "NodeResizeInProgress":
      return size < requested && size < before ? before : undefined;
    case "NodeResizeInfeasible":
    case "ControllerResizeInProgress":
      return before;
    case "ControllerResizeInfeasible":
      return size < requested ? requested : before;
    default: {
      if (size < requested) return requested;
      if (allocated !== undefined) return allocated;
      const isPending = status?.conditions?.some(
        ({ type, status: value }) => type === "FileSystemResizePending" && value === "True",
      );
      return isPending === true ? undefined : requested;
    }
  }
}

/** `keepOthers`: keeps the other conditions of an expansion. */
function mergeConditions(
  before: readonly ClaimCondition[],
  next: readonly ClaimCondition[],
  keepOthers: boolean,
): readonly ClaimCondition[] {
  const kept = before.flatMap((one) => {
    const replaced = next.find(({ type }) => type === one.type);
    // An equal condition keeps its time.
    if (replaced !== undefined)
      return one.status === replaced.status && one.message === replaced.message ? one : replaced;
    return resizeConditions.includes(one.type) && !keepOthers ? [] : one;
  });
  return [...kept, ...next.filter(({ type }) => !before.some((one) => one.type === type))];
}

/** A status change that is rejected if the claim has changed; undefined if nothing changes. */
function claimPatch(
  { metadata, status }: PersistentVolumeClaim,
  changes: Partial<ClaimStatus>,
  expansionOnNode: "true" | null,
): Patch | undefined {
  const { uid, resourceVersion, annotations } = metadata;
  const isMarked = annotations?.[noNodeExpansionKey] !== undefined;
  const isSame =
    isMarked === (expansionOnNode !== null) &&
    Object.entries(changes).every(
      ([field, value]) => JSON.stringify(status?.[field as keyof ClaimStatus]) === JSON.stringify(value),
    );
  if (isSame) return undefined;
  return {
    contentType: "application/merge-patch+json",
    body: {
      metadata: { uid, resourceVersion, annotations: { [noNodeExpansionKey]: expansionOnNode } },
      status: changes,
    },
    subresource: "status",
  };
}

export function expandingPatch(claim: PersistentVolumeClaim, size: number, time: string): Patch | undefined {
  const { status } = claim;
  const isNew = sizeIn(status?.allocatedResources) !== size;
  const resizing = { type: "Resizing", status: "True", lastTransitionTime: time } as ClaimCondition;
  return claimPatch(
    claim,
    {
      conditions: mergeConditions(status?.conditions ?? [], [resizing], !isNew),
      allocatedResources: { ...status?.allocatedResources, storage: quantityOf(size) },
      ...(isNew && {
        allocatedResourceStatuses: {
          ...status?.allocatedResourceStatuses,
          storage: "ControllerResizeInProgress",
        },
      }),
    },
    null,
  );
}

export function expansionFailedPatch(
  claim: PersistentVolumeClaim,
  why: string,
  isInfeasible: boolean,
  time: string,
): Patch | undefined {
  const { status } = claim;
  const condition = {
    type: "ControllerResizeError",
    status: "True",
    lastTransitionTime: time,
    message: `failed to expand pvc with ${why}`,
  } as ClaimCondition;
  return claimPatch(
    claim,
    {
      conditions: mergeConditions(status?.conditions ?? [], [condition], true),
      ...(isInfeasible && {
        allocatedResourceStatuses: {
          ...status?.allocatedResourceStatuses,
          storage: "ControllerResizeInfeasible",
        },
      }),
    },
    null,
  );
}

/** The kubelet continues with the file system; a block volume is complete. */
export function expandedPatch(claim: PersistentVolumeClaim, size: number, time: string): Patch | undefined {
  const { status, spec } = claim;
  const before = status?.conditions ?? [];
  if (spec?.volumeMode === "Block") {
    const { storage: _, ...others } = status?.allocatedResourceStatuses ?? {};
    return claimPatch(
      claim,
      {
        capacity: { ...status?.capacity, storage: quantityOf(size) },
        conditions: mergeConditions(before, [], false),
        allocatedResourceStatuses: { ...others, storage: null } as unknown as Record<string, string>,
      },
      "true",
    );
  }
  const pending = {
    type: "FileSystemResizePending",
    status: "True",
    lastTransitionTime: time,
    message: "Waiting for user to (re-)start a pod to finish file system resize of volume on node.",
  } as ClaimCondition;
  return claimPatch(
    claim,
    {
      conditions: mergeConditions(before, [pending], true),
      allocatedResourceStatuses: { ...status?.allocatedResourceStatuses, storage: "NodeResizePending" },
    },
    null,
  );
}

/** The new capacity, and the former capacity until the file system has grown. */
export function capacityPatch(
  volume: PersistentVolume,
  claim: PersistentVolumeClaim,
  size: number,
): Patch | undefined {
  const { metadata, spec } = volume;
  const former = claim.status?.capacity?.["storage"];
  const isMarked = claim.spec?.volumeMode === "Block" || metadata.annotations?.[preResizeKey] !== undefined;
  if (sizeIn(spec?.capacity) === size) return undefined;
  return {
    contentType: "application/merge-patch+json",
    body: {
      metadata: {
        uid: metadata.uid,
        ...(!isMarked && former !== undefined && { annotations: { [preResizeKey]: former } }),
      },
      spec: { capacity: { storage: quantityOf(size) } },
    },
  };
}

/** The file system has grown: removes the former capacity. */
export function resizedPatch(volume: PersistentVolume, claim: PersistentVolumeClaim): Patch | undefined {
  const { metadata, spec } = volume;
  const isDone =
    (sizeIn(claim.status?.capacity) ?? 0) >= (sizeIn(spec?.capacity) ?? Number.POSITIVE_INFINITY);
  if (!isDone || metadata.annotations?.[preResizeKey] === undefined) return undefined;
  return {
    contentType: "application/merge-patch+json",
    body: { metadata: { uid: metadata.uid, annotations: { [preResizeKey]: null } } },
  };
}
