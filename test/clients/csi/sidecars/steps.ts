// Steps that the scenarios of the comparison with the sidecars share, and the conditions that end them.

import type { PersistentVolume, PersistentVolumeClaim } from "../../../../src/kube/objects.ts";
import { preResizeKey, selectedNodeKey } from "../../../../src/volumes/controller/names.ts";
import type { Step } from "../../../differential/rig/scenario.ts";
import type { Stage } from "./stage.ts";

type Act = Step<Stage>["act"];
export type Until = (stage: Stage) => boolean;

export const step = (what: string, act: Act, until?: Until): Step<Stage> =>
  until === undefined ? { what, act } : { what, act, until };

export const workers = ["node-1", "node-2", "node-3", "node-4"];
export const immediate = "fake";
export const late = "fake-late";
export const gibibytes = (count: number) => ({ resources: { requests: { storage: `${count}Gi` } } });

export const isBound = (name: string) => (stage: Stage) =>
  stage.claim(name)?.status?.phase === "Bound" && stage.volumeOf(name)?.status?.phase === "Bound";
export const isAttached =
  (name: string, isExpected = true) =>
  (stage: Stage) =>
    (stage.attachmentOf(name)?.status?.attached === true) === isExpected;
export const isDetached = (name: string) => (stage: Stage) => stage.attachmentOf(name) === undefined;
export const isGone = (name: string) => (stage: Stage) =>
  stage.claim(name) === undefined && stage.volumeOf(name) === undefined;
export const hasEvent = (claim: string, reason: string) => (stage: Stage) =>
  stage.seen.events.some((event) => event.involvedObject.name === claim && event.reason === reason);

export const claims = (name: string, storageClass = immediate, fields: object = {}): Step<Stage> =>
  step("a user creates a claim", (stage) => stage.createClaim(name, storageClass, fields), isBound(name));
/** The scheduler has selected a Node. */
export const claimsFor = (name: string, node: string, until: Until = isBound(name)): Step<Stage> =>
  step(
    `a user creates a claim, and the scheduler selects ${node}`,
    (stage) => stage.createClaim(name, late, {}, { [selectedNodeKey]: node }),
    until,
  );
export const runs = (name: string, isBlock = false): Step<Stage> =>
  step(
    "a pod uses it",
    (stage) => stage.createPod(name, stage.nodeFor(name), name, isBlock),
    isAttached(name),
  );
export const ends = (name: string): Step<Stage> =>
  step("the pod is deleted", (stage) => stage.deletePod(name), isDetached(name));
export const deletes = (name: string, until: Until = isGone(name)): Step<Stage> =>
  step("the claim is deleted", (stage) => stage.deleteClaim(name), until);
export const asks = (name: string, count: number, until: Until): Step<Stage> =>
  step(
    `the claim asks for ${count} GiB`,
    (stage) => stage.editClaim(name, { spec: gibibytes(count) }),
    until,
  );

export const hasCondition = (claim: PersistentVolumeClaim | undefined, type: string): boolean =>
  claim?.status?.conditions?.some((each) => each.type === type) === true;
export const isMarked = (volume: PersistentVolume | undefined): boolean =>
  volume?.metadata.annotations?.[preResizeKey] !== undefined;

/** The kubelet has expanded the file system. */
export const expandsFileSystem = (name: string, size: string): Step<Stage> =>
  step(
    "the kubelet expands the file system",
    (stage) =>
      stage.editClaim(
        name,
        { status: { capacity: { storage: size }, conditions: null, allocatedResourceStatuses: null } },
        "status",
      ),
    (stage) => !isMarked(stage.volumeOf(name)),
  );

/** Each scenario begins when the first one has prepared the cluster. */
export function prepareNothing(): Step<Stage> {
  return step("the cluster is prepared", () => undefined);
}
