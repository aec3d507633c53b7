// VolumeSnapshotContents: creates and deletes their snapshots in the cloud, like csi-snapshotter.

import { Ledgers } from "../../controllers/kernel/ledger.ts";
import { isPaused } from "../../controllers/pause.ts";
import { milliseconds, seconds } from "../../core/brand.ts";
import { messageOf } from "../../core/error-message.ts";
import { shortList } from "../../core/text.ts";
import { undefinedIf } from "../../kube/errors/kube-error.ts";
import { toTime } from "../../kube/objects.ts";
import { finalizerPatch } from "../../kube/patches/finalizer-patch.ts";
import {
  type VolumeSnapshotContent,
  volumeSnapshotContents,
  volumeSnapshots,
} from "../../kube/volume-snapshots.ts";
import type { ObservedSnapshot } from "../../provider/volumes.ts";
import { type Outcome, requeue, settled, waiting } from "../../runtime/workers.ts";
import type { CloudSnapshots } from "../csi/cloud-snapshots.ts";
import type { CloudVolumes } from "../csi/cloud-volumes.ts";
import { RpcError } from "../grpc/status.ts";
import { BackgroundWork } from "./background-work.ts";
import type { SnapshotStores } from "./history.ts";
import { beingCreatedKey, contentFinalizer } from "./names.ts";
import { type ObjectRef, objectIn, refOf } from "./object-ref.ts";
import { contentStatus, handleOf, isInGroup, planContent, snapshotNameOf } from "./plan-snapshot.ts";
import {
  cloudErrorIn,
  type FieldChanges,
  isNoProblem,
  unfinished,
  type VolumeActions,
} from "./volume-actions.ts";

const kind = "VolumeSnapshotContent";
/** The interval of checks while a snapshot is uploading. */
const recheckAfter = seconds(15);

type Finished = { readonly snapshot: ObservedSnapshot } | { readonly wasThere: boolean };

export class SnapshotContents {
  readonly works: BackgroundWork<Finished | undefined>;
  readonly #actions: VolumeActions;
  readonly #stores: SnapshotStores;
  readonly #absent = new Ledgers();

  constructor(actions: VolumeActions, stores: SnapshotStores, enqueue: (ref: ObjectRef) => void) {
    this.#actions = actions;
    this.#stores = stores;
    this.works = new BackgroundWork(enqueue);
  }

