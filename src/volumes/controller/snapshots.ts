// VolumeSnapshots: creates and binds their VolumeSnapshotContents, like the snapshot-controller, for the volumes of this driver.

import { isPaused } from "../../controllers/pause.ts";
import { minutes } from "../../core/brand.ts";
import type { Problem } from "../../core/problem.ts";
import { undefinedIf } from "../../kube/errors/kube-error.ts";
import { keyOf, type PersistentVolume, type PersistentVolumeClaim, toTime } from "../../kube/objects.ts";
import { finalizerPatch } from "../../kube/patches/finalizer-patch.ts";
import { apiVersionOf, persistentVolumeClaims } from "../../kube/resources.ts";
import {
  type VolumeSnapshot,
  type VolumeSnapshotClass,
  type VolumeSnapshotContent,
  volumeSnapshotContents,
  volumeSnapshots,
} from "../../kube/volume-snapshots.ts";
import { type Outcome, requeue, settled } from "../../runtime/workers.ts";
import type { SnapshotStores } from "./history.ts";
import {
  beingDeletedKey,
  boundFinalizer,
  claimFinalizer,
  contentFinalizer,
  snapshotGroup,
  sourceFinalizer,
} from "./names.ts";
import { keyFor, type ObjectRef, objectIn } from "./object-ref.ts";
import {
  classFor,
  contentNameOf,
  isBoundTo,
  isInGroup,
  misbound,
  refusedSource,
  snapshotStatus,
} from "./plan-snapshot.ts";
import type { FieldChanges, VolumeActions } from "./volume-actions.ts";

const kind = "VolumeSnapshot";
/** A change of a dependency is usually noticed immediately. */
const recheckAfter = minutes(1);

const isReady = ({ status }: VolumeSnapshot): boolean => status?.readyToUse === true;
/** Whether the snapshot has data. Another snapshot of the volume would have different data. */
const isTaken = ({ status }: VolumeSnapshot): boolean =>
  status?.readyToUse === true || status?.creationTime !== undefined;
const contentMissing: Problem = {
  severity: "error",
  reason: "SnapshotContentMissing",
  text: "VolumeSnapshotContent is missing",
};

export class Snapshots {
  readonly #actions: VolumeActions;
  readonly #stores: SnapshotStores;
  /** Set while a snapshot-controller runs, which does this work. */
  isYielding = true;

  constructor(actions: VolumeActions, stores: SnapshotStores) {
    this.#actions = actions;
    this.#stores = stores;
  }

  async reconcile(ref: ObjectRef, signal: AbortSignal): Promise<Outcome> {
    const snapshot = objectIn(this.#stores.snapshots, ref);
    if (snapshot === undefined) this.#actions.forget(kind, ref);
    const isLeft = snapshot?.status?.volumeGroupSnapshotName !== undefined;
    if (snapshot === undefined || this.isYielding || isPaused(snapshot) || isLeft) return settled;
    const content = this.#contentOf(snapshot);
    const isLeaving = snapshot.metadata.deletionTimestamp !== undefined;
    const driver = this.#driverOf(snapshot, content);
    // A VolumeSnapshot that belongs to no driver refers to a missing object. That is reported, and the VolumeSnapshot can be
    // deleted freely.
    const isOwn = driver === this.#actions.deps.driver.name;
    if ((!isOwn && driver !== undefined) || (content !== undefined && isInGroup(content))) return settled;
    if (isLeaving) return this.#delete(snapshot, signal);
    if (isOwn) await this.#setFinalizer(snapshot, sourceFinalizer, "present", signal);
    const problem = await this.#bind(snapshot, content, signal);
    if (problem === undefined) {
      this.#actions.report(kind, snapshot, "snapshot", []);
      return settled;
    }
    await this.#reportProblem(snapshot, problem, signal);
    return requeue(recheckAfter, problem.text);
  }

  #nameOfContent({ status, spec, ...snapshot }: VolumeSnapshot): string {
    const { volumeSnapshotContentName } = spec.source;
    return (
      status?.boundVolumeSnapshotContentName ??
      volumeSnapshotContentName ??
      contentNameOf({ ...snapshot, spec })
    );
  }

