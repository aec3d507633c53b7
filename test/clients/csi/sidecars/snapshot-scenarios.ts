// What users and the cloud do with snapshots, with the rows of docs/volumes.md that explain the differences.

import { selectedNodeKey } from "../../../../src/volumes/controller/names.ts";
import type { Batch, Explained, Step } from "../../../differential/rig/scenario.ts";
import type { SnapshotDraft } from "./snapshots.ts";
import type { Stage } from "./stage.ts";
import { claims, deletes, hasEvent, isBound, isGone, late, prepareNothing, step } from "./steps.ts";

const apiGroup = "snapshot.storage.k8s.io";
/** The volume scenarios create the StorageClasses, and `snap` creates this class. */
const snapshotClass = "fake";

const isReady = (name: string) => (stage: Stage) =>
  stage.snapshots.find(name)?.status?.readyToUse === true &&
  stage.snapshots.contentOf(name)?.status?.readyToUse === true;
const hasError = (name: string) => (stage: Stage) =>
  stage.snapshots.find(name)?.status?.error?.message !== undefined;
const isDeleted = (name: string) => (stage: Stage) =>
  stage.snapshots.find(name) === undefined && stage.snapshots.contentOf(name) === undefined;

const snapshots = (name: string, draft: SnapshotDraft = {}, until = isReady(name)): Step<Stage> =>
  step(
    "a user creates a VolumeSnapshot",
    (stage) => stage.snapshots.create(name, { class: snapshotClass, ...draft }),
    until,
  );
const removes = (name: string, until = isDeleted(name)): Step<Stage> =>
  step("the VolumeSnapshot is deleted", (stage) => stage.snapshots.delete(name), until);
const restores = (name: string, dataSource: object, until = isBound(name), size = "2Gi"): Step<Stage> =>
  step(
    "a user creates a claim from it",
    (stage) => stage.createClaim(name, "fake", { dataSource, resources: { requests: { storage: size } } }),
    until,
  );
const fromSnapshot = (name: string) => ({ apiGroup, kind: "VolumeSnapshot", name });

const withClass = (name: string): Step<Stage> =>
  step(
    "a user creates a claim, and there are VolumeSnapshotClasses",
    async (stage) => {
      await stage.snapshots.createClass(snapshotClass);
      await stage.snapshots.createClass("fake-retain", "Retain");
      await stage.createClaim(name, "fake");
    },
    isBound(name),
  );

/** In the cloud, by hand. */
const removeInCloud = (stage: Stage, name: string): void => {
  const handle = stage.snapshots.contentOf(name)?.status?.snapshotHandle;
  if (handle !== undefined) stage.cloud.snapshots.remove(handle);
};

/** The snapshot-controller repeats a deletion that lost a race against csi-snapshotter. */
const lostRace = (name: string): Explained => ({
  at: `VolumeSnapshot ${name}: event Warning SnapshotContentObjectDeleteError`,
  row: "V11",
  isSometimes: true,
});

