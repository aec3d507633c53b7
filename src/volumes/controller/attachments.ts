// VolumeAttachments: attaches and detaches volumes, like external-attacher. A volume is detached from a machine that
// may still write to it only when the cloud proves that the machine is gone or stopped.

import { Ledgers } from "../../controllers/kernel/ledger.ts";
import { isReady } from "../../controllers/node-facts.ts";
import { milliseconds } from "../../core/brand.ts";
import { messageOf, promiseOf, textOf } from "../../core/error-message.ts";
import { willRetry } from "../../core/retry-promise.ts";
import type { Node, PersistentVolume, VolumeAttachment } from "../../kube/objects.ts";
import { finalizerPatch } from "../../kube/patches/finalizer-patch.ts";
import { nodes as nodeResource, persistentVolumes, volumeAttachments } from "../../kube/resources.ts";
import type { ObservedVolume } from "../../provider/volumes.ts";
import { type Outcome, requeue, settled, waiting } from "../../runtime/workers.ts";
import { AttachedElsewhere } from "../csi/cloud-volumes.ts";
import { BackgroundWork } from "./background-work.ts";
import type { MissingVolumes } from "./missing-volumes.ts";
import { attacherFinalizer, nameInUse, nodeIDKey } from "./names.ts";
import { type ObjectRef, objectIn, refOf, uidIn } from "./object-ref.ts";
import { type VolumeNode, volumeNodeOf } from "./topology.ts";
import { cloudErrorIn, type FieldChanges, isNoProblem, type VolumeActions } from "./volume-actions.ts";
import { removalKind } from "./volume-census.ts";
import { refused, saveError, volumeOf, WriterProofs } from "./writer-proofs.ts";

const kind = "VolumeAttachment";

type Finished =
  | { readonly attached: ObservedVolume }
  /** `isProved`: no further cloud answer is needed. */
  | { readonly detached: { readonly isProved: boolean } };

export class Attachments {
  readonly works: BackgroundWork<Finished | undefined>;
  readonly #actions: VolumeActions;
  readonly proofs: WriterProofs;
  readonly #missing: MissingVolumes;
  readonly #unwanted = new Ledgers();

  constructor(actions: VolumeActions, missing: MissingVolumes, enqueue: (ref: ObjectRef) => void) {
    this.#actions = actions;
    this.#missing = missing;
    this.works = new BackgroundWork(enqueue);
    this.proofs = new WriterProofs(actions);
  }

