// Whether the machine of a VolumeAttachment may still write to its volume: according to its kubelet, or else the cloud's
// proof that the machine is gone or stopped.

import type { NodeIdentity } from "../../cloud/inventory/node-identity.ts";
import { type Counted, Doubt } from "../../controllers/kernel/doubt.ts";
import type { HoldMemory } from "../../controllers/kernel/removal-limit.ts";
import { identityOf, isLeaving, providerIDOf } from "../../controllers/node-facts.ts";
import { PendingLookups } from "../../controllers/pending-lookups.ts";
import { outOfServiceTaint } from "../../controllers/well-known.ts";
import {
  type Milliseconds,
  milliseconds,
  minutes,
  nodeName,
  type ProviderID,
  seconds,
} from "../../core/brand.ts";
import { defined } from "../../core/defined.ts";
import type { Problem } from "../../core/problem.ts";
import { commandText } from "../../core/text.ts";
import { undefinedIf } from "../../kube/errors/kube-error.ts";
import { type Node, toTime, type VolumeAttachment } from "../../kube/objects.ts";
import { nodes, volumeAttachments } from "../../kube/resources.ts";
import { type Outcome, requeue, waiting } from "../../runtime/workers.ts";
import { RpcError } from "../grpc/status.ts";
import { nodeIDKey, unmountedKey } from "./names.ts";
import { type ObjectRef, refOf } from "./object-ref.ts";
import { addAnswer, missingProof, noEvidence, type StoppedEvidence, writerOf } from "./plan-detachment.ts";
import type { VolumeActions } from "./volume-actions.ts";
import { removalKind } from "./volume-census.ts";

const kind = "VolumeAttachment";
/** A running machine is looked up again after this time. */
const recheckAfter: Milliseconds = minutes(1);
/** The kubelet's last status may arrive shortly after the deletion of the attachment. */
const reportAfter: Milliseconds = seconds(5);

interface Waiting {
  readonly began: number;
  /** The cloud's answer about the machine. */
  readonly evidence: StoppedEvidence;
  /** When the machine is looked up next (monotonic). */
  readonly checkAt: number;
}

/** The machine of an attachment, whose Node may be gone or have a different machine. */
export interface AttachedMachine {
  readonly node: Node | undefined;
  readonly id: string;
  readonly isSame: boolean;
}

export const volumeOf = ({ spec }: VolumeAttachment): string => spec.source.persistentVolumeName ?? "";

export class WriterProofs {
  readonly #actions: VolumeActions;
  readonly #lookups: PendingLookups;
  /** Parked machines say nothing about a machine that is gone, so stopped machines count only for the proof of a stop. */
  readonly #doubts: Readonly<Record<"gone" | "stopped", Doubt>>;
  #machines: ReadonlyMap<string, NodeIdentity> = new Map();
  /** The VolumeAttachments that wait until their machine is proved to be stopped or gone. */
  readonly #waiting = new Map<ObjectRef, Waiting>();

