// Marks Nodes whose machine is switched off and removes those whose machine is proved to be gone. All decisions are in
// `plan.ts`; here the question for it is put together, and what it decides is handed to those who do it.

import { type Milliseconds, milliseconds, minutes, seconds } from "../../core/brand.ts";
import type { Node } from "../../kube/objects.ts";
import { WorkQueue } from "../../runtime/work-queue.ts";
import { type Outcome, requeue, runWorkers, settled, waiting } from "../../runtime/workers.ts";
import { delayAfterError } from "../errors.ts";
import type { NodeDeps } from "../node-deps.ts";
import { identityOf, isUninitialized } from "../node-facts.ts";
import { PendingLookups } from "../pending-lookups.ts";
import { type Candidate, Candidates } from "./candidates.ts";
import { addAnswer, noEvidence } from "./evidence.ts";
import { createMassCount } from "./mass-count.ts";
import { type LifecycleDecision, massDeletionHeld, planLifecycle } from "./plan.ts";
import { createRechecks } from "./rechecks.ts";
import { isOfInterest } from "./relevant-change.ts";
import { removeNode } from "./remove-node.ts";
import { setShutdownTaint } from "./set-shutdown-taint.ts";
import type { LifecycleSettings } from "./settings.ts";
import { createTriggers } from "./triggers.ts";

export interface LifecycleOptions extends NodeDeps {
  readonly settings: LifecycleSettings;
}

export interface LifecycleController {
  readonly queue: WorkQueue;
  /** What is known of Nodes that are not Ready or switched off, by name. */
  readonly candidates: ReadonlyMap<string, Candidate>;
  run(signal: AbortSignal): Promise<void>;
}

const observedBackoff: Milliseconds = minutes(1);

export function createLifecycleController(options: LifecycleOptions): LifecycleController {
  const { nodes, inventory, settings, clock, report } = options;
  const queue = new WorkQueue(clock);
  const pendingLookups = new PendingLookups(inventory, clock);
  const candidates = new Candidates(clock, pendingLookups);
  const rechecks = createRechecks(options, candidates);
  /** Against a wall clock that is set forward while we run: nothing gets old by that. */
  const wallAtStart = clock.now() - clock.monotonic();
  const steadyWall = () => Math.min(clock.now(), clock.monotonic() + wallAtStart);
  // With a provider id the selector counts too: a second account of the same cloud has ids of the same form, and does not
  // know our machines, as we do not know its.
  const isManaged = (node: Node) => inventory.manages(identityOf(node)) && options.isSelected(node);
  const massCount = createMassCount(options, candidates, isManaged);
  const onNews = (): void => {
    candidates.noteObservations((name) => {
      const node = nodes.get(name);
      return node && inventory.check(identityOf(node));
    });
    massCount.recount();
  };
  const triggers = createTriggers(options, { queue, candidates, pendingLookups, isManaged, onNews });
  // For as long as the process lives, not for a term: what another replica deleted counts after a hand-over too.
  candidates.follow(nodes);
  massCount.follow();

  const reconcile = async (name: string, signal: AbortSignal): Promise<Outcome> => {
    const node = nodes.get(name);
    if (node === undefined || !isOfInterest(node) || !isManaged(node)) {
      candidates.forget(name);
      return settled;
    }
    const now = { wall: steadyWall(), monotonic: clock.monotonic() };
    const candidate = candidates.of(node);
    const identity = identityOf(node);
    const answer = inventory.check(identity);
    const seenSince = now.monotonic - (acceptedAge(node) ?? 0);
    const known = candidate.evidence ?? noEvidence(now.monotonic, seenSince);
    const evidence = addAnswer(known, answer, now.monotonic);
    candidates.update(name, { evidence });
    if ("asOf" in answer && pendingLookups.isAnsweredBy(name, answer.asOf)) pendingLookups.forget(name);
    // A machine seen before it was asked about was answer enough, and nothing newer comes of that question.
    if (answer.kind === "exists" && pendingLookups.isUsedUpBy(name, answer.asOf)) pendingLookups.forget(name);
    const ways = inventory.proofsFor(identity);
    const mass = massCount.decision;
    return apply(node, planLifecycle({ node, answer, evidence, ways, mass, settings, now }), signal);
  };

  const apply = async (node: Node, decision: LifecycleDecision, signal: AbortSignal): Promise<Outcome> => {
    const { name } = node.metadata;
    switch (decision.kind) {
      case "leave":
        candidates.forget(name);
        return settled;
      case "taint": {
        const isWritten = await setShutdownTaint(node, decision.shutdown, options, signal);
        return isWritten
          ? requeue(milliseconds(0), "the taint to be seen")
          : requeue(observedBackoff, "observed");
      }
      case "watch":
        return watch(node);
      case "ask": {
        if (decision.after > 0) return requeue(decision.after, "the next proof");
        const way = decision.way === undefined ? {} : { way: decision.way };
        pendingLookups.ask(name, identityOf(node), { urgency: "deletion-proof", ...way }, acceptedAge(node));
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
    candidates.update(name, { heldFor: undefined });
    if (!rechecks.isDue(name)) {
      const requests = () => inventory.costOf(identityOf(node), candidates.checks + 1);
      return requeue(rechecks.rest(name, requests), "another look");
    }
    const since = clock.monotonic();
    const evidence = { ...candidates.evidenceOf(name), since, seenSince: since };
    candidates.update(name, { evidence, nextCheck: undefined });
    return requeue(milliseconds(0), "another look");
  };

  const hold = (node: Node, { reason, text }: Extract<LifecycleDecision, { kind: "hold" }>): Outcome => {
    const { name } = node.metadata;
    if (candidates.all.get(name)?.heldFor !== reason) {
      candidates.update(name, { heldFor: reason });
      report(node, { type: "Warning", reason, message: text });
    }
    // Whether the inventory has recovered is seen only by asking again.
    if (rechecks.isDue(name)) {
      const way = reason === massDeletionHeld ? ({ way: "listing" } as const) : {};
      pendingLookups.ask(name, identityOf(node), { urgency: "deletion-proof", ...way });
    }
    const pages = () => inventory.sources.reduce((sum, { latest }) => sum + (latest?.pages ?? 1), 0);
    return requeue(rechecks.rest(name, pages), reason);
  };

  const remove = async (node: Node, isAnnounced: boolean, signal: AbortSignal): Promise<Outcome> => {
    const { name, uid } = node.metadata;
    // Our own last write told us a version whose status we have not seen: a delete may not rely on it.
    if (nodes.isAhead?.(name) === true) return requeue(seconds(1), "the watch to catch up");
    if (!(await removeNode(node, options, signal))) return requeue(observedBackoff, "observed");
    if (!isAnnounced) massCount.wentUnannounced(uid);
    // What is known of it stays until the watch tells that it is gone: it says whether the deletion was announced.
    return settled;
  };

  const onError = (_: string, error: unknown, failures: number): Outcome =>
    requeue(delayAfterError(error, failures, options), "an error");

  const run = async (signal: AbortSignal): Promise<void> => {
    // Between two terms others led and nobody watched for us: every proof starts again.
    candidates.forgetAll();
    const stop = triggers.begin();
    try {
      await runWorkers({ queue, count: options.concurrency, reconcile, onError, clock }, signal);
    } finally {
      stop();
    }
  };

  return { queue, candidates: candidates.all, run };
}

/** A node that joins is not Ready yet; that its machine was seen a moment ago is all there is to know then. */
function acceptedAge(node: Node): Milliseconds | undefined {
  return isUninitialized(node) ? minutes(1) : undefined;
}