export const snapshotScenarios: Batch<Stage> = [
  {
    name: "snap-life",
    title: "creates a snapshot, restores a claim from it and deletes it",
    explained: [lostRace("snap-life")],
    steps: [
      prepareNothing(),
      withClass("snap-life"),
      snapshots("snap-life"),
      restores("snap-life-restored", fromSnapshot("snap-life")),
      removes("snap-life"),
      deletes("snap-life"),
      deletes("snap-life-restored"),
    ],
  },
  {
    name: "snap-kept",
    title: "keeps a snapshot with the policy Retain",
    explained: [lostRace("snap-kept")],
    steps: [
      prepareNothing(),
      claims("snap-kept"),
      snapshots("snap-kept", { class: "fake-retain" }),
      removes("snap-kept", (stage) => stage.snapshots.find("snap-kept") === undefined),
      step(
        "the VolumeSnapshotContent is deleted",
        (stage) => stage.snapshots.deleteContent(stage.snapshots.contentOf("snap-kept")?.metadata.name ?? ""),
        isDeleted("snap-kept"),
      ),
    ],
  },
  {
    name: "snap-missing",
    title: "creates a snapshot when its VolumeSnapshotClass is created",
    explained: [
      { at: "VolumeSnapshot snap-missing: error", row: "V8" },
      { at: "VolumeSnapshot snap-missing: event Warning GetSnapshotClassFailed", row: "V8" },
      { at: "VolumeSnapshot snap-missing: finalizers", row: "V10" },
      { at: "VolumeSnapshot snap-missing: readyToUse", row: "V10" },
    ],
    steps: [
      prepareNothing(),
      claims("snap-missing"),
      snapshots("snap-missing", { class: "snap-missing" }, hasError("snap-missing")),
      step(
        "the VolumeSnapshotClass is created",
        (stage) => stage.snapshots.createClass("snap-missing"),
        isReady("snap-missing"),
      ),
    ],
  },
  {
    name: "snap-early",
    title: "creates a snapshot when its claim is bound",
    explained: [
      { at: "VolumeSnapshot snap-early: error", row: "V8" },
      { at: "VolumeSnapshot snap-early: event Warning SnapshotContentCreationFailed", row: "V8" },
      { at: "PersistentVolumeClaim snap-early: finalizers", row: "V9" },
    ],
    steps: [
      prepareNothing(),
      step("a user creates a claim", (stage) => stage.createClaim("snap-early", late)),
      snapshots("snap-early", {}, hasError("snap-early")),
      step(
        "the scheduler selects a Node",
        (stage) =>
          stage.editClaim("snap-early", { metadata: { annotations: { [selectedNodeKey]: "node-2" } } }),
        isReady("snap-early"),
      ),
    ],
  },
  {
    name: "snap-none",
    title: "rejects a snapshot of a claim that does not exist, until the snapshot is deleted",
    explained: [
      { at: "VolumeSnapshot snap-none: error", row: "V8" },
      { at: "VolumeSnapshot snap-none: event Warning SnapshotContentCreationFailed", row: "V8" },
      lostRace("snap-none"),
    ],
    steps: [prepareNothing(), snapshots("snap-none", {}, hasError("snap-none")), removes("snap-none")],
  },
  {
    name: "snap-static",
    title: "binds and deletes a snapshot that a user created in the cloud",
    explained: [lostRace("snap-static")],
    steps: [
      prepareNothing(),
      claims("snap-static"),
      step(
        "a user makes a snapshot in the cloud, and objects for it",
        async (stage) => {
          const volume = stage.volumeOf("snap-static")?.spec?.csi?.volumeHandle ?? "";
          const { id } = stage.cloud.snapshots.create({ name: "snap-static", volume });
          await stage.snapshots.createContent("snap-static-content", "snap-static", id);
          await stage.snapshots.create("snap-static", { content: "snap-static-content" });
        },
        isReady("snap-static"),
      ),
      removes("snap-static"),
    ],
  },
  {
    name: "snap-clone",
    title: "creates a claim from another claim",
    explained: [{ at: "PersistentVolumeClaim snap-clone: finalizers", row: "V9", isSometimes: true }],
    steps: [
      prepareNothing(),
      claims("snap-clone"),
      restores("snap-clone-second", { kind: "PersistentVolumeClaim", name: "snap-clone" }),
      deletes("snap-clone"),
      deletes("snap-clone-second"),
    ],
  },
  {
    name: "snap-gone",
    title: "deletes the VolumeSnapshot of a snapshot that a user deleted in the cloud",
    explained: [lostRace("snap-gone")],
    steps: [
      prepareNothing(),
      claims("snap-gone"),
      snapshots("snap-gone"),
      step("the snapshot is deleted in the cloud", (stage) => removeInCloud(stage, "snap-gone")),
      removes("snap-gone"),
    ],
  },
  {
    name: "snap-last",
    title: "keeps a snapshot when its claim is deleted",
    explained: [lostRace("snap-last")],
    steps: [
      prepareNothing(),
      claims("snap-last"),
      snapshots("snap-last"),
      deletes("snap-last"),
      restores("snap-last-restored", fromSnapshot("snap-last")),
      removes("snap-last"),
    ],
  },
  {
    name: "snap-small",
    title: "rejects a claim that is smaller than its snapshot",
    explained: [
      { at: "PersistentVolumeClaim snap-small-restored: event Warning ProvisioningFailed", row: "V8" },
    ],
    steps: [
      prepareNothing(),
      claims("snap-small"),
      snapshots("snap-small"),
      restores(
        "snap-small-restored",
        fromSnapshot("snap-small"),
        hasEvent("snap-small-restored", "ProvisioningFailed"),
        "1Gi",
      ),
      deletes("snap-small-restored", isGone("snap-small-restored")),
    ],
  },
  {
    name: "snap-empty",
    title: "rejects a claim from a snapshot that does not exist",
    explained: [
      { at: "PersistentVolumeClaim snap-empty-restored: event Normal Provisioning", row: "V3" },
      { at: "PersistentVolumeClaim snap-empty-restored: event Warning ProvisioningFailed", row: "V8" },
    ],
    steps: [
      prepareNothing(),
      restores(
        "snap-empty-restored",
        fromSnapshot("snap-empty"),
        hasEvent("snap-empty-restored", "ProvisioningFailed"),
      ),
      deletes("snap-empty-restored", isGone("snap-empty-restored")),
    ],
  },
];