  constructor(actions: VolumeActions) {
    const { inventory, clock } = actions.deps;
    this.#actions = actions;
    this.#lookups = new PendingLookups(inventory, clock);
    const { machines, stopped } = actions.history.limits;
    const doubt = (memory: HoldMemory, countsStopped: boolean) =>
      new Doubt({
        ...actions.deps,
        kind: removalKind,
        census: { keys: () => this.#machines.keys(), of: (id) => this.#countOf(id, countsStopped) },
        memory,
        recent: () => 0,
      });
    this.#doubts = { gone: doubt(machines, false), stopped: doubt(stopped, true) };
  }

  forget(ref: ObjectRef): void {
    this.#waiting.delete(ref);
    this.#lookups.forget(ref);
  }

  /** The VolumeAttachments that wait for an answer about their machine. */
  get waiting(): Iterable<ObjectRef> {
    return this.#waiting.keys();
  }

  /** The VolumeAttachments with a pending request for such an answer. */
  get asking(): Iterable<ObjectRef> {
    return this.#lookups.keys as Iterable<ObjectRef>;
  }

  isWaiting(ref: ObjectRef): boolean {
    return this.#waiting.has(ref);
  }

  /** Whether the proof shows that the machine is gone. */
  isGone(ref: ObjectRef): boolean {
    return this.#waiting.get(ref)?.evidence.isGone === true;
  }

  /**
   * Why the machine may still write to the volume. Once its kubelet has stopped using the volume, it cannot mount it again:
   * the kubelet refuses an attachment that is being deleted, but reports the volume for the next waiting pod. The result is
   * therefore read without a cache, and kept.
   */
  async writerOf(
    attachment: VolumeAttachment,
    machine: AttachedMachine,
    inUse: string,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const { annotations = {}, creationTimestamp: createdAt = "" } = attachment.metadata;
    const { nodeName } = attachment.spec;
    if (annotations[unmountedKey] !== undefined) return undefined;
    const ask = ({ node, isSame: isSameMachine }: AttachedMachine): string | undefined =>
      writerOf(node, { nodeName, inUse, isSameMachine, createdAt });
    const cached = ask(machine);
    if (cached !== undefined) return cached;
    const current = await this.#actions.deps.api
      .get(nodes, { name: nodeName }, signal)
      .catch(undefinedIf("not-found"));
    const writer = ask(this.machineOf(attachment, current));
    if (writer !== undefined) return writer;
    const body = { metadata: { annotations: { [unmountedKey]: "true" } } };
    const { attachments } = this.#actions.deps.stores;
    const why = "its machine does not use the volume";
    await this.#actions.merge(volumeAttachments, attachments, attachment, body, why, signal);
    return undefined;
  }

  machineOf({ metadata, spec }: VolumeAttachment, node: Node | undefined): AttachedMachine {
    const { driver } = this.#actions.deps;
    const current = node?.spec.providerID === undefined ? undefined : driver.nodeIDOf(node.spec.providerID);
    const id = metadata.annotations?.[nodeIDKey] ?? current;
    if (id !== undefined) return { node, id, isSame: id === current };
    throw refused(
      `The machine of VolumeAttachment ${metadata.name} is unknown: the Node ${spec.nodeName} is gone, and the annotation ${nodeIDKey} is missing. The volume is not detached. Add the annotation with the id of the machine.`,
    );
  }

  /** Waits for the proof that the machine can no longer write. Undefined when the proof is complete. */
  async await(
    attachment: VolumeAttachment,
    { node, id }: AttachedMachine,
    writer: string,
    signal: AbortSignal,
  ): Promise<Outcome | undefined> {
    const { clock, inventory, settings } = this.#actions.deps;
    const ref = refOf(attachment);
    const identity = this.#identityOf(attachment, id);
    const now = clock.monotonic();
    const known = this.#waiting.get(ref) ?? { began: now, evidence: noEvidence(now), checkAt: now };
    const answer = inventory.check(identity);
    const evidence = addAnswer(known.evidence, answer, now);
    this.#waiting.set(ref, { ...known, evidence });
    const hasAnswer = "asOf" in answer && answer.asOf >= evidence.since;
    if ("asOf" in answer && this.#lookups.isUsedUpBy(ref, answer.asOf)) this.#lookups.forget(ref);
    const next = missingProof(evidence, settings.confirmAfter, inventory.proofsFor(identity));
    const isDoubtful = evidence.proofs.length > 0 && this.#isHeld(attachment, evidence.isGone);
    if (next === undefined && !isDoubtful) return undefined;
    const isNew = now - known.began < reportAfter;
    if (isNew) return requeue(milliseconds(known.began + reportAfter - now), "the status of the kubelet");
    // A restarted proof has no new result until there is an answer, even after a restart of the process.
    if (hasAnswer || attachment.status?.detachError === undefined)
      await this.#reportWait(attachment, { node, id, writer, evidence, isDoubtful }, signal);
    const isRunning = hasAnswer && evidence.proofs.length === 0;
    // Only newer answers count in the next check. Clouds recover step by step, so a proof also restarts after a hold.
    const isRestarted = isRunning || isDoubtful;
    const checkAt = isRestarted ? now + recheckAfter : known.checkAt;
    if (isRestarted) this.#waiting.set(ref, { ...known, evidence: noEvidence(now), checkAt });
    const due = (isRestarted || evidence.proofs.length === 0 ? checkAt : (next?.at ?? now)) - now;
    if (due > 0) {
      this.#lookups.forgetFailed(ref, identity);
      return requeue(milliseconds(due), "the next answer about the machine");
    }
    this.#lookups.ask(ref, identity, { urgency: "deletion-proof", ...defined({ method: next?.kind }) });
    return waiting;
  }

  #identityOf({ spec }: VolumeAttachment, id: string): NodeIdentity {
    const providerID = this.#actions.deps.driver.providerIDOf(id) as ProviderID;
    return { name: nodeName(spec.nodeName), providerID, addresses: [] };
  }

  #isHeld({ metadata: { uid, name } }: VolumeAttachment, isGone: boolean): boolean {
    const doubt = this.#doubts[isGone ? "gone" : "stopped"];
    this.#machines = this.#recordedMachines();
    doubt.invalidate();
    return doubt.hold(uid, name) !== undefined;
  }

