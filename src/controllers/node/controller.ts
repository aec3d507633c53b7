// Initialises Nodes that join and keeps addresses and labels of the others as the cloud has them. All decisions are in
// `plan.ts`; here is when to ask, and what follows from each answer.

import type { Answer } from "../../cloud/inventory.ts";
import { milliseconds, minutes } from "../../core/brand.ts";
import type { Problem } from "../../core/problem.ts";
import type { Node } from "../../kube/objects.ts";
import type { Instance } from "../../provider/instances.ts";
import { alignToGrid, type BackoffLimits, backoff } from "../../runtime/backoff.ts";
import { priorities, WorkQueue } from "../../runtime/work-queue.ts";
import { type Outcome, requeue, runWorkers, settled, waiting } from "../../runtime/workers.ts";
import { delayAfterError, describeError } from "../errors.ts";
import type { NodeDeps } from "../node-deps.ts";
import { identityOf, isBeingDeleted, isPaused, isUninitialized } from "../node-facts.ts";
import { PendingLookups } from "../pending-lookups.ts";
import { OwnWrites } from "../writes/own-writes.ts";
import { createApplyPlan } from "./apply.ts";
import { describeAnswer, describeUnmatchable } from "./describe-no-machine.ts";
import { describePlan } from "./describe-plan.ts";
import { NodeReporter } from "./node-reporter.ts";
import { type NodePlan, planNode } from "./plan.ts";
import { ProblemTracker } from "./problems.ts";
import { isRelevantChange } from "./relevant-change.ts";
import type { NodeSettings } from "./settings.ts";
import { createTriggers } from "./triggers.ts";
import { UsedNames } from "./used-names.ts";

export interface NodeControllerOptions extends NodeDeps {
  readonly settings: NodeSettings;
  readonly ownPrefixes: readonly string[];
  /** A Node lost its taint: how long after it was made, for upstream's two histograms. */
  readonly onInitialized: (node: Node, ageMs: number) => void;
}

export interface NodeController {
  readonly queue: WorkQueue;
  readonly problems: ProblemTracker;
  run(signal: AbortSignal): Promise<void>;
}

/** Only a change of the Node or of its machine mends it, and the first of these brings it back at once. */
const beyondUs = { first: minutes(1), cap: minutes(5) };

