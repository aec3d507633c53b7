// Claims: creates their volumes, like external-provisioner, and expands them, like external-resizer.

import { isPaused } from "../../controllers/pause.ts";
import { seconds } from "../../core/brand.ts";
import { messageOf } from "../../core/error-message.ts";
import { undefinedIf } from "../../kube/errors/kube-error.ts";
import {
  type KubeObject,
  type ObjectKey,
  type PersistentVolume,
  type PersistentVolumeClaim,
  toTime,
} from "../../kube/objects.ts";
import type { Patch } from "../../kube/patches/patch.ts";
import { persistentVolumeClaims, persistentVolumes, type Resource } from "../../kube/resources.ts";
import { volumeSnapshotContents, volumeSnapshots } from "../../kube/volume-snapshots.ts";
import type { ObservedVolume, VolumeSource } from "../../provider/volumes.ts";
import { type Outcome, requeue, settled, waiting } from "../../runtime/workers.ts";
import { readSize } from "../csi/volume-requests.ts";
import { RpcError } from "../grpc/status.ts";
import { BackgroundWork } from "./background-work.ts";
import { selectedNodeKey } from "./names.ts";
import { keyFor, keyIn, type ObjectRef, objectIn } from "./object-ref.ts";
import {
  classNameOf,
  needsVolume,
  type Provisioning,
  persistentVolumeFor,
  planProvisioning,
  volumeNameOf,
} from "./plan-claim.ts";
import {
  capacityPatch,
  expandedPatch,
  expandingPatch,
  expansionFailedPatch,
  resizedPatch,
  sizeToExpandTo,
} from "./plan-expansion.ts";
import { cloneSource, dataSourceOf, snapshotSource } from "./plan-source.ts";
import { cloudErrorIn, isNoProblem, unfinished, type VolumeActions } from "./volume-actions.ts";

const kind = "PersistentVolumeClaim";
/** The claims of one tenant must not consume the whole rate limit, which Services and attachments share. */
const maxWorks = 20;

interface Finished {
  readonly volume: ObservedVolume;
  /** Undefined after an expansion. */
  readonly provisioning?: Provisioning;
}

/** Whether the volume may exist nevertheless. If there is no space, no volume is created. */
const mayExist = (error: unknown): boolean =>
  !isNoProblem(error) &&
  !(error instanceof RpcError && (error.code === "RESOURCE_EXHAUSTED" || !unfinished.includes(error.code)));

const infeasible: readonly string[] = ["INVALID_ARGUMENT", "OUT_OF_RANGE", "NOT_FOUND"];

export class Claims {
  readonly works: BackgroundWork<Finished | undefined>;
  readonly #actions: VolumeActions;

  constructor(actions: VolumeActions, enqueue: (ref: ObjectRef) => void) {
    this.#actions = actions;
    this.works = new BackgroundWork(enqueue, maxWorks);
  }