  /** The machines of Nodes and volumes. If too many are gone or stopped at the same time, the cause may be a cloud fault. */
  #recordedMachines(): ReadonlyMap<string, NodeIdentity> {
    const { nodes: store, stores, driver, removals } = this.#actions.deps;
    const machines = new Map<string, NodeIdentity>();
    for (const attachment of stores.attachments.list()) {
      const { annotations, uid } = attachment.metadata;
      const id = attachment.spec.attacher === driver.name ? annotations?.[nodeIDKey] : undefined;
      if (id !== undefined && !removals.isReleased(removalKind, uid))
        machines.set(id, this.#identityOf(attachment, id));
    }
    for (const node of store.list()) {
      const id = driver.nodeIDOf(providerIDOf(node) ?? "");
      if (id !== undefined && isLeaving(node)) machines.delete(id);
      else if (id !== undefined) machines.set(id, identityOf(node));
    }
    return machines;
  }

  #countOf(id: string, countsStopped: boolean): Counted | undefined {
    const machine = this.#machines.get(id);
    if (machine === undefined) return undefined;
    const answer = this.#actions.deps.inventory.check(machine);
    const isStopped = countsStopped && answer.kind === "exists" && answer.instance.state === "stopped";
    return { id, standing: isStopped || answer.kind === "gone" ? "absent" : "present" };
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
        : `run ${commandText(`kubectl taint node ${attachment.spec.nodeName} ${outOfServiceTaint}=nodeshutdown:NoExecute`)}`;
    const doubt = isDoubtful
      ? ` Too many machines are missing or stopped at once: the cloud may be faulty, or its credentials may belong to another project. To detach the volumes anyway: ${removals.howToRelease(removalKind)}`
      : "";
    const text = `${writer}, and ${state}. The volume ${volumeOf(attachment)} is not detached before the machine is proved to be stopped or gone. If you are sure that it does not run, ${how}.${doubt}`;
    const problem: Problem = { severity: "error", reason: "DetachmentWaits", text };
    this.#actions.report(kind, attachment, "detach", [problem]);
    if (node !== undefined) this.#actions.report("Node", node, "detach", [problem]);
    await saveError(this.#actions, attachment, "detachError", text, signal);
  }
}

/** The attach/detach controller shows the error as an event on the pod. */
export async function saveError(
  actions: VolumeActions,
  attachment: VolumeAttachment,
  field: "attachError" | "detachError",
  message: string,
  signal: AbortSignal,
): Promise<void> {
  const { stores, clock } = actions.deps;
  const current = stores.attachments.get(attachment.metadata.name) ?? attachment;
  if (current.status?.[field]?.message === message) return;
  const status = { [field]: { message, time: toTime(clock.now()) } };
  await actions.merge(volumeAttachments, stores.attachments, current, { status }, message, signal);
}

export function refused(message: string, promise?: string): RpcError {
  return new RpcError("FAILED_PRECONDITION", message, { promise });
}
