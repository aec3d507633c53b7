// VolumeAttachments: attaches and detaches volumes, as external-attacher does. A volume is detached from a machine that may still write to
// it only when the cloud proves that the machine is gone or stopped.

import type { NodeIdentity } from "../../cloud/node-identity.ts";
import {
  type Milliseconds,
  milliseconds,
  minutes,
  nodeName,
  type ProviderID,
  seconds,
} from "../../core/brand.ts";
import { defined } from "../../core/defined.ts";
import { messageOf } from "../../core/error-message.ts";
import { RpcError } from "../../grpc/status.ts";
import { isKubeError } from "../../kube/errors/kube-error.ts";
import { type Node, type PersistentVolume, toTime, type VolumeAttachment } from "../../kube/objects.ts";
import { finalizerPatch } from "../../kube/patches/service-patch.ts";
import { nodes, persistentVolumes, volumeAttachments } from "../../kube/resources.ts";
import type { Index } from "../../kube/watch/store.ts";
import type { ObservedVolume } from "../../provider/volumes.ts";
import { type Outcome, requeue, settled, waiting } from "../../runtime/workers.ts";
import { PendingLookups } from "../pending-lookups.ts";
import { BackgroundWork } from "./background-work.ts";
import { attacherFinalizer, nameInUse, nodeIDKey, outOfServiceTaint, unmountedKey } from "./names.ts";
import { addAnswer, missingProof, noEvidence, type StoppedEvidence, writerOf } from "./plan-detachment.ts";
import { SecondAnswers } from "./second-answers.ts";
import { cloudErrorIn, type FieldChanges, isNoProblem, type VolumeActions } from "./volume-actions.ts";
import { type VolumeNode, volumeNodeOf } from "./volume-node.ts";

const kind = "VolumeAttachment";
/** A machine that runs is looked up again after this time. */
const recheckAfter: Milliseconds = minutes(1);
/** The last status of the kubelet may arrive a moment after the deletion of the attachment. */
const reportAfter: Milliseconds = seconds(5);

type Finished =
  | { readonly attached: ObservedVolume }
  /** `isProved`: no other answer of the cloud is needed. */
  | { readonly detached: { readonly isProved: boolean } };

interface Waiting {
  /** Of the VolumeAttachment: the next one has the same name, and perhaps another machine. */
  readonly uid: string;
  readonly began: number;
  /** What the cloud says about the machine. */
  readonly evidence: StoppedEvidence;
  /** When the machine is looked up next. Monotonic. */
  readonly checkAt: number;
}

/** The machine of an attachment: its Node may be gone, or may have another one. */
interface Machine {
  readonly node: Node | undefined;
  readonly id: string;
  readonly isSame: boolean;
}

const volumeOf = ({ spec }: VolumeAttachment): string => spec.source.persistentVolumeName ?? "";

export class Attachments {
  readonly works: BackgroundWork<Finished | undefined>;
  readonly #actions: VolumeActions;
  readonly #lookups: PendingLookups;
  readonly #byNode: Index<VolumeAttachment>;
  /** Those that wait until their machine is proved to be stopped or gone, by name. */
  readonly #waiting = new Map<string, Waiting>();
  readonly #notAttached: SecondAnswers;

  constructor(actions: VolumeActions, enqueue: (key: string) => void) {
    const { inventory, clock, stores, settings } = actions.deps;
    this.#actions = actions;
    this.#notAttached = new SecondAnswers(clock, settings);
    this.works = new BackgroundWork(enqueue);
    this.#lookups = new PendingLookups(inventory, clock);
    this.#byNode = stores.attachments.index(({ spec }) => [spec.nodeName]);
  }

  /** Nothing was observed between two sessions, and another account may answer: every proof starts again. */
  forgetEvidence(): void {
    this.#waiting.clear();
    this.#notAttached.clear();
  }

  /** The names of those that wait for an answer of the cloud about their machine. */
  get waiting(): Iterable<string> {
    return this.#waiting.keys();
  }