  async reconcile(ref: ObjectRef, signal: AbortSignal): Promise<Outcome> {
    const { stores, driver } = this.#actions.deps;
    const attachment = objectIn(stores.attachments, ref);
    const work = this.works.take(ref);
    if (work === "running") return waiting;
    if (attachment === undefined || attachment.spec.attacher !== driver.name) {
      this.#forget(ref);
      return settled;
    }
    const isLeaving = attachment.metadata.deletionTimestamp !== undefined;
    const finalizers = attachment.metadata.finalizers ?? [];
    const isReplaced = !isLeaving && this.#isReplaced(attachment);
    const isDetaching = isLeaving || isReplaced;
    const isDetached = isLeaving && !finalizers.includes(attacherFinalizer(driver.name));
    if (isDetached || (!isDetaching && attachment.status?.attached === true)) {
      this.#settle(attachment);
      return settled;
    }
    try {
      if (work !== undefined && "error" in work) {
        this.#missing.forget(attachment.metadata.uid);
        const { error } = work;
        if (isDetaching || !(error instanceof AttachedElsewhere)) throw error;
        const freeing = await this.#free(attachment, error.elsewhere, signal);
        if (freeing === undefined) throw error;
        return freeing;
      }
      if (work !== undefined && work.value === undefined) return settled;
      const done = work?.value;
      if (done !== undefined && "detached" in done && isDetaching) {
        const handle = this.#handleOf(this.#volumeFor(attachment), attachment);
        const wait = done.detached.isProved ? undefined : await this.#missing.await(kind, attachment, handle);
        const note = () => (isLeaving ? this.#noteDetached : this.#noteMoved).call(this, attachment, signal);
        return wait ?? (await note());
      }
      if (done !== undefined && "attached" in done && !isLeaving)
        return await this.#noteAttached(attachment, done.attached, signal);
      return isDetaching ? await this.#detach(attachment, signal) : await this.#attach(attachment, signal);
    } catch (error) {
      await this.#reportError(attachment, isDetaching ? "detachError" : "attachError", error, signal);
      throw error;
    }
  }

  async #attach(attachment: VolumeAttachment, signal: AbortSignal): Promise<Outcome> {
    const { driver, nodes, stores } = this.#actions.deps;
    const { name, annotations } = attachment.metadata;
    const volume = this.#volumeFor(attachment);
    const handle = this.#handleOf(volume, attachment);
    if (volume?.metadata.deletionTimestamp !== undefined)
      throw refused(`PersistentVolume "${volume.metadata.name}" is marked for deletion`);
    const node = nodes.get(attachment.spec.nodeName);
    const machine = node === undefined ? "it does not exist" : volumeNodeOf(node, driver);
    if (typeof machine === "string")
      throw refused(
        `Volumes of ${driver.name} cannot be attached to the Node ${attachment.spec.nodeName}: ${machine}.`,
        willRetry,
      );
    this.#checkLimit(attachment, machine);
    const keep = volume && finalizerPatch(volume, attacherFinalizer(driver.name), "present");
    const why = `volume ${handle} is being attached to ${attachment.spec.nodeName}`;
    if (volume !== undefined && keep !== undefined)
      await this.#actions.patch(persistentVolumes, stores.volumes, volume, keep, why, signal);
    const finalizers = attachment.metadata.finalizers ?? [];
    const finalizer = attacherFinalizer(driver.name);
    if (!finalizers.includes(finalizer) || annotations?.[nodeIDKey] !== machine.id) {
      const body = {
        metadata: {
          resourceVersion: attachment.metadata.resourceVersion,
          finalizers: [...new Set([...finalizers, finalizer])],
          annotations: { [nodeIDKey]: machine.id },
        },
      };
      await this.#patch(attachment, body, why, signal);
    }
    const change = { object: `volume/${volumeOf(attachment)}`, why: `VolumeAttachment ${name}` };
    const ref = refOf(attachment);
    this.#actions.start(this.works, ref, "ControllerPublishVolume", change, async (cloud, life) => ({
      attached: await cloud.attach(handle, machine.id, life),
    }));
    return waiting;
  }

  /** Whether the Node has a different machine than when the volume was attached. */
  #isReplaced({ metadata, spec }: VolumeAttachment): boolean {
    const { driver, nodes } = this.#actions.deps;
    const recorded = metadata.annotations?.[nodeIDKey];
    const current = driver.nodeIDOf(nodes.get(spec.nodeName)?.spec.providerID ?? "");
    return recorded !== undefined && current !== undefined && recorded !== current;
  }

  /** Records the detachment from the Node's former machine. The volume is attached to the current machine next. */
  async #noteMoved(attachment: VolumeAttachment, signal: AbortSignal): Promise<Outcome> {
    const why = "the volume is detached from the former machine of its Node";
    const status = { attached: false, attachmentMetadata: null, detachError: null };
    await this.#patch(attachment, { status }, why, signal);
    await this.#patch(attachment, { metadata: { annotations: { [nodeIDKey]: null } } }, why, signal);
    this.#settle(attachment);
    return requeue(milliseconds(0), why);
  }

  /**
   * Detaches a volume that a former leader, or the release of a hold, left attached to another machine. Requires two
   * checks, some time apart, that no VolumeAttachment needs it there and that no kubelet uses it.
   */
  async #free(
    attachment: VolumeAttachment,
    machine: string,
    signal: AbortSignal,
  ): Promise<Outcome | undefined> {
    const { api, driver, nodes, stores } = this.#actions.deps;
    const handle = this.#handleOf(this.#volumeFor(attachment), attachment);
    const isOn = (node: Node): boolean => driver.nodeIDOf(node.spec.providerID ?? "") === machine;
    const known = nodes.list().find(isOn);
    if (known === undefined) return undefined;
    const node = await api.get(nodeResource, { name: known.metadata.name }, signal);
    const all = await this.#actions.listNow(volumeAttachments, signal);
    const isWanted = all.some(({ metadata, spec }) => {
      const isThere = spec.nodeName === known.metadata.name || metadata.annotations?.[nodeIDKey] === machine;
      const volume = stores.volumes.get(spec.source.persistentVolumeName ?? "");
      return isThere && (volume?.spec?.csi?.volumeHandle ?? handle) === handle;
    });
    const isInUse = node.status.volumesInUse?.includes(nameInUse(driver.name, handle)) === true;
    if (isWanted || isInUse || !isOn(node) || !isReady(node)) {
      this.#unwanted.delete(attachment.metadata.uid);
      return undefined;
    }
    const wait = this.#unwanted.confirm(attachment.metadata.uid, this.#actions.deps);
    if (wait > 0) return requeue(wait, "another answer about the volume");
    const why = `no VolumeAttachment needs it on machine ${machine}, and its kubelet does not use it`;
    const change = { object: `volume/${volumeOf(attachment)}`, why };
    const ref = refOf(attachment);
    this.#actions.start(this.works, ref, "ControllerUnpublishVolume", change, async (cloud, life) => ({
      detached: { isProved: await cloud.detach(handle, machine, life) },
    }));
    return waiting;
  }

  /** The scheduler enforces the limit too, but pods can be assigned without the scheduler. */
  #checkLimit({ metadata, spec }: VolumeAttachment, { limit }: VolumeNode): void {
    const others = this.#actions.history.attachmentsOn
      .get(spec.nodeName)
      .filter(
        (other) =>
          other.metadata.name !== metadata.name &&
          other.spec.attacher === spec.attacher &&
          (other.metadata.finalizers ?? []).length > 0,
      );
    if (others.length >= limit)
      throw refused(
        `The machine of the Node ${spec.nodeName} has ${others.length} volumes, and can have ${limit}. The volume is attached when there is room. Move pods with volumes to other Nodes.`,
      );
  }

  async #noteAttached(
    attachment: VolumeAttachment,
    attached: ObservedVolume,
    signal: AbortSignal,
  ): Promise<Outcome> {
    const { driver } = this.#actions.deps;
    const status = {
      attached: true,
      attachmentMetadata: driver.publishContextOf(attached),
      attachError: null,
    };
    await this.#patch(attachment, { status }, "the volume is attached", signal);
    this.#settle(attachment);
    return settled;
  }

  async #detach(attachment: VolumeAttachment, signal: AbortSignal): Promise<Outcome> {
    const { driver } = this.#actions.deps;
    const { name } = attachment.metadata;
    const handle = this.#handleOf(this.#volumeFor(attachment), attachment);
    const machine = this.proofs.machineOf(attachment, this.#actions.deps.nodes.get(attachment.spec.nodeName));
    const writer = await this.proofs.writerOf(attachment, machine, nameInUse(driver.name, handle), signal);
    if (writer !== undefined) {
      const outcome = await this.proofs.await(attachment, machine, writer, signal);
      if (outcome !== undefined) return outcome;
    }
    // A volume cannot be attached to a machine that is gone.
    const ref = refOf(attachment);
    const isGone = writer !== undefined && this.proofs.isGone(ref);
    this.#settleNode(attachment);
    this.proofs.forget(ref);
    const why = `VolumeAttachment ${name} is being deleted${writer === undefined ? "" : ", and the machine can no longer write to the volume"}`;
    const change = { object: `volume/${volumeOf(attachment)}`, why };
    this.#actions.start(this.works, ref, "ControllerUnpublishVolume", change, async (cloud, life) => {
      const wasAttached = await cloud.detach(handle, machine.id, life);
      return { detached: { isProved: wasAttached || isGone } };
    });
    return waiting;
  }

  /**
   * The finalizer is removed first, as in upstream: with the finalizer, an attachment that is not attached may still
   * become attached.
   */
  async #noteDetached(attachment: VolumeAttachment, signal: AbortSignal): Promise<Outcome> {
    const { driver, stores } = this.#actions.deps;
    const patch = finalizerPatch(attachment, attacherFinalizer(driver.name), "absent");
    const why = "the volume is detached";
    const left =
      patch &&
      (await this.#actions.patch(volumeAttachments, stores.attachments, attachment, patch, why, signal));
    if ((left?.metadata.finalizers ?? []).length === 0) return settled;
    const status = { attached: false, attachmentMetadata: null, detachError: null };
    await this.#patch(attachment, { status }, why, signal);
    return settled;
  }

  #volumeFor(attachment: VolumeAttachment): PersistentVolume | undefined {
    return this.#actions.deps.stores.volumes.get(volumeOf(attachment));
  }

  #handleOf(volume: PersistentVolume | undefined, attachment: VolumeAttachment): string {
    const { driver, volumeHandle } = volume?.spec?.csi ?? attachment.spec.source.inlineVolumeSpec?.csi ?? {};
    const { name } = this.#actions.deps.driver;
    if (driver === name && volumeHandle !== undefined && volumeHandle !== "") return volumeHandle;
    throw refused(
      `The volume of VolumeAttachment ${attachment.metadata.name} is unknown: the PersistentVolume "${volumeOf(attachment)}" ${volume === undefined ? "does not exist" : `is not a volume of ${name}`}. Nothing is attached or detached until it is.`,
    );
  }

  async #reportError(
    attachment: VolumeAttachment,
    field: "attachError" | "detachError",
    error: unknown,
    signal: AbortSignal,
  ): Promise<void> {
    if (isNoProblem(error)) return;
    const cause = cloudErrorIn(error);
    const isAttach = field === "attachError";
    const reason = isAttach ? "FailedAttachVolume" : "FailedDetachVolume";
    this.#actions.report(kind, attachment, isAttach ? "attach" : "detach", [
      { severity: "error", reason, text: textOf(cause), promise: promiseOf(cause) },
    ]);
    await saveError(this.#actions, attachment, field, messageOf(cause), signal);
  }

  async #patch(
    attachment: VolumeAttachment,
    body: FieldChanges,
    why: string,
    signal: AbortSignal,
  ): Promise<void> {
    const { attachments } = this.#actions.deps.stores;
    await this.#actions.merge(volumeAttachments, attachments, attachment, body, why, signal);
  }

  /** Called when the attachment has no problem. */
  #settle(attachment: VolumeAttachment): void {
    for (const topic of ["attach", "detach"] as const) this.#actions.report(kind, attachment, topic, []);
    this.#settleNode(attachment);
    this.proofs.forget(refOf(attachment));
  }

  #settleNode({ metadata, spec }: VolumeAttachment): void {
    const { history, deps } = this.#actions;
    const node = deps.nodes.get(spec.nodeName);
    const others = history.attachmentsOn
      .get(spec.nodeName)
      .filter((other) => other.metadata.uid !== metadata.uid && this.proofs.isWaiting(refOf(other)));
    if (node !== undefined && others.length === 0) this.#actions.report("Node", node, "detach", []);
  }

  #forget(ref: ObjectRef): void {
    this.#actions.deps.removals.endHold(removalKind, uidIn(ref));
    this.#missing.forget(uidIn(ref));
    this.#unwanted.delete(uidIn(ref));
    this.#actions.forget(kind, ref);
    this.proofs.forget(ref);
  }
}
