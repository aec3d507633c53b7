// Marks Nodes whose machine is switched off and removes those whose machine is proved to be gone. All decisions are in
// `plan.ts`; here the question for it is put together, and what it decides is handed to those who do it.

import { type Milliseconds, milliseconds, minutes, seconds } from "../../core/brand.ts";
import type { Node } from "../../kube/objects.ts";
import { WorkQueue } from "../../runtime/work-queue.ts";
import { again, type Outcome, runWorkers, settled, waiting } from "../../runtime/workers.ts";
import { restAfterError } from "../lost-race.ts";
import { identityOf, isUninitialized } from "../node-facts.ts";
import type { NodePorts } from "../node-deps.ts";
import { Questions } from "../pending-lookups.ts";
import { addAnswer, noEvidence } from "./evidence.ts";
import { createMassCount } from "./mass-count.ts";
import { type LifecycleDecision, massDeletionHeld, planLifecycle } from "./plan.ts";
import { createRechecks } from "./rechecks.ts";
import { isOfInterest } from "./relevant-change.ts";
import { removeNode } from "./remove-node.ts";
import { setShutdownTaint } from "./set-shutdown-taint.ts";
import type { LifecycleSettings } from "./settings.ts";
import { type Suspect, Suspects } from "./candidates.ts";
import { createWakeUps } from "./triggers.ts";

export interface LifecycleOptions extends NodePorts {
  readonly settings: LifecycleSettings;
}

export interface LifecycleController {
  readonly queue: WorkQueue;
  /** What is known of Nodes that are not Ready or switched off, by name. */
  readonly suspects: ReadonlyMap<string, Suspect>;
  run(signal: AbortSignal): Promise<void>;
}

const observedRest: Milliseconds = minutes(1);