  async reconcile(ref: ObjectRef, signal: AbortSignal): Promise<Outcome> {
    const { stores } = this.#actions.deps;
    const claim = objectIn(stores.claims, ref);
    const work = this.works.take(ref);
    if (work === "running") return waiting;
    const begun = this.#begun.get(ref);
    if (work !== undefined && "error" in work && !mayExist(work.error)) this.#begun.delete(ref);
    else if (begun !== undefined && claim === undefined && !(work !== undefined && "value" in work)) {
      if (work !== undefined) throw work.error;
      this.#create(ref, begun);
      return waiting;
    }
    if (work !== undefined && "value" in work) {
      // Observe mode created nothing.
      if (work.value === undefined) {
        this.#begun.delete(ref);
        return settled;
      }
      const { provisioning, volume } = work.value;
      if (provisioning !== undefined) {
        await this.#publish(provisioning, volume, signal).catch((error: unknown) => {
          // Without this, the cloud would be queried for the volume again.
          this.works.keep(ref, work);
          throw error;
        });
        this.#begun.delete(ref);
        // The watch may not have delivered the PersistentVolume yet.
        return requeue(seconds(10), "the volume was created");
      }
    }
    if (claim === undefined) {
      this.#actions.forget(kind, ref);
      return settled;
    }
    // From now on, the PersistentVolume identifies the volume, although the response to its creation may have been lost.
    if (stores.volumes.get(volumeNameOf(claim)) !== undefined) this.#begun.delete(ref);
    if (isPaused(claim)) return settled;
    const bound = stores.volumes.get(claim.spec?.volumeName ?? "");
    if (bound !== undefined) return this.#expand(ref, claim, bound, work, signal);
    const storageClass = stores.classes.get(classNameOf(claim));
    const { driver, nodes } = this.#actions.deps;
    if (
      !needsVolume(claim, storageClass, driver.name) ||
      stores.volumes.get(volumeNameOf(claim)) !== undefined
    ) {
      this.#actions.report(kind, claim, "provision", []);
      return settled;
    }
    try {
      if (work !== undefined && "error" in work) throw work.error;
      // The cache may be minutes behind, and a cloud listing may lack the volume.
      const exists = await this.#find(persistentVolumes, { name: volumeNameOf(claim) }, signal);
      if (exists !== undefined) return requeue(seconds(10), "the volume was created");
      const source = await this.#sourceOf(claim, signal);
      this.#create(ref, planProvisioning(claim, storageClass, nodes.list(), driver, source));
      return waiting;
    } catch (error) {
      this.#actions.reportFailure(kind, claim, "provision", { reason: "ProvisioningFailed", error });
      if (await this.#reschedule(claim, error, signal)) return settled;
      throw error;
    }
  }

  get #begun(): Map<ObjectRef, Provisioning> {
    return this.#actions.history.begun;
  }

  /** Reads without a cache. */
  async #find<T extends KubeObject>(
    resource: Resource<T>,
    key: ObjectKey,
    signal: AbortSignal,
  ): Promise<T | undefined> {
    if (key.name === "") return undefined;
    return this.#actions.deps.api.get(resource, key, signal).catch(undefinedIf("not-found"));
  }

  /** The source of the volume, read without a cache, as in the sidecar. */
  async #sourceOf(claim: PersistentVolumeClaim, signal: AbortSignal): Promise<VolumeSource | undefined> {
    const { driver } = this.#actions.deps;
    const from = dataSourceOf(claim, driver);
    if (from === undefined) return undefined;
    const { namespace = "" } = claim.metadata;
    const key = { name: from.name, namespace };
    const of = { name: from.name, driver: driver.name };
    if (from.kind === "snapshot") {
      const snapshot = await this.#find(volumeSnapshots, key, signal);
      const bound = snapshot?.status?.boundVolumeSnapshotContentName ?? "";
      return snapshotSource(
        claim,
        snapshot,
        await this.#find(volumeSnapshotContents, { name: bound }, signal),
        of,
      );
    }
    const original = await this.#find(persistentVolumeClaims, key, signal);
    const volume = await this.#find(persistentVolumes, { name: original?.spec?.volumeName ?? "" }, signal);
    return cloneSource(claim, original, volume, of);
  }

  #create(ref: ObjectRef, provisioning: Provisioning): void {
    const { claim, request, warnings } = provisioning;
    const { note } = this.#actions.deps;
    const key = keyIn(ref);
    for (const text of warnings) note(text, { claim: key, reason: "IgnoredParameter" });
    const text = `External provisioner is provisioning volume for claim "${key}"`;
    this.#actions.publish(kind, claim, { reason: "Provisioning", text });
    this.#begun.set(ref, provisioning);
    const change = { object: `volume/${request.name}`, why: `claim ${key} needs a volume` };
    this.#actions.start(this.works, ref, "CreateVolume", change, async (cloud, life) => ({
      volume: await cloud.create(request, life),
      provisioning,
    }));
  }

  /** The claim may be gone by now, and the volume is then deleted through its PersistentVolume. */
  async #publish(provisioning: Provisioning, volume: ObservedVolume, signal: AbortSignal): Promise<void> {
    const { driver, identity } = this.#actions.deps;
    const { claim } = provisioning;
    const draft = persistentVolumeFor(provisioning, volume, driver.name, identity);
    const why = `volume ${volume.id} was created for claim ${keyFor(claim)}`;
    await this.#actions.create(persistentVolumes, draft, why, signal);
    this.#actions.report(kind, claim, "provision", []);
    const { name } = draft.metadata;
    const text = `Successfully provisioned volume ${name}`;
    this.#actions.publish(kind, claim, { reason: "ProvisioningSucceeded", text });
  }

  /** If there is no space, the scheduler may choose another Node. */
  async #reschedule(claim: PersistentVolumeClaim, error: unknown, signal: AbortSignal): Promise<boolean> {
    const { annotations = {} } = claim.metadata;
    const isFull = error instanceof RpcError && error.code === "RESOURCE_EXHAUSTED";
    if (!isFull || annotations[selectedNodeKey] === undefined) return false;
    const change = { metadata: { annotations: { [selectedNodeKey]: null } } };
    const why = `the scheduler must choose another Node: ${messageOf(error)}`;
    const { claims } = this.#actions.deps.stores;
    await this.#actions.merge(persistentVolumeClaims, claims, claim, change, why, signal);
    return true;
  }

  async #expand(
    ref: ObjectRef,
    claim: PersistentVolumeClaim,
    volume: PersistentVolume,
    work: ReturnType<BackgroundWork<Finished | undefined>["take"]>,
    signal: AbortSignal,
  ): Promise<Outcome> {
    const { driver, clock } = this.#actions.deps;
    this.#actions.report(kind, claim, "provision", []);
    const done = resizedPatch(volume, claim);
    if (done !== undefined && volume.spec?.csi?.driver === driver.name)
      await this.#patchVolume(volume, done, "the file system was expanded", signal);
    if (typeof work === "object" && "value" in work && work.value !== undefined)
      return this.#finish(claim, volume, work.value.volume.size, signal);
    const size = sizeToExpandTo(claim, volume, driver.name);
    const handle = volume.spec?.csi?.volumeHandle;
    if (size === undefined || handle === undefined) {
      this.#actions.report(kind, claim, "expand", []);
      return settled;
    }
    if (typeof work === "object" && "error" in work) {
      await this.#fail(claim, work.error, signal);
      throw work.error;
    }
    const patch = expandingPatch(claim, size, toTime(clock.now()));
    const why = `volume ${volume.metadata.name} is being expanded`;
    if (patch !== undefined && (await this.#patchClaim(claim, patch, why, signal)) === undefined)
      return settled;
    const text = `External resizer is resizing volume ${volume.metadata.name}`;
    this.#actions.publish(kind, claim, { reason: "Resizing", text });
    const change = { object: `volume/${volume.metadata.name}`, why: `claim ${keyIn(ref)} asks for more` };
    this.#actions.start(this.works, ref, "ControllerExpandVolume", change, async (cloud, life) => {
      const range = readSize({ requiredBytes: size, limitBytes: 0 }, driver.sizes);
      return { volume: await cloud.expand(handle, range, life) };
    });
    return waiting;
  }

  async #finish(
    claim: PersistentVolumeClaim,
    volume: PersistentVolume,
    size: number,
    signal: AbortSignal,
  ): Promise<Outcome> {
    const capacity = capacityPatch(volume, claim, size);
    const why = "the volume was expanded";
    if (capacity !== undefined) await this.#patchVolume(volume, capacity, why, signal);
    const patch = expandedPatch(claim, size, toTime(this.#actions.deps.clock.now()));
    if (patch !== undefined) await this.#patchClaim(claim, patch, why, signal);
    this.#actions.report(kind, claim, "expand", []);
    const event =
      claim.spec?.volumeMode === "Block"
        ? { reason: "VolumeResizeSuccessful", text: "Resize volume succeeded" }
        : {
            reason: "FileSystemResizeRequired",
            text: "Require file system resize of volume on node",
          };
    this.#actions.publish(kind, claim, event);
    return settled;
  }

  async #fail(claim: PersistentVolumeClaim, error: unknown, signal: AbortSignal): Promise<void> {
    if (isNoProblem(error)) return;
    this.#actions.reportFailure(kind, claim, "expand", { reason: "VolumeResizeFailed", error });
    if (!(error instanceof RpcError) || unfinished.includes(error.code)) return;
    const why = messageOf(cloudErrorIn(error));
    const { clock } = this.#actions.deps;
    const patch = expansionFailedPatch(claim, why, infeasible.includes(error.code), toTime(clock.now()));
    if (patch !== undefined) await this.#patchClaim(claim, patch, why, signal);
  }

  #patchClaim(claim: PersistentVolumeClaim, patch: Patch, why: string, signal: AbortSignal) {
    const { claims } = this.#actions.deps.stores;
    return this.#actions.patch(persistentVolumeClaims, claims, claim, patch, why, signal);
  }

  #patchVolume(volume: PersistentVolume, patch: Patch, why: string, signal: AbortSignal) {
    const { volumes } = this.#actions.deps.stores;
    return this.#actions.patch(persistentVolumes, volumes, volume, patch, why, signal);
  }
}