export function createNodeController(options: NodeControllerOptions): NodeController {
  const { nodes, inventory, settings, ownPrefixes, clock, random } = options;
  const queue = new WorkQueue(clock);
  const pendingLookups = new PendingLookups(inventory, clock);
  const ownWrites = new OwnWrites<Node>(isRelevantChange);
  const problems = new ProblemTracker();
  const reporter = new NodeReporter(options, problems);
  const applyPlan = createApplyPlan(options.writes, ownWrites, (name) => queue.add(name));
  /** What the cloud said of a Node's machine when everything was last written as it says. */
  const dealtWith = new Map<string, Instance>();
  const names = new UsedNames(clock);
  names.follow(nodes, (name) => pendingLookups.forget(name));
  const triggers = createTriggers(options, { queue, pendingLookups, ownWrites, problems, dealtWith });

  const reconcile = async (name: string, signal: AbortSignal): Promise<Outcome> => {
    const node = nodes.get(name);
    dealtWith.delete(name);
    if (node === undefined) {
      pendingLookups.forget(name);
      problems.forget(name);
      return settled;
    }
    const isOurs = concernsUs(node);
    if (isOurs && isUninitialized(node)) return join(node, signal);
    // Paused, or without its taint by another hand, while it was asked about: the answer would wake it for nothing.
    pendingLookups.forget(name);
    if (!isOurs) return settled;
    const answer = inventory.check(identityOf(node));
    if (answer.kind === "exists") await refresh(node, answer.instance, signal);
    return settled;
  };

  const concernsUs = (node: Node): boolean =>
    !isPaused(node) &&
    !isBeingDeleted(node) &&
    inventory.manages(identityOf(node)) &&
    // Also with a provider id: a second account of the same cloud has ids of the same form, even the same ones.
    options.isSelected(node);

  const join = async (node: Node, signal: AbortSignal): Promise<Outcome> => {
    const { name } = node.metadata;
    const identity = identityOf(node);
    const answer = inventory.check(identity);
    if (!inventory.canFind(identity)) {
      return failing(node, describeUnmatchable(node, inventory.matchBy), beyondUs, signal);
    }
    const countsFrom = identity.providerID === undefined ? names.countsFrom(name) : Number.NEGATIVE_INFINITY;
    if (!isFresh(name, answer, countsFrom)) {
      const age = milliseconds(Math.min(settings.acceptsAge, clock.monotonic() - countsFrom));
      await reporter.showLasting(node, signal);
      // Thousands were before it: the machine that was seen in time has become too old in the queue.
      if (answer.kind === "exists" && pendingLookups.isUsedUpBy(name, answer.asOf))
        pendingLookups.forget(name);
      pendingLookups.ask(name, identity, { urgency: "new-node" }, age);
      return waiting;
    }
    pendingLookups.forget(name);
    switch (answer.kind) {
      case "exists":
        return initialize(node, answer.instance, signal);
      case "ambiguous":
      case "gone":
        return failing(node, describeAnswer(node, answer), settings.notVisibleBackoff, signal);
      case "foreign":
      case "unknown":
        return settled;
    }
  };

  /** "This is your machine" may be a minute old; anything else must be newer than the question. */
  const isFresh = (name: string, answer: Answer, countsFrom: number): boolean => {
    if (!("asOf" in answer)) return answer.kind === "foreign";
    if (answer.kind === "exists" && answer.asOf < countsFrom) return false;
    if (answer.kind === "exists" && clock.monotonic() - answer.asOf <= settings.acceptsAge) return true;
    return pendingLookups.isAnsweredBy(name, answer.asOf);
  };

  const initialize = async (node: Node, instance: Instance, signal: AbortSignal): Promise<Outcome> => {
    const plan = planNode({ node, instance, ownPrefixes, settings });
    if (!plan.removeUninitializedTaint) {
      const problem = plan.problems.find(({ severity }) => severity === "error");
      return problem === undefined ? settled : failing(node, problem, beyondUs, signal);
    }
    const written = await apply(node, plan, "a node joined", signal);
    if (isUninitialized(written)) return settled; // only observed
    options.onInitialized(node, clock.now() - Date.parse(node.metadata.creationTimestamp ?? ""));
    options.report(written, { type: "Normal", reason: "Synced", message: "Node synced successfully" });
    await isAsTheCloudSays(written, instance, signal);
    return settled;
  };

  const refresh = async (node: Node, instance: Instance, signal: AbortSignal): Promise<void> => {
    const plan = planNode({ node, instance, ownPrefixes, settings });
    const why = "the cloud says otherwise";
    const written = await apply(node, plan, why, signal);
    if (written !== node) {
      options.note(`Node changed: ${why}`, { node: node.metadata.name, now: describePlan(plan) });
    }
    await isAsTheCloudSays(written, instance, signal);
  };

  const apply = (node: Node, plan: NodePlan, why: string, signal: AbortSignal): Promise<Node> => {
    reporter.problems(node, plan.problems);
    return applyPlan(node, plan, why, signal);
  };

  const isAsTheCloudSays = async (node: Node, instance: Instance, signal: AbortSignal): Promise<void> => {
    await reporter.allIsFine(node, signal);
    dealtWith.set(node.metadata.name, instance);
  };

  const failing = async (
    node: Node,
    problem: Problem,
    rest: BackoffLimits,
    signal: AbortSignal,
  ): Promise<Outcome> => {
    const count = reporter.nodeProblem(node, problem);
    await reporter.showLasting(node, signal);
    const wait = alignToGrid(clock.monotonic(), backoff(count, rest, random));
    return requeue(wait, problem.reason, priorities.urgent);
  };

  const onError = (name: string, error: unknown, failures: number): Outcome => {
    pendingLookups.forget(name);
    const rest = delayAfterError(error, failures, options);
    const node = nodes.get(name);
    const problem = describeError(error);
    if (node !== undefined && problem !== undefined && isUninitialized(node))
      reporter.nodeProblem(node, problem);
    return requeue(rest, problem?.reason ?? "LostRace");
  };

  const run = async (signal: AbortSignal): Promise<void> => {
    const stop = triggers.begin();
    try {
      await runWorkers({ queue, count: options.concurrency, reconcile, onError, clock }, signal);
    } finally {
      stop();
    }
  };

  return { queue, problems, run };
}