  /** The names of those that have asked for one. */
  get asking(): Iterable<string> {
    return this.#lookups.keys;
  }

  /** Those on a Node, which has changed. */
  on(node: string): readonly VolumeAttachment[] {
    return this.#byNode.get(node);
  }

  async reconcile(name: string, signal: AbortSignal): Promise<Outcome> {
    const { stores, driver } = this.#actions.deps;
    const attachment = stores.attachments.get(name);
    const work = this.works.take(name);
    if (work === "running") return waiting;
    if (attachment === undefined || attachment.spec.attacher !== driver.name) {
      this.#forget(name);
      return settled;
    }
    const isLeaving = attachment.metadata.deletionTimestamp !== undefined;
    const finalizers = attachment.metadata.finalizers ?? [];
    if (
      isLeaving ? !finalizers.includes(attacherFinalizer(driver.name)) : attachment.status?.attached === true
    ) {
      this.#settle(attachment);
      return settled;
    }
    try {
      if (work !== undefined && "error" in work) {
        this.#notAttached.forget(attachment.metadata.uid);
        throw work.error;
      }
      if (work !== undefined && work.value === undefined) return settled;
      const done = work?.value;
      if (done !== undefined && "detached" in done && isLeaving) {
        const wait = done.detached.isProved ? 0 : this.#notAttached.wait(attachment.metadata.uid);
        if (wait > 0) return requeue(milliseconds(wait), "another answer about the volume");
        return await this.#noteDetached(attachment, signal);
      }
      if (done !== undefined && "attached" in done && !isLeaving)
        return await this.#noteAttached(attachment, done.attached, signal);
      return isLeaving ? await this.#detach(attachment, signal) : await this.#attach(attachment, signal);
    } catch (error) {
      await this.#reportError(attachment, isLeaving ? "detachError" : "attachError", error, signal);
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
        `Volumes of ${driver.name} cannot be attached to the Node ${attachment.spec.nodeName}: ${machine}. Fairlead will retry.`,
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
    this.#actions.start(this.works, name, "ControllerPublishVolume", change, async (cloud, life) => ({
      attached: await cloud.attach(handle, machine.id, life),
    }));
    return waiting;
  }

  /** The scheduler counts too, but pods can be assigned without it. */
  #checkLimit({ metadata, spec }: VolumeAttachment, { limit }: VolumeNode): void {
    const others = this.on(spec.nodeName).filter(
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
    const machine = this.#machineOf(attachment, this.#actions.deps.nodes.get(attachment.spec.nodeName));
    const writer = await this.#writerOf(attachment, machine, nameInUse(driver.name, handle), signal);
    if (writer !== undefined) {
      const outcome = await this.#await(attachment, machine, writer, signal);
      if (outcome !== undefined) return outcome;
    }
    // A volume cannot be attached to a machine that is gone.
    const isGone = writer !== undefined && this.#waiting.get(name)?.evidence.isGone === true;
    this.#settle(attachment);
    const why = `VolumeAttachment ${name} is being deleted${writer === undefined ? "" : ", and the machine cannot write to the volume any more"}`;
    const change = { object: `volume/${volumeOf(attachment)}`, why };
    this.#actions.start(this.works, name, "ControllerUnpublishVolume", change, async (cloud, life) => {
      const wasAttached = await cloud.detach(handle, machine.id, life);
      return { detached: { isProved: wasAttached || isGone } };
    });
    return waiting;
  }

  /**
   * Why the machine may still write to the volume. Once its kubelet did not use it, it cannot mount it again: it refuses an attachment that
   * is being deleted, but reports the volume for the next pod that waits for it. So this is read without a cache, and kept.
   */
  async #writerOf(
    attachment: VolumeAttachment,
    machine: Machine,
    inUse: string,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const { annotations = {}, creationTimestamp: createdAt = "" } = attachment.metadata;
    const { nodeName } = attachment.spec;
    if (annotations[unmountedKey] !== undefined) return undefined;
    const ask = ({ node, isSame: isSameMachine }: Machine): string | undefined =>
      writerOf(node, { nodeName, inUse, isSameMachine, createdAt });
    const cached = ask(machine);
    if (cached !== undefined) return cached;
    const current = await this.#actions.deps.api
      .get(nodes, { name: nodeName }, signal)
      .catch((error: unknown) => {
        if (isKubeError(error, "not-found")) return undefined;
        throw error;
      });
    const writer = ask(this.#machineOf(attachment, current));
    if (writer !== undefined) return writer;
    const body = { metadata: { annotations: { [unmountedKey]: "true" } } };
    await this.#patch(attachment, body, "its machine does not use the volume", signal);
    return undefined;
  }

  #machineOf({ metadata, spec }: VolumeAttachment, node: Node | undefined): Machine {
    const { driver } = this.#actions.deps;
    const current = node?.spec.providerID === undefined ? undefined : driver.nodeIDOf(node.spec.providerID);
    const id = metadata.annotations?.[nodeIDKey] ?? current;
    if (id !== undefined) return { node, id, isSame: id === current };
    throw refused(
      `The machine of VolumeAttachment ${metadata.name} is unknown: the Node ${spec.nodeName} is gone, and the annotation ${nodeIDKey} is missing. The volume is not detached. Add the annotation with the id of the machine.`,
    );
  }

  /** Waits for the proof that the machine cannot write any more. Undefined when it is complete. */
  async #await(
    attachment: VolumeAttachment,
    { node, id }: Machine,
    writer: string,
    signal: AbortSignal,
  ): Promise<Outcome | undefined> {
    const { clock, inventory, driver, settings, removals } = this.#actions.deps;
    const { name } = attachment.metadata;
    const identity: NodeIdentity = {
      name: nodeName(attachment.spec.nodeName),
      providerID: driver.providerIDOf(id) as ProviderID,
      addresses: [],
    };
    const now = clock.monotonic();
    const { uid } = attachment.metadata;
    const last = this.#waiting.get(name);
    const known = last?.uid === uid ? last : { uid, began: now, evidence: noEvidence(now), checkAt: now };
    const answer = inventory.check(identity);
    const evidence = addAnswer(known.evidence, answer, now);
    this.#waiting.set(name, { ...known, evidence });
    const hasAnswer = "asOf" in answer && answer.asOf >= evidence.since;
    if ("asOf" in answer && this.#lookups.isUsedUpBy(name, answer.asOf)) this.#lookups.forget(name);
    const apart = inventory.proofsApart(identity, settings.confirmAfter);
    const next = missingProof(evidence, apart, inventory.proofsFor(identity));
    // So many machines are gone that it may be a fault of the cloud.
    const isDoubtful = evidence.isGone && removals.held("nodes").length > 0;
    if (next === undefined && !isDoubtful) return undefined;
    const isNew = now - known.began < reportAfter;
    if (isNew) return requeue(milliseconds(known.began + reportAfter - now), "the status of the kubelet");
    await this.#reportWait(attachment, { node, id, writer, evidence, isDoubtful }, signal);
    const isRunning = hasAnswer && evidence.proofs.length === 0;
    // Only newer answers count at the next check.
    const checkAt = isRunning ? now + recheckAfter : known.checkAt;
    if (isRunning) this.#waiting.set(name, { ...known, evidence: noEvidence(now), checkAt });
    if (next === undefined) return requeue(recheckAfter, "the mass limit of Nodes");
    const due = (evidence.proofs.length === 0 ? checkAt : (next.at ?? now)) - now;
    if (due > 0) {
      this.#lookups.forgetFailed(name, identity);
      return requeue(milliseconds(due), "the next answer about the machine");
    }
    this.#lookups.ask(name, identity, { urgency: "deletion-proof", ...defined({ method: next.kind }) });
    return waiting;
  }

  async #reportWait(
    attachment: VolumeAttachment,
    {
      node,
      id,
      writer,
      evidence,
      isDoubtful,
    }: {
      readonly node: Node | undefined;
      readonly id: string;
      readonly writer: string;
      readonly evidence: StoppedEvidence;
      readonly isDoubtful: boolean;
    },
    signal: AbortSignal,
  ): Promise<void> {
    const { removals } = this.#actions.deps;
    const state =
      evidence.proofs.length > 0
        ? `the cloud reports that machine ${id} is ${evidence.isGone ? "gone" : "stopped"}, which must be confirmed`
        : `machine ${id} may still write to it`;
    const how =
      node === undefined
        ? "stop the machine, or detach the volume in the cloud"
        : `run: kubectl taint node ${attachment.spec.nodeName} ${outOfServiceTaint}=nodeshutdown:NoExecute`;
    const doubt = isDoubtful
      ? ` So many Nodes look gone at once that it may be a fault of the cloud. To delete them anyway: ${removals.howToRelease("nodes")}`
      : "";
    const message = `${writer}, and ${state}. The volume ${volumeOf(attachment)} is not detached before the machine is proved to be stopped or gone. If it certainly does not run, ${how}.${doubt}`;
    const event = { type: "Warning", reason: "DetachmentWaits", message } as const;
    this.#actions.report(kind, attachment, "detach", [event]);
    if (node !== undefined) this.#actions.report("Node", node, "detach", [event]);
    await this.#saveError(attachment, "detachError", message, signal);
  }

  /** The finalizer goes first, as in upstream: with it, an attachment that is not attached may still be. */
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
      `The volume of VolumeAttachment ${attachment.metadata.name} is unknown: the PersistentVolume "${volumeOf(attachment)}" ${volume === undefined ? "does not exist" : `is no volume of ${name}`}. Nothing is attached or detached until it is.`,
    );
  }

  async #reportError(
    attachment: VolumeAttachment,
    field: "attachError" | "detachError",
    error: unknown,
    signal: AbortSignal,
  ): Promise<void> {
    if (isNoProblem(error)) return;
    const message = messageOf(cloudErrorIn(error));
    const isAttach = field === "attachError";
    const reason = isAttach ? "FailedAttachVolume" : "FailedDetachVolume";
    this.#actions.report(kind, attachment, isAttach ? "attach" : "detach", [
      { type: "Warning", reason, message },
    ]);
    await this.#saveError(attachment, field, message, signal);
  }

  /** The attach/detach controller shows it as an event of the pod. */
  async #saveError(
    attachment: VolumeAttachment,
    field: "attachError" | "detachError",
    message: string,
    signal: AbortSignal,
  ): Promise<void> {
    const { stores, clock } = this.#actions.deps;
    const current = stores.attachments.get(attachment.metadata.name) ?? attachment;
    if (current.status?.[field]?.message === message) return;
    const status = { [field]: { message, time: toTime(clock.now()) } };
    await this.#patch(current, { status }, message, signal);
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

  /** Nothing is wrong with it. */
  #settle(attachment: VolumeAttachment): void {
    const { name } = attachment.metadata;
    for (const topic of ["attach", "detach"] as const) this.#actions.report(kind, attachment, topic, []);
    this.#settleNode(attachment);
    this.#waiting.delete(name);
    this.#lookups.forget(name);
  }

  #settleNode({ metadata: { name }, spec }: VolumeAttachment): void {
    const node = this.#actions.deps.nodes.get(spec.nodeName);
    const others = this.on(spec.nodeName).filter(
      ({ metadata }) => metadata.name !== name && this.#waiting.has(metadata.name),
    );
    if (node !== undefined && others.length === 0) this.#actions.report("Node", node, "detach", []);
  }

  #forget(name: string): void {
    this.#actions.forget(kind, name);
    this.#waiting.delete(name);
    this.#lookups.forget(name);
  }
}

function refused(message: string): RpcError {
  return new RpcError("FAILED_PRECONDITION", message);
}
