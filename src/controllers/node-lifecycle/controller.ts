// Marks Nodes whose machine is switched off and removes those whose machine is proved to be gone. All decisions are in
// `plan.ts`; here is when to ask, what has been proved so far, and how what was decided is carried out.

import { restAfter } from "../../cloud/disposition.ts";
import { type Milliseconds, milliseconds, minutes, seconds } from "../../core/brand.ts";
import { messageOf } from "../../core/message-of.ts";
import { isKubeError } from "../../kube/kube-error.ts";
import { guardedNodePatch } from "../../kube/node-patch.ts";
import type { Node } from "../../kube/objects.ts";
import { backoff, together, untilNext } from "../../runtime/backoff.ts";
import { WorkQueue } from "../../runtime/work-queue.ts";
import { again, type Outcome, runWorkers, settled, waiting } from "../../runtime/workers.ts";
import { hasTaint, identityOf, isReady, isUninitialized, readiness, taintsOf } from "../node-facts.ts";
import type { NodePorts } from "../node-ports.ts";
import { Questions } from "../questions.ts";
import { shutdownTaint } from "../well-known.ts";
import { addProof, addSighting, type Evidence, noEvidence } from "./evidence.ts";
import { createMassCount } from "./mass-count.ts";
import { isAnnouncedAsLeaving, type LifecycleDecision, massDeletionHeld, planLifecycle } from "./plan.ts";
import type { LifecycleSettings } from "./settings.ts";

export interface LifecycleOptions extends NodePorts {
  readonly settings: LifecycleSettings;
}

export interface LifecycleController {
  readonly queue: WorkQueue;
  /** What speaks for absence, by Node name. */
  readonly evidence: ReadonlyMap<string, Evidence>;
  /** Why it is not deleted for now, by Node name. */
  readonly held: ReadonlyMap<string, string>;
  run(signal: AbortSignal): Promise<void>;
}

const lostRace = { first: milliseconds(100), cap: minutes(1) };
const heldRest: Milliseconds = minutes(1);