  async reconcile(ref: ObjectRef, signal: AbortSignal): Promise<Outcome> {
    const content = objectIn(this.#stores.contents, ref);
    const work = this.works.take(ref);
    if (work === "running") return waiting;
    if (content === undefined || content.spec.driver !== this.#actions.deps.driver.name) {
      this.#actions.forget(kind, ref);
      return settled;
    }
    if (isPaused(content) || isInGroup(content)) return settled;
    const plan = planContent(content);
    if (work !== undefined && "error" in work) {
      this.#absent.delete(content.metadata.uid);
      await this.#reportError(content, plan, work.error, signal);
      throw work.error;
    }
    // Observe mode changes nothing.
    if (work !== undefined && work.value === undefined) return settled;
    const done = work?.value;
    if (done !== undefined && "snapshot" in done && plan !== "delete")
      return this.#noteSnapshot(content, done.snapshot, signal);
    if (done !== undefined && "wasThere" in done && plan === "delete") {
      const wait = done.wasThere ? 0 : this.#absent.confirm(content.metadata.uid, this.#actions.deps);
      if (wait > 0) return requeue(milliseconds(wait), "another answer about the snapshot");
      return this.#release(await this.#forgetSnapshot(content, signal), signal);
    }
    switch (plan) {
      case "none":
        this.#actions.report(kind, content, "snapshot", []);
        await this.#annotate(content, false, signal);
        return settled;
      case "release":
        return this.#release(content, signal);
      case "delete":
        return this.#delete(content, signal);
      case "create":
      case "check":
        return this.#read(content, plan, signal);
    }
  }

  async #read(
    content: VolumeSnapshotContent,
    plan: "create" | "check",
    signal: AbortSignal,
  ): Promise<Outcome> {
    const { spec, metadata } = content;
    const handle = handleOf(content) ?? "";
    if (plan === "check") {
      this.#actions.startRead(this.works, refOf(content), async (cloud, life) => {
        const snapshot = await snapshotsOf(cloud).find(handle, life);
        if (snapshot !== undefined && snapshot.state !== "failed") return { snapshot };
        const why = snapshot === undefined ? "does not exist in the cloud" : "failed in the cloud";
        throw new RpcError("NOT_FOUND", `Snapshot ${handle} ${why}.`);
      });
      return waiting;
    }
    const volumeID = spec.source.volumeHandle ?? "";
    if ((spec.volumeSnapshotRef.uid ?? "") === "") return settled;
    if (metadata.annotations?.[beingCreatedKey] === undefined) this.#reportIgnored(content);
    await this.#annotate(content, true, signal);
    const { namespace, name: of } = spec.volumeSnapshotRef;
    const change = { object: `snapshot/${metadata.name}`, why: `VolumeSnapshot ${namespace}/${of} needs it` };
    const request = { name: snapshotNameOf(content), volumeID };
    this.#actions.start(this.works, refOf(content), "CreateSnapshot", change, async (cloud, life) => ({
      snapshot: await snapshotsOf(cloud).create(request, life),
    }));
    return waiting;
  }

  #reportIgnored(content: VolumeSnapshotContent): void {
    const of = this.#stores.classes.get(content.spec.volumeSnapshotClassName ?? "");
    const ignored = Object.keys(of?.parameters ?? {});
    if (of === undefined || ignored.length === 0) return;
    const text = `Parameters of VolumeSnapshotClass ${of.metadata.name} have no effect: ${shortList(ignored)}. The snapshot is created without them. Remove them, or create such snapshots with the CSI driver of the cloud.`;
    this.#actions.publish(kind, content, { severity: "warning", reason: "SnapshotParametersIgnored", text });
  }

  async #noteSnapshot(
    content: VolumeSnapshotContent,
    snapshot: ObservedSnapshot,
    signal: AbortSignal,
  ): Promise<Outcome> {
    const status = contentStatus(content, snapshot);
    const why = `snapshot ${snapshot.id} is ${snapshot.state}`;
    const noted = status === undefined ? content : await this.#patch(content, { status }, why, signal);
    if (noted !== undefined) await this.#annotate(noted, false, signal);
    this.#actions.report(kind, content, "snapshot", []);
    return snapshot.state === "ready" ? settled : requeue(recheckAfter, why);
  }

  /**
   * The annotation keeps a VolumeSnapshotContent until its creation has ended, because a snapshot may exist although no response
   * arrived.
   */
  async #annotate(content: VolumeSnapshotContent, isCreating: boolean, signal: AbortSignal): Promise<void> {
    if ((content.metadata.annotations?.[beingCreatedKey] !== undefined) === isCreating) return;
    const why = isCreating ? "its snapshot is being created" : "the creation of its snapshot has ended";
    const annotations = { [beingCreatedKey]: isCreating ? "yes" : null };
    await this.#patch(content, { metadata: { annotations } }, why, signal);
  }

  async #delete(content: VolumeSnapshotContent, signal: AbortSignal): Promise<Outcome> {
    const { name } = content.metadata;
    const handle = handleOf(content) ?? "";
    const kept = await this.#reasonToKeep(content, handle, signal);
    if (kept !== undefined) {
      const text = `${kept}, so snapshot ${handle} is not deleted.`;
      this.#actions.report(kind, content, "delete", [{ severity: "error", reason: "SnapshotKept", text }]);
      return requeue(recheckAfter, kept);
    }
    const { namespace, name: of } = content.spec.volumeSnapshotRef;
    const why = `VolumeSnapshot ${namespace}/${of} was deleted, and the deletion policy is Delete`;
    const change = { object: `snapshot/${name}`, why };
    this.#actions.start(this.works, refOf(content), "DeleteSnapshot", change, async (cloud, life) => ({
      wasThere: await snapshotsOf(cloud).remove(handle, life),
    }));
    return waiting;
  }

  /** Read without a cache, which may be minutes behind, because an administrator may have retained the snapshot. */
  async #reasonToKeep(
    { metadata, spec }: VolumeSnapshotContent,
    handle: string,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const all = await this.#actions.listNow(volumeSnapshotContents, signal);
    const sharing = all.find(
      (one) =>
        one.metadata.uid !== metadata.uid &&
        one.spec.driver === spec.driver &&
        handleOf(one) === handle &&
        // Without this, both would wait for each other.
        planContent(one) !== "delete",
    );
    if (sharing !== undefined)
      return `The VolumeSnapshotContent ${sharing.metadata.name} has the same snapshot`;
    const current = all.find((one) => one.metadata.uid === metadata.uid);
    if (current === undefined || planContent(current) !== "delete" || handleOf(current) !== handle)
      return `The VolumeSnapshotContent ${metadata.name} has changed`;
    const { name, namespace, uid } = spec.volumeSnapshotRef;
    const snapshot = await this.#actions.deps.api
      .get(volumeSnapshots, { name, namespace }, signal)
      .catch(undefinedIf("not-found"));
    const isNeeded =
      snapshot !== undefined &&
      snapshot.metadata.uid === uid &&
      snapshot.metadata.deletionTimestamp === undefined;
    return isNeeded ? `The VolumeSnapshot ${namespace}/${name} is not being deleted` : undefined;
  }

  async #forgetSnapshot(content: VolumeSnapshotContent, signal: AbortSignal): Promise<VolumeSnapshotContent> {
    const status = { snapshotHandle: null, readyToUse: null, creationTime: null, restoreSize: null };
    const why = "its snapshot was deleted in the cloud";
    return (await this.#patch(content, { status }, why, signal)) ?? content;
  }

  async #release(content: VolumeSnapshotContent, signal: AbortSignal): Promise<Outcome> {
    const patch = finalizerPatch(content, contentFinalizer, "absent");
    const { contents } = this.#stores;
    const why = `no snapshot is to be deleted (policy ${content.spec.deletionPolicy})`;
    if (patch !== undefined)
      await this.#actions.patch(volumeSnapshotContents, contents, content, patch, why, signal);
    return settled;
  }

  async #reportError(
    content: VolumeSnapshotContent,
    plan: ReturnType<typeof planContent>,
    error: unknown,
    signal: AbortSignal,
  ): Promise<void> {
    if (isNoProblem(error)) return;
    const text = messageOf(cloudErrorIn(error));
    const [reason, message] =
      plan === "delete"
        ? ["SnapshotDeleteError", `Failed to delete snapshot: ${text}`]
        : plan === "create"
          ? ["SnapshotCreationFailed", `Failed to create snapshot: ${text}`]
          : ["SnapshotContentCheckandUpdateFailed", `Failed to check and update snapshot content: ${text}`];
    this.#actions.report(kind, content, plan === "delete" ? "delete" : "snapshot", [
      { severity: "error", reason: reason as string, text: message as string },
    ]);
    if (plan === "delete") return;
    const isFinal = error instanceof RpcError && !unfinished.includes(error.code);
    if (isFinal) await this.#annotate(content, false, signal);
    if (content.status?.error?.message === message) return;
    const time = toTime(this.#actions.deps.clock.now());
    await this.#patch(content, { status: { readyToUse: false, error: { message, time } } }, text, signal);
  }

  #patch(content: VolumeSnapshotContent, change: FieldChanges, why: string, signal: AbortSignal) {
    return this.#actions.merge(volumeSnapshotContents, this.#stores.contents, content, change, why, signal);
  }
}

function snapshotsOf({ snapshots }: CloudVolumes): CloudSnapshots {
  if (snapshots === undefined) throw new RpcError("UNIMPLEMENTED", "The cloud has no snapshots of volumes.");
  return snapshots;
}