export const createLifecycleController = (options: LifecycleOptions): LifecycleController => {
  const { nodes, inventory, settings, clock, tell } = options;
  const queue = new WorkQueue(clock);
  const questions = new Questions(inventory, clock);
  const suspects = new Suspects(clock, questions);
  const rechecks = createRechecks(options, suspects);
  /** Against a wall clock that is set forward while we run: nothing gets old by that. */
  const wallAtStart = clock.now() - clock.monotonic();
  const steadyWall = () => Math.min(clock.now(), clock.monotonic() + wallAtStart);
  // With a provider id the selector counts too: a second account of the same cloud has ids of the same form, and does not
  // know our machines, as we do not know its.
  const isManaged = (node: Node) => inventory.claims(identityOf(node)) && options.isSelected(node);
  const massCount = createMassCount(options, suspects, isManaged);
  const onNews = (): void => {
    suspects.noteSightings((name) => {
      const node = nodes.get(name);
      return node && inventory.look(identityOf(node));
    });
    massCount.recount();
  };
  const wakeUps = createWakeUps(options, { queue, suspects, questions, isManaged, onNews });
  // For as long as the process lives, not for a term: what another replica deleted counts after a hand-over too.
  suspects.follow(nodes);
  massCount.follow();

  const reconcile = async (name: string, signal: AbortSignal): Promise<Outcome> => {
    const node = nodes.get(name);
    if (node === undefined || !isOfInterest(node) || !isManaged(node)) {
      suspects.forget(name);
      return settled;
    }
    const now = { wall: steadyWall(), monotonic: clock.monotonic() };
    const suspect = suspects.of(node);
    const identity = identityOf(node);
    const answer = inventory.look(identity);
    const seenSince = now.monotonic - (acceptedAge(node) ?? 0);
    const known = suspect.evidence ?? noEvidence(now.monotonic, seenSince);
    const evidence = addAnswer(known, answer, now.monotonic);
    suspects.update(name, { evidence });
    if ("asOf" in answer && questions.isAnsweredBy(name, answer.asOf)) questions.forget(name);
    // A machine seen before it was asked about was answer enough, and nothing newer comes of that question.
    if (answer.kind === "exists" && questions.isUsedUpBy(name, answer.asOf)) questions.forget(name);
    const ways = inventory.waysFor(identity);
    const mass = massCount.verdict;
    return carryOut(node, planLifecycle({ node, answer, evidence, ways, mass, settings, now }), signal);
  };

  const carryOut = async (node: Node, decision: LifecycleDecision, signal: AbortSignal): Promise<Outcome> => {
    const { name } = node.metadata;
    switch (decision.kind) {
      case "leave":
        suspects.forget(name);
        return settled;
      case "taint": {
        const isWritten = await setShutdownTaint(node, decision.shutdown, options, signal);
        return isWritten ? again(milliseconds(0), "the taint to be seen") : again(observedRest, "observed");
      }
      case "watch":
        return watch(node);
      case "ask": {
        if (decision.after > 0) return again(decision.after, "the next proof");
        const way = decision.way === undefined ? {} : { way: decision.way };
        questions.ask(name, identityOf(node), { urgency: "deletion-proof", ...way }, acceptedAge(node));
        return waiting;
      }
      case "hold":
        return hold(node, decision);
      case "delete":
        return remove(node, decision.isAnnounced, signal);
    }
  };

  /** The machine exists: look again after a while, with an answer that is newer than that. */
  const watch = (node: Node): Outcome => {
    const { name } = node.metadata;
    suspects.update(name, { heldFor: undefined });
    if (!rechecks.isDue(name)) {
      const requests = () => inventory.costOf(identityOf(node), suspects.looks + 1);
      return again(rechecks.rest(name, requests), "another look");
    }
    const since = clock.monotonic();
    const evidence = { ...suspects.evidenceOf(name), since, seenSince: since };
    suspects.update(name, { evidence, nextLook: undefined });
    return again(milliseconds(0), "another look");
  };

  const hold = (node: Node, { reason, text }: Extract<LifecycleDecision, { kind: "hold" }>): Outcome => {
    const { name } = node.metadata;
    if (suspects.all.get(name)?.heldFor !== reason) {
      suspects.update(name, { heldFor: reason });
      tell(node, { type: "Warning", reason, message: text });
    }
    // Whether the inventory has recovered is seen only by asking again.
    if (rechecks.isDue(name)) {
      const way = reason === massDeletionHeld ? ({ way: "listing" } as const) : {};
      questions.ask(name, identityOf(node), { urgency: "deletion-proof", ...way });
    }
    const pages = () => inventory.sources.reduce((sum, { latest }) => sum + (latest?.pages ?? 1), 0);
    return again(rechecks.rest(name, pages), reason);
  };

  const remove = async (node: Node, isAnnounced: boolean, signal: AbortSignal): Promise<Outcome> => {
    const { name, uid } = node.metadata;
    // Our own last write told us a version whose status we have not seen: a delete may not rely on it.
    if (nodes.isAhead?.(name) === true) return again(seconds(1), "the watch to catch up");
    if (!(await removeNode(node, options, signal))) return again(observedRest, "observed");
    if (!isAnnounced) massCount.wentUnannounced(uid);
    // What is known of it stays until the watch tells that it is gone: it says whether the deletion was announced.
    return settled;
  };

  const onError = (_: string, error: unknown, failures: number): Outcome =>
    again(restAfterError(error, failures, options), "an error");

  const run = async (signal: AbortSignal): Promise<void> => {
    // Between two terms others led and nobody watched for us: every proof starts again.
    suspects.forgetAll();
    const stop = wakeUps.begin();
    try {
      await runWorkers({ queue, count: options.concurrency, reconcile, onError, clock }, signal);
    } finally {
      stop();
    }
  };

  return { queue, suspects: suspects.all, run };
};

/** A node that joins is not Ready yet; that its machine was seen a moment ago is all there is to know then. */
const acceptedAge = (node: Node): Milliseconds | undefined =>
  isUninitialized(node) ? minutes(1) : undefined;