export const createLifecycleController = (options: LifecycleOptions): LifecycleController => {
  const { nodes, inventory, writes, settings, clock, random, tell } = options;
  const queue = new WorkQueue(clock);
  const asked = new Questions(inventory, clock);
  const evidence = new Map<string, Evidence>();
  /** Whom the evidence is about: another Node may take the name, and what was proved of a name says nothing of an id. */
  const subjects = new Map<string, string>();
  const nextLook = new Map<string, number>();
  const held = new Map<string, string>();
  /** Against a wall clock that is set forward while we run: nothing gets old by that. */
  const wallAtStart = clock.now() - clock.monotonic();
  const steadyWall = () => Math.min(clock.now(), clock.monotonic() + wallAtStart);
  // With a provider id the selector counts too: a second account of the same cloud has ids of the same form, and does not
  // know our machines, as we do not know its.
  const isManaged = (node: Node) => inventory.claims(identityOf(node)) && options.isSelected(node);
  const suspects = createMassCount({ nodes, inventory, clock, settings, evidence, isManaged });

  // For as long as the process lives, not for a term: what another replica deleted counts after a hand-over too.
  nodes.subscribe(({ key, before, after }) => {
    // Seen alive, if only for a moment that no worker saw: whatever was proved before proves nothing any more.
    if (after !== undefined && isReady(after)) evidence.delete(key);
    if (before === undefined || before.metadata.uid === after?.metadata.uid || isReady(before)) return;
    if (!isManaged(before) || isAnnouncedAsLeaving(before, evidence.get(key) ?? noEvidence(0))) return;
    suspects.wentUnannounced(before.metadata.uid);
  });

  const forget = (name: string): void => {
    asked.forget(name);
    evidence.delete(name);
    subjects.delete(name);
    nextLook.delete(name);
    held.delete(name);
  };

  const reconcile = async (name: string, signal: AbortSignal): Promise<Outcome> => {
    const node = nodes.get(name);
    if (node === undefined || !isOfInterest(node) || !isManaged(node)) {
      forget(name);
      return settled;
    }
    const identity = identityOf(node);
    const subject = `${node.metadata.uid} ${identity.providerID ?? ""}`;
    const before = subjects.get(name);
    const known = evidence.get(name);
    if (before !== subject) forget(name);
    // A node that has just been given its id: that its machine was seen a moment ago still counts, proofs do not.
    if (known !== undefined && before !== subject && before === `${node.metadata.uid} `) {
      evidence.set(name, noEvidence(clock.monotonic(), known.seenSince));
    }
    subjects.set(name, subject);
    const answer = inventory.look(identity);
    const decision = planLifecycle({
      node,
      answer,
      evidence: gather(node, answer),
      ways: inventory.waysFor(identity),
      mass: suspects.verdict,
      settings,
      now: { wall: steadyWall(), monotonic: clock.monotonic() },
    });
    return carryOut(node, decision, signal);
  };

  /** Adds what this answer says to what is known; an answer that a question was asked for ends that question. */
  const gather = (node: Node, answer: ReturnType<typeof inventory.look>): Evidence => {
    const { name } = node.metadata;
    const now = clock.monotonic();
    const before = evidence.get(name) ?? noEvidence(now, now - (acceptedAge(node) ?? 0));
    const seen = answer.kind === "exists" || answer.kind === "ambiguous";
    const after =
      answer.kind === "gone" ? addProof(before, answer, now) : seen ? addSighting(before, answer) : before;
    evidence.set(name, after);
    if ("asOf" in answer && asked.isAnsweredBy(name, answer.asOf)) asked.forget(name);
    return after;
  };

  const carryOut = async (node: Node, decision: LifecycleDecision, signal: AbortSignal): Promise<Outcome> => {
    const { name } = node.metadata;
    switch (decision.kind) {
      case "leave":
        forget(name);
        return settled;
      case "taint":
        return setShutdownTaint(node, decision.shutdown, signal);
      case "watch":
        return watch(node);
      case "ask":
        if (decision.after > 0) return again(decision.after, "the next proof");
        asked.ask(
          name,
          identityOf(node),
          { urgency: "deletion-proof", ...(decision.way !== undefined && { way: decision.way }) },
          acceptedAge(node),
        );
        return waiting;
      case "hold":
        return hold(node, decision);
      case "delete":
        return remove(node, decision.isAnnounced, signal);
    }
  };

  /** The machine exists: look again after a while, at a pace that its cloud can bear. */
  const watch = (node: Node): Outcome => {
    const { name } = node.metadata;
    const now = clock.monotonic();
    const due = nextLook.get(name);
    held.delete(name);
    if (due !== undefined && now >= due) {
      nextLook.delete(name);
      evidence.set(name, { ...(evidence.get(name) ?? noEvidence(now)), since: now, seenSince: now });
      return again(milliseconds(0), "another look");
    }
    const { shortest, longest } = settings.recheck;
    const pace = Math.min(
      longest,
      Math.max(shortest, inventory.costOf(identityOf(node), nextLook.size + 1) * seconds(15)),
    );
    // At the same moments for all Nodes of one pace, so that one answer serves them all.
    const next = due ?? now + untilNext(now, milliseconds(pace));
    nextLook.set(name, next);
    return again(milliseconds(next - now), "another look");
  };

  const hold = (node: Node, { reason, text }: Extract<LifecycleDecision, { kind: "hold" }>): Outcome => {
    const { name } = node.metadata;
    if (held.get(name) !== reason) {
      held.set(name, reason);
      tell(node, { type: "Warning", reason, message: text });
    }
    // Whether the inventory has recovered is seen only by asking again.
    const due = nextLook.get(name);
    const now = clock.monotonic();
    if (due !== undefined && now >= due) {
      const way = reason === massDeletionHeld ? ({ way: "listing" } as const) : {};
      asked.ask(name, identityOf(node), { urgency: "deletion-proof", ...way });
    }
    const { shortest, longest } = settings.recheck;
    const pages = inventory.sources.reduce((sum, { latest }) => sum + (latest?.pages ?? 1), 0);
    const pace = milliseconds(Math.min(longest, Math.max(shortest, pages * seconds(15))));
    const next = due === undefined || now >= due ? now + untilNext(now, pace) : due;
    nextLook.set(name, next);
    return again(milliseconds(next - now), reason);
  };

  const remove = async (node: Node, isAnnounced: boolean, signal: AbortSignal): Promise<Outcome> => {
    const { name } = node.metadata;
    // Our own last write told us a version whose status we have not seen: a delete may not rely on it.
    if (nodes.isAhead?.(name) === true) return again(seconds(1), "the watch to catch up");
    try {
      const isGone = await writes.delete(node, "its machine is proved to be gone", signal);
      if (!isGone) return again(heldRest, "observed");
      tell(node, {
        type: "Normal",
        reason: "DeletingNode",
        message: `Deleting node ${name} because it does not exist in the cloud provider`,
      });
    } catch (error) {
      // Changed meanwhile (perhaps Ready again), gone already, or no longer ours to delete: it was not a failure.
      if (!isKubeError(error, "conflict", "not-found", "fenced")) {
        const text = messageOf(error);
        tell(node, {
          type: "Warning",
          reason: "DeletingNodeFailed",
          message: `Failed deleting node ${name}: ${text}`,
        });
      }
      throw error;
    }
    if (!isAnnounced) suspects.wentUnannounced(node.metadata.uid);
    // What is known of it stays until the watch tells that it is gone: it says whether the deletion was announced.
    return settled;
  };

  const setShutdownTaint = async (node: Node, isOff: boolean, signal: AbortSignal): Promise<Outcome> => {
    const others = taintsOf(node).filter(
      ({ key, effect }) => key !== shutdownTaint || effect !== "NoSchedule",
    );
    const taints = isOff ? [...others, { key: shutdownTaint, effect: "NoSchedule" }] : others;
    const patch = guardedNodePatch({ node, taints });
    const why = isOff ? "its machine is switched off" : "its machine runs again";
    const written = patch && (await writes.patch(node, patch, why, signal));
    if (written === undefined) return again(heldRest, "observed");
    options.note(`Shutdown taint ${isOff ? "set" : "removed"}: ${why}`, { node: node.metadata.name });
    return again(milliseconds(0), "the taint to be seen");
  };

  const onError = (name: string, error: unknown, failures: number): Outcome => {
    asked.forget(name);
    const isRace = isKubeError(error, "precondition", "conflict", "not-found");
    return again(
      isRace
        ? backoff(failures, lostRace, random)
        : together(clock.monotonic(), restAfter(error, failures, clock, random)),
      "an error",
    );
  };

  const run = async (signal: AbortSignal): Promise<void> => {
    // Between two terms others led and nobody watched for us: every proof starts again.
    for (const name of [...evidence.keys(), ...subjects.keys()]) forget(name);
    const stopNodes = nodes.subscribe(({ key, before, after }) => {
      const isKnown = before !== undefined && after !== undefined;
      if (isKnown && sameForUs(before, after) && isManaged(before) === isManaged(after)) return;
      // Nearly all of what thousands of healthy Nodes tell is none of our business.
      if (after !== undefined && !isOfInterest(after) && !subjects.has(key)) return;
      queue.add(key);
    });
    const stopNews = inventory.subscribe(() => {
      suspects.recount();
      for (const name of asked.keys) queue.add(name);
    });
    // The watch tells only what changes from here on; what is there already is looked at once.
    for (const { metadata } of nodes.list()) queue.add(metadata.name);
    try {
      await runWorkers({ queue, count: options.concurrency, reconcile, onError, clock }, signal);
    } finally {
      stopNodes();
      stopNews();
    }
  };

  return { queue, evidence, held, run };
};

/** Not Ready, or marked as switched off: the others are healthy, whatever the cloud says. */
const isOfInterest = (node: Node): boolean => !isReady(node) || hasTaint(node, shutdownTaint, "NoSchedule");

/** A node that joins is not Ready yet; that its machine was seen a moment ago is all there is to know then. */
const acceptedAge = (node: Node): Milliseconds | undefined =>
  isUninitialized(node) ? minutes(1) : undefined;

/** Whether nothing changed that a decision rests on. */
const sameForUs = (a: Node, b: Node): boolean =>
  a.metadata.uid === b.metadata.uid &&
  readiness(a) === readiness(b) &&
  a.metadata.deletionTimestamp === b.metadata.deletionTimestamp &&
  a.spec.providerID === b.spec.providerID &&
  a.spec.unschedulable === b.spec.unschedulable &&
  JSON.stringify(a.spec.taints) === JSON.stringify(b.spec.taints) &&
  JSON.stringify(a.metadata.annotations) === JSON.stringify(b.metadata.annotations);
