// PersistentVolumes: deletes the volumes of deleted claims, maintains finalizers like the sidecars, and adds a missing topology
// to PersistentVolumes of other programs.

import { Ledgers } from "../../controllers/kernel/ledger.ts";
import { isPaused } from "../../controllers/pause.ts";
import { milliseconds } from "../../core/brand.ts";
import { undefinedIf } from "../../kube/errors/kube-error.ts";
import type { PersistentVolume, PersistentVolumeClaim } from "../../kube/objects.ts";
import { finalizerPatch } from "../../kube/patches/finalizer-patch.ts";
import { persistentVolumeClaims, persistentVolumes } from "../../kube/resources.ts";
import type { ObservedVolume } from "../../provider/volumes.ts";
import { type Outcome, requeue, settled, waiting } from "../../runtime/workers.ts";
import { BackgroundWork, type Ended } from "./background-work.ts";
import type { MissingVolumes } from "./missing-volumes.ts";
import { attacherFinalizer, provisionedByKey, provisionerFinalizer } from "./names.ts";
import { type ObjectRef, objectIn, refOf, uidIn } from "./object-ref.ts";
import { desiredFinalizer, isManagedVolume, isReleased, planDeletion } from "./plan-deletion.ts";
import { locationPatch } from "./topology.ts";
import type { VolumeActions } from "./volume-actions.ts";
import { removalKind } from "./volume-census.ts";
import { holdRecheck, type VolumeDoubt } from "./volume-doubt.ts";

const kind = "PersistentVolume";

/** The volume of a PersistentVolume without topology; undefined if it does not exist in the cloud. */
interface Found {
  readonly found: ObservedVolume | undefined;
}

interface Deleted {
  /** False if the cloud did not show the volume. */
  readonly wasThere: boolean;
}

export class PersistentVolumes {
  readonly works: BackgroundWork<Deleted | Found | undefined>;
  readonly #actions: VolumeActions;
  readonly #doubt: VolumeDoubt;
  readonly #missing: MissingVolumes;
  /** PersistentVolumes whose claim disappeared without a seen deletion, and the answers that the claim does not exist. */
  readonly #released = new Ledgers<ObjectRef>();

  constructor(
    actions: VolumeActions,
    doubt: VolumeDoubt,
    missing: MissingVolumes,
    enqueue: (ref: ObjectRef) => void,
  ) {
    this.#actions = actions;
    this.#missing = missing;
    this.works = new BackgroundWork(enqueue);
    this.#doubt = doubt;
  }

  /** The PersistentVolumes that may be held. */
  get held(): Iterable<ObjectRef> {
    return this.#released.keys();
  }