  #contentOf(snapshot: VolumeSnapshot): VolumeSnapshotContent | undefined {
    return this.#stores.contents.get(this.#nameOfContent(snapshot));
  }

  #factsOf({ metadata: { namespace = "" }, spec }: VolumeSnapshot) {
    const { stores, driver } = this.#actions.deps;
    const hasSnapshots = driver.sources?.includes("snapshot") === true;
    const name = spec.source.persistentVolumeClaimName ?? "";
    const claim = stores.claims.get(keyOf({ namespace, name }));
    const volume = stores.volumes.get(claim?.spec?.volumeName ?? "");
    return { classes: this.#stores.classes.list(), claim, volume, hasSnapshots };
  }

  #driverOf(snapshot: VolumeSnapshot, content: VolumeSnapshotContent | undefined): string | undefined {
    const { classes, volume } = this.#factsOf(snapshot);
    const of = classes.find(({ metadata }) => metadata.name === snapshot.spec.volumeSnapshotClassName);
    return content?.spec.driver ?? of?.driver ?? volume?.spec?.csi?.driver;
  }

  /** Returns the problem, if any. */
  async #bind(
    snapshot: VolumeSnapshot,
    content: VolumeSnapshotContent | undefined,
    signal: AbortSignal,
  ): Promise<Problem | undefined> {
    const { status, spec } = snapshot;
    if (content === undefined)
      return isTaken(snapshot) || spec.source.volumeSnapshotContentName !== undefined
        ? contentMissing
        : this.#create(snapshot, signal);
    const wrong = misbound(snapshot, content);
    if (wrong !== undefined) return wrong;
    await this.#adopt(snapshot, content, signal);
    const isBound = status?.boundVolumeSnapshotContentName !== undefined;
    if (isBound && content.spec.deletionPolicy === "Delete")
      await this.#setFinalizer(snapshot, boundFinalizer, "present", signal);
    if (!isReady(snapshot) || !isBound) await this.#saveStatus(snapshot, content, signal);
    return undefined;
  }

  /** Adds the VolumeSnapshot's uid to a pre-provisioned VolumeSnapshotContent, and the finalizer to each object. */
  async #adopt(snapshot: VolumeSnapshot, content: VolumeSnapshotContent, signal: AbortSignal): Promise<void> {
    const { uid } = snapshot.metadata;
    const className = snapshot.spec.volumeSnapshotClassName;
    const reference = { ...content.spec.volumeSnapshotRef, uid };
    const spec = {
      volumeSnapshotRef: reference,
      ...(className !== undefined && { volumeSnapshotClassName: className }),
    };
    const isBound = content.spec.volumeSnapshotRef.uid === uid;
    const bound = isBound
      ? content
      : await this.#patchContent(content, { spec }, `it is bound to ${keyFor(snapshot)}`, signal);
    if (bound === undefined || bound.metadata.deletionTimestamp !== undefined) return;
    const patch = finalizerPatch(bound, contentFinalizer, "present");
    const why = "its snapshot is in use";
    if (patch !== undefined)
      await this.#actions.patch(volumeSnapshotContents, this.#stores.contents, bound, patch, why, signal);
  }

  async #create(snapshot: VolumeSnapshot, signal: AbortSignal): Promise<Problem | undefined> {
    const facts = this.#factsOf(snapshot);
    const of = classFor(snapshot, facts);
    if ("reason" in of) return of;
    const problem = refusedSource(snapshot, facts, of);
    const { claim, volume } = facts;
    if (problem !== undefined || claim === undefined || volume === undefined) return problem;
    const why = `VolumeSnapshot ${keyFor(snapshot)} needs a snapshot`;
    if (snapshot.spec.volumeSnapshotClassName === undefined)
      await this.#patchSnapshot(
        snapshot,
        { spec: { volumeSnapshotClassName: of.metadata.name } },
        why,
        signal,
      );
    await this.#setClaimFinalizer(claim, "present", why, signal);
    await this.#actions.create(volumeSnapshotContents, this.#contentFor(snapshot, of, volume), why, signal);
    const text = `Waiting for a snapshot ${keyFor(snapshot)} to be created by the CSI driver.`;
    this.#actions.publish(kind, snapshot, { reason: "CreatingSnapshot", text });
    return undefined;
  }

  #contentFor(snapshot: VolumeSnapshot, of: VolumeSnapshotClass, { spec }: PersistentVolume) {
    const { name, namespace = "", uid, resourceVersion } = snapshot.metadata;
    const apiVersion = apiVersionOf(volumeSnapshots);
    return {
      metadata: { name: contentNameOf(snapshot), finalizers: [contentFinalizer] },
      spec: {
        volumeSnapshotRef: { apiVersion, kind, name, namespace, uid, resourceVersion },
        source: { volumeHandle: spec?.csi?.volumeHandle ?? "" },
        driver: of.driver,
        deletionPolicy: of.deletionPolicy,
        volumeSnapshotClassName: of.metadata.name,
        ...(spec?.volumeMode !== undefined && { sourceVolumeMode: spec.volumeMode }),
      },
    };
  }

  async #saveStatus(
    snapshot: VolumeSnapshot,
    content: VolumeSnapshotContent,
    signal: AbortSignal,
  ): Promise<void> {
    const next = snapshotStatus(snapshot, content);
    if (next === undefined) return;
    const why = `VolumeSnapshotContent ${content.metadata.name} has changed`;
    const status = { ...next, error: next.error ?? null };
    if ((await this.#patchSnapshot(snapshot, { status }, why, signal)) === undefined) return;
    const key = keyFor(snapshot);
    if (snapshot.status?.creationTime === undefined && next.creationTime !== undefined) {
      const text = `Snapshot ${key} was successfully created by the CSI driver.`;
      this.#actions.publish(kind, snapshot, { reason: "SnapshotCreated", text });
    }
    if (!isReady(snapshot) && next.readyToUse === true) {
      const text = `Snapshot ${key} is ready to use.`;
      this.#actions.publish(kind, snapshot, { reason: "SnapshotReady", text });
    }
  }

  async #delete(snapshot: VolumeSnapshot, signal: AbortSignal): Promise<Outcome> {
    const { finalizers = [] } = snapshot.metadata;
    if (![sourceFinalizer, boundFinalizer].some((each) => finalizers.includes(each))) return settled;
    const { api } = this.#actions.deps;
    const name = this.#nameOfContent(snapshot);
    // Read without a cache, because a VolumeSnapshotContent that is not cached yet must not lose its VolumeSnapshot.
    const found = await api.get(volumeSnapshotContents, { name }, signal).catch(undefinedIf("not-found"));
    const content = found !== undefined && isBoundTo(found, snapshot) ? found : undefined;
    if (content !== undefined && this.#isBeingRestored(snapshot)) {
      const text = "Snapshot is being used to restore a PVC";
      this.#actions.report(kind, snapshot, "delete", [
        { severity: "error", reason: "SnapshotDeletePending", text },
      ]);
      return requeue(recheckAfter, text);
    }
    this.#actions.report(kind, snapshot, "delete", []);
    const why = `VolumeSnapshot ${keyFor(snapshot)} was deleted`;
    const isDeleted = content?.spec.deletionPolicy === "Delete";
    if (content !== undefined && content.metadata.annotations?.[beingDeletedKey] === undefined)
      await this.#patchContent(
        content,
        { metadata: { annotations: { [beingDeletedKey]: "yes" } } },
        why,
        signal,
      );
    if (content !== undefined && isDeleted && content.metadata.deletionTimestamp === undefined)
      await this.#actions.delete(volumeSnapshotContents, content, why, signal);
    const left = await this.#setFinalizer(snapshot, sourceFinalizer, "absent", signal);
    // The VolumeSnapshotContent is deleted first.
    if (!isDeleted && left !== undefined) await this.#setFinalizer(left, boundFinalizer, "absent", signal);
    return settled;
  }

  #isBeingRestored({ metadata: { name, namespace } }: VolumeSnapshot): boolean {
    return this.#actions.deps.stores.claims.list().some(({ metadata, spec, status }) => {
      const { kind: of, name: from, apiGroup } = spec?.dataSource ?? {};
      const isFrom = of === kind && from === name && apiGroup === snapshotGroup;
      return isFrom && metadata.namespace === namespace && status?.phase === "Pending";
    });
  }

  /**
   * Removes the claim's finalizer when no snapshot of it is being created, even if its VolumeSnapshot was deleted in the meantime.
   * A snapshot that was not begun before the deletion of the claim can never be created.
   */
  async releaseClaim(claim: PersistentVolumeClaim, signal: AbortSignal): Promise<void> {
    const { driver, stores } = this.#actions.deps;
    const { name, namespace, deletionTimestamp, finalizers } = claim.metadata;
    const volume = stores.volumes.get(claim.spec?.volumeName ?? "");
    const isOwn = finalizers?.includes(claimFinalizer) === true && volume?.spec?.csi?.driver === driver.name;
    if (this.isYielding || !isOwn) return;
    const isCreating = this.#stores.snapshots
      .list()
      .some(
        (one) =>
          one.metadata.namespace === namespace &&
          one.spec.source.persistentVolumeClaimName === name &&
          one.metadata.deletionTimestamp === undefined &&
          !isReady(one) &&
          (deletionTimestamp === undefined || this.#contentOf(one) !== undefined),
      );
    if (!isCreating)
      await this.#setClaimFinalizer(claim, "absent", "no snapshot of it is being created", signal);
  }

  async #setClaimFinalizer(
    claim: PersistentVolumeClaim,
    desired: "present" | "absent",
    why: string,
    signal: AbortSignal,
  ): Promise<void> {
    const { claims } = this.#actions.deps.stores;
    const patch = finalizerPatch(claim, claimFinalizer, desired);
    if (patch !== undefined)
      await this.#actions.patch(persistentVolumeClaims, claims, claim, patch, why, signal);
  }

  async #setFinalizer(
    snapshot: VolumeSnapshot,
    finalizer: string,
    desired: "present" | "absent",
    signal: AbortSignal,
  ): Promise<VolumeSnapshot | undefined> {
    const current = this.#stores.snapshots.get(keyFor(snapshot)) ?? snapshot;
    const patch = finalizerPatch(current, finalizer, desired);
    if (patch === undefined) return current;
    const why = desired === "present" ? "it may be in use" : "it is deleted";
    return this.#actions.patch(volumeSnapshots, this.#stores.snapshots, current, patch, why, signal);
  }

  async #reportProblem(snapshot: VolumeSnapshot, problem: Problem, signal: AbortSignal): Promise<void> {
    const { text: message } = problem;
    this.#actions.report(kind, snapshot, "snapshot", [problem]);
    if (snapshot.status?.error?.message === message) return;
    const time = toTime(this.#actions.deps.clock.now());
    const status = { error: { message, time }, readyToUse: false };
    await this.#patchSnapshot(snapshot, { status }, message, signal);
  }

  #patchSnapshot(snapshot: VolumeSnapshot, change: FieldChanges, why: string, signal: AbortSignal) {
    return this.#actions.merge(volumeSnapshots, this.#stores.snapshots, snapshot, change, why, signal);
  }

  #patchContent(content: VolumeSnapshotContent, change: FieldChanges, why: string, signal: AbortSignal) {
    return this.#actions.merge(volumeSnapshotContents, this.#stores.contents, content, change, why, signal);
  }
}