  async reconcile(ref: ObjectRef, signal: AbortSignal): Promise<Outcome> {
    const { stores, driver } = this.#actions.deps;
    const volume = objectIn(stores.volumes, ref);
    const work = this.works.take(ref);
    if (work === "running") return waiting;
    if (volume === undefined || !isManagedVolume(volume, driver.name)) {
      this.#forget(ref);
      return settled;
    }
    if (isPaused(volume)) return settled;
    await this.#updateFinalizers(volume, signal);
    if (!isReleased(volume)) {
      this.#settle(volume);
      return this.#locate(volume, work, signal);
    }
    if (work !== undefined && "error" in work) {
      const { error } = work;
      this.#missing.forget(volume.metadata.uid);
      this.#actions.reportFailure(kind, volume, "delete", { reason: "VolumeFailedDelete", error });
      throw error;
    }
    // Observe mode deletes nothing.
    if (work !== undefined && work.value === undefined) return settled;
    if (work?.value === undefined || !("wasThere" in work.value)) return this.#delete(volume, signal);
    const handle = volume.spec?.csi?.volumeHandle ?? "";
    const wait = work.value.wasThere ? undefined : await this.#missing.await(kind, volume, handle);
    return (
      wait ??
      (await this.#noteDeleted(volume, work.value, signal).catch((error: unknown) => {
        // Without this result, the volume would count as missing.
        this.works.keep(ref, work);
        throw error;
      }))
    );
  }

  /** Another program created the PersistentVolume without stating where its volume can be used: sets that once. */
  async #locate(
    volume: PersistentVolume,
    work: Ended<Found | Deleted | undefined> | undefined,
    signal: AbortSignal,
  ): Promise<Outcome> {
    const { stores, driver, nodes } = this.#actions.deps;
    const handle = volume.spec?.csi?.volumeHandle;
    const { deletionTimestamp, annotations = {} } = volume.metadata;
    // A provisioner's PersistentVolume stays unchanged, so that taking over from the sidecars writes nothing.
    const isForeign = deletionTimestamp === undefined && annotations[provisionedByKey] === undefined;
    if (!isForeign || handle === undefined || volume.spec?.nodeAffinity !== undefined) {
      this.#actions.report(kind, volume, "label", []);
      return settled;
    }
    if (work !== undefined && "error" in work) {
      this.#actions.reportFailure(kind, volume, "label", { reason: "VolumeNotLocated", error: work.error });
      throw work.error;
    }
    if (work?.value === undefined || !("found" in work.value)) {
      this.#actions.startRead(this.works, refOf(volume), async (cloud, life) => ({
        found: await cloud.find(handle, life),
      }));
      return waiting;
    }
    const { found } = work.value;
    const patch = found && locationPatch(volume, found.topology, nodes.list(), driver);
    if (found === undefined) {
      const text = `The volume ${handle} of the PersistentVolume ${volume.metadata.name} does not exist in the cloud, so where it can be used is unknown. Correct spec.csi.volumeHandle in a new PersistentVolume.`;
      this.#actions.report(kind, volume, "label", [{ severity: "error", reason: "VolumeNotLocated", text }]);
    }
    const why = "it does not say where its volume can be used";
    if (patch !== undefined)
      await this.#actions.patch(persistentVolumes, stores.volumes, volume, patch, why, signal);
    return settled;
  }

  async #updateFinalizers(volume: PersistentVolume, signal: AbortSignal): Promise<void> {
    const { stores, driver } = this.#actions.deps;
    const desired = desiredFinalizer(volume);
    const policy = volume.spec?.persistentVolumeReclaimPolicy;
    const first = desired && finalizerPatch(volume, provisionerFinalizer, desired);
    const why = `the reclaim policy is ${policy}`;
    const kept =
      first && (await this.#actions.patch(persistentVolumes, stores.volumes, volume, first, why, signal));
    const isAttached = this.#actions.history.attachmentsOf.get(volume.metadata.name).length > 0;
    if (volume.metadata.deletionTimestamp === undefined || isAttached) return;
    const second = finalizerPatch(kept ?? volume, attacherFinalizer(driver.name), "absent");
    if (second !== undefined)
      await this.#actions.patch(
        persistentVolumes,
        stores.volumes,
        volume,
        second,
        "no attachment needs it",
        signal,
      );
  }

  async #delete(volume: PersistentVolume, signal: AbortSignal): Promise<Outcome> {
    const { history, deps } = this.#actions;
    const { stores, clock, settings, removals } = deps;
    const { name, uid } = volume.metadata;
    const { claimRef, csi } = volume.spec ?? {};
    const isAnnounced = history.sawDeletion(volume);
    const { proofs } = this.#released.of(refOf(volume));
    if (isAnnounced) this.#released.delete(refOf(volume));
    const facts = {
      volume,
      claim: stores.claims.get(`${claimRef?.namespace}/${claimRef?.name}`),
      attachments: history.attachmentsOf.get(name),
      sharing: sharingOf(volume, history.volumesWith.get(csi?.volumeHandle ?? "")),
      isAnnounced,
      proofs,
      confirmAfter: settings.confirmAfter,
    };
    let plan = planDeletion(facts);
    if (plan.kind === "delete") {
      const all = await this.#actions.listNow(persistentVolumes, signal);
      const sharing = sharingOf(volume, all);
      // An administrator may have retained the volume.
      if (!sharing.some((one) => isReleased(one) && isSameRelease(one, volume)))
        return requeue(holdRecheck, "the PersistentVolume has changed");
      plan = planDeletion({ ...facts, sharing, claim: await this.#claimOf(volume, signal) });
    }
    switch (plan.kind) {
      case "keep": {
        // The watch of claims may be behind, and their deletion enqueues the PersistentVolume again.
        if (plan.claimExists && (await this.#claimOf(volume, signal)) === undefined)
          return requeue(holdRecheck, "the deletion of the claim");
        this.#actions.report(kind, volume, "delete", [plan.problem]);
        return settled;
      }
      case "in-use":
        this.#actions.report(kind, volume, "delete", [plan.problem]);
        return settled;
      case "prove":
      case "delete": {
        const isLimited = !isAnnounced && !removals.isReleased(removalKind, uid);
        if (isLimited && this.#doubt.holds("released", kind, volume))
          return requeue(holdRecheck, "the end of the doubt");
        if (plan.kind === "delete") {
          const isStored = !isLimited || (await this.#doubt.record("released", volume)) === "recorded";
          return isStored ? this.#start(volume) : requeue(milliseconds(0), "the deletion is recorded");
        }
        const due = (plan.next.at ?? 0) - clock.monotonic();
        return due > 0 ? requeue(milliseconds(due), "the next proof") : this.#prove(volume, signal);
      }
    }
  }

  /** Asks the API server for the claim, without a cache. */
  async #claimOf(
    { spec }: PersistentVolume,
    signal: AbortSignal,
  ): Promise<PersistentVolumeClaim | undefined> {
    const { name = "", namespace = "", uid } = spec?.claimRef ?? {};
    const found = await this.#actions.deps.api
      .get(persistentVolumeClaims, { name, namespace }, signal)
      .catch(undefinedIf("not-found"));
    return found?.metadata.uid === uid ? found : undefined;
  }

  async #prove(volume: PersistentVolume, signal: AbortSignal): Promise<Outcome> {
    const { clock } = this.#actions.deps;
    const ref = refOf(volume);
    const beganAt = clock.monotonic();
    const isGone = (await this.#claimOf(volume, signal)) === undefined;
    const ledger = this.#released.of(ref);
    ledger.expect("exists", beganAt);
    if (isGone) ledger.noteLacking({ kind: "lookup", beganAt, knownAt: clock.monotonic() });
    else ledger.noteShown();
    return requeue(isGone ? milliseconds(0) : holdRecheck, "an answer about the claim");
  }

  #start(volume: PersistentVolume): Outcome {
    const { name } = volume.metadata;
    const handle = volume.spec?.csi?.volumeHandle ?? "";
    const why = `its claim ${volume.spec?.claimRef?.namespace}/${volume.spec?.claimRef?.name} is gone, and the reclaim policy is Delete`;
    const change = { object: `volume/${name}`, why };
    this.#actions.start(this.works, refOf(volume), "DeleteVolume", change, async (cloud, life) => ({
      wasThere: await cloud.remove(handle, life),
    }));
    return waiting;
  }

  async #noteDeleted(volume: PersistentVolume, { wasThere }: Deleted, signal: AbortSignal): Promise<Outcome> {
    const { stores } = this.#actions.deps;
    const why = "its volume was deleted in the cloud";
    await this.#actions.delete(persistentVolumes, volume, why, signal);
    const patch = finalizerPatch(volume, provisionerFinalizer, "absent");
    if (patch !== undefined)
      await this.#actions
        .patch(persistentVolumes, stores.volumes, volume, patch, why, signal)
        .catch(undefinedIf("not-found"));
    const { csi, claimRef } = volume.spec ?? {};
    const text = `Volume ${csi?.volumeHandle} of the claim ${claimRef?.namespace}/${claimRef?.name} ${wasThere ? "was deleted" : "no longer exists in the cloud"}`;
    this.#actions.publish(kind, volume, { reason: "VolumeDeleted", text });
    return settled;
  }

  #settle(volume: PersistentVolume): void {
    const { removals } = this.#actions.deps;
    this.#released.delete(refOf(volume));
    removals.endHold(removalKind, volume.metadata.uid);
    removals.endRelease(removalKind, volume.metadata.uid);
    this.#actions.report(kind, volume, "delete", []);
  }

  #forget(ref: ObjectRef): void {
    this.#actions.deps.removals.endHold(removalKind, uidIn(ref));
    this.#released.delete(ref);
    this.#actions.forget(kind, ref);
  }
}

/** The PersistentVolumes with the same volume in the cloud. */
function sharingOf(
  { spec }: PersistentVolume,
  all: readonly PersistentVolume[],
): readonly PersistentVolume[] {
  const { driver, volumeHandle } = spec?.csi ?? {};
  return all.filter(({ spec: { csi } = {} }) => csi?.driver === driver && csi?.volumeHandle === volumeHandle);
}

/** Whether both are the same PersistentVolume, released by the same claim. */
function isSameRelease(one: PersistentVolume, other: PersistentVolume): boolean {
  return one.metadata.uid === other.metadata.uid && one.spec?.claimRef?.uid === other.spec?.claimRef?.uid;
}
