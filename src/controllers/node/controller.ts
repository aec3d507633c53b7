// Initialises Nodes that join and keeps addresses and labels of the others as the cloud has them. All decisions are in
// `plan.ts`; here is when to ask, what to write in which order, and what to say.

import { restAfter } from "../../cloud/disposition.ts";
import type { Answer } from "../../cloud/inventory.ts";
import { type Milliseconds, milliseconds, minutes } from "../../core/brand.ts";
import type { Problem } from "../../core/problem.ts";
import { isKubeError } from "../../kube/kube-error.ts";
import {
  guardedNodePatch,
  nodeAddressesPatch,
  nodeConditionsPatch,
  nodeConditionsRemovalPatch,
} from "../../kube/node-patch.ts";
import type { Node } from "../../kube/objects.ts";
import type { Patch } from "../../kube/patch.ts";
import type { Instance } from "../../provider/instances.ts";
import { backoff, together } from "../../runtime/backoff.ts";
import { priorities, WorkQueue } from "../../runtime/work-queue.ts";
import { again, type Outcome, runWorkers, settled, waiting } from "../../runtime/workers.ts";
import { describeError } from "../describe-error.ts";
import { Echoes } from "../echoes.ts";
import { identityOf, isBeingDeleted, isPaused, isUninitialized, taintsOf } from "../node-facts.ts";
import type { NodePorts } from "../node-ports.ts";
import { Questions } from "../questions.ts";
import { cloudCondition, uninitializedTaint } from "../well-known.ts";
import { describeAnswer, describeUnmatchable } from "./describe-no-machine.ts";
import { describePlan } from "./describe-plan.ts";
import { planNode } from "./plan.ts";
import { isRelevantChange } from "./relevant-change.ts";
import type { NodeSettings } from "./settings.ts";
import { conditionOf, Troubles, troubleCondition } from "./troubles.ts";
import { UsedNames } from "./used-names.ts";

export interface NodeControllerOptions extends NodePorts {
  readonly settings: NodeSettings;
  readonly ownPrefixes: readonly string[];
  /** A Node lost its taint: seconds since it was made, for upstream's two histograms. */
  readonly onInitialized: (node: Node, ageMs: number) => void;
}

export interface NodeController {
  readonly queue: WorkQueue;
  readonly troubles: Troubles;
  run(signal: AbortSignal): Promise<void>;
}

const lostRace = { first: milliseconds(100), cap: minutes(1) };
/** Only a change of the Node or of its machine mends it, and the first of these brings it back at once. */
const beyondUs = { first: minutes(1), cap: minutes(5) };

export const createNodeController = (options: NodeControllerOptions): NodeController => {
  const { nodes, inventory, writes, settings, clock, random } = options;
  const queue = new WorkQueue(clock);
  const troubles = new Troubles();
  const asked = new Questions(inventory, clock);
  const own = new Echoes<Node>(isRelevantChange);
  /** What the cloud said of a Node's machine when everything was last written as it says. */
  const dealtWith = new Map<string, Instance>();
  const names = new UsedNames(clock);
  names.follow(nodes, (name) => asked.forget(name));

  const reconcile = async (name: string, signal: AbortSignal): Promise<Outcome> => {
    const node = nodes.get(name);
    dealtWith.delete(name);
    if (node === undefined) {
      asked.forget(name);
      troubles.forget(name);
      return settled;
    }
    const identity = identityOf(node);
    if (isPaused(node) || isBeingDeleted(node) || !inventory.claims(identity)) return settled;
    // Also with a provider id: a second account of the same cloud has ids of the same form, even the same ones.
    if (!options.isSelected(node)) return settled;
    const answer = inventory.look(identity);
    if (!isUninitialized(node)) {
      if (answer.kind === "exists") await refresh(node, answer.instance, signal);
      return settled;
    }
    if (!inventory.canFind(identity)) {
      return await failing(node, describeUnmatchable(node, inventory.matchBy), beyondUs, signal);
    }
    const countsFrom = identity.providerID === undefined ? names.countsFrom(name) : Number.NEGATIVE_INFINITY;
    if (!isFresh(name, answer, countsFrom)) {
      const age = milliseconds(Math.min(settings.acceptsAge, clock.monotonic() - countsFrom));
      await showLasting(node, signal);
      asked.ask(name, identity, { urgency: "new-node" }, age);
      return waiting;
    }
    asked.forget(name);
    switch (answer.kind) {
      case "exists":
        return initialize(node, answer.instance, signal);
      case "ambiguous":
      case "gone":
        return await failing(node, describeAnswer(node, answer), settings.notVisibleRest, signal);
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
    return asked.isAnsweredBy(name, answer.asOf);
  };

  const refresh = async (node: Node, instance: Instance, signal: AbortSignal): Promise<void> => {
    const plan = planNode({ node, instance, ownPrefixes: options.ownPrefixes, settings });
    tellProblems(node, plan.problems);
    const written = await write(node, plan, "the cloud says otherwise", signal);
    if (written !== node) {
      options.note("Node changed: the cloud says otherwise", {
        node: node.metadata.name,
        now: describePlan(plan),
      });
    }
    await isFine(written, instance, signal);
  };

  const initialize = async (node: Node, instance: Instance, signal: AbortSignal): Promise<Outcome> => {
    const plan = planNode({ node, instance, ownPrefixes: options.ownPrefixes, settings });
    if (!plan.removeUninitializedTaint) {
      const [problem] = plan.problems.filter(({ severity }) => severity === "error");
      if (problem === undefined) return settled;
      return failing(node, problem, beyondUs, signal);
    }
    tellProblems(node, plan.problems);
    const written = await write(node, plan, "a node joined", signal);
    if (isUninitialized(written)) return settled; // only observed
    options.onInitialized(node, clock.now() - Date.parse(node.metadata.creationTimestamp ?? ""));
    options.tell(written, { type: "Normal", reason: "Synced", message: "Node synced successfully" });
    await isFine(written, instance, signal);
    return settled;
  };

  const isFine = async (node: Node, instance: Instance, signal: AbortSignal): Promise<void> => {
    troubles.clear(node.metadata.name);
    await clearCondition(node, signal);
    dealtWith.set(node.metadata.name, instance);
  };

  /** Addresses first: whoever sees the taint gone sees everything else in place. */
  const write = async (
    node: Node,
    plan: ReturnType<typeof planNode>,
    why: string,
    signal: AbortSignal,
  ): Promise<Node> => {
    let current = node;
    const addresses = plan.addresses && nodeAddressesPatch(current, plan.addresses);
    if (addresses !== undefined) current = await patched(current, addresses, why, signal);
    const rest = guardedNodePatch({
      node: current,
      labels: plan.labels,
      ...(plan.providerID !== undefined && { providerID: plan.providerID }),
      ...(plan.removeUninitializedTaint && {
        taints: taintsOf(current).filter(({ key }) => key !== uninitializedTaint),
      }),
    });
    if (rest !== undefined) current = await patched(current, rest, why, signal);
    return current;
  };

  const patched = async (node: Node, patch: Patch, why: string, signal: AbortSignal): Promise<Node> => {
    const { name } = node.metadata;
    let fresh: Node | undefined;
    own.begin(name);
    try {
      fresh = await writes.patch(node, patch, why, signal);
    } finally {
      if (own.end(name, { base: node, patch, written: fresh })) queue.add(name);
    }
    return fresh ?? node;
  };

  const failing = async (
    node: Node,
    problem: Problem,
    rest: { readonly first: Milliseconds; readonly cap: Milliseconds },
    signal: AbortSignal,
  ): Promise<Outcome> => {
    const count = await show(node, problem, signal);
    const wait = together(clock.monotonic(), backoff(count, rest, random));
    return again(wait, problem.reason, priorities.urgent);
  };

  const show = async (node: Node, problem: Problem, signal: AbortSignal): Promise<number> => {
    const { count } = troubles.add(node.metadata.name, problem);
    tellProblems(node, [problem]);
    await showLasting(node, signal);
    return count;
  };

  /** What goes on for several attempts stands on the Node, for those who look at it later. */
  const showLasting = async (node: Node, signal: AbortSignal): Promise<void> => {
    const trouble = troubles.all.get(node.metadata.name);
    if (trouble === undefined || trouble.count < settings.failuresBeforeCondition) return;
    const shown = conditionOf(node);
    const condition = troubleCondition(trouble.problem, clock.now());
    if (shown?.reason === condition.reason && shown?.message === condition.message) return;
    await writes.patch(node, nodeConditionsPatch(node, [condition]), trouble.problem.reason, signal);
  };

  const clearCondition = async (node: Node, signal: AbortSignal): Promise<void> => {
    if (conditionOf(node) === undefined) return;
    await writes.patch(
      node,
      nodeConditionsRemovalPatch(node, [cloudCondition]),
      "nothing is wrong any more",
      signal,
    );
  };

  const tellProblems = (node: Node, problems: readonly Problem[]): void => {
    for (const { reason, text } of troubles.news(node.metadata.name, problems)) {
      options.tell(node, { type: "Warning", reason, message: text });
    }
  };

  const onError = (name: string, error: unknown, failures: number): Outcome => {
    asked.forget(name);
    const isRace = isKubeError(error, "precondition", "conflict", "not-found");
    const rest = isRace
      ? backoff(failures, lostRace, random)
      : together(clock.monotonic(), restAfter(error, failures, clock, random));
    const node = nodes.get(name);
    const problem = describeError(error);
    if (node !== undefined && problem !== undefined && isUninitialized(node)) {
      troubles.add(name, problem);
      tellProblems(node, [problem]);
    }
    return again(rest, problem?.reason ?? "LostRace");
  };

  const addNode = (node: Node): void =>
    queue.add(node.metadata.name, {
      priority: isUninitialized(node) ? priorities.urgent : priorities.normal,
    });

  /** A listing asked for by others. A Node it does not show keeps its rest: looking now would only ask for the next one. */
  const isWorthALook = (node: Node): boolean => {
    const { name } = node.metadata;
    if (asked.has(name)) return false;
    const answer = inventory.look(identityOf(node));
    return answer.kind === "exists" && answer.instance !== dealtWith.get(name);
  };

  const run = async (signal: AbortSignal): Promise<void> => {
    const stopNodes = nodes.subscribe(({ key, before, after }) => {
      if (own.isEcho(key, after) || !isRelevantChange(before, after)) return;
      if (after === undefined) queue.add(key);
      else addNode(after);
    });
    const stopNews = inventory.subscribe((news) => {
      for (const name of asked.keys) queue.add(name, { priority: priorities.urgent });
      if (news !== "listing") return;
      for (const node of nodes.list()) {
        if (isWorthALook(node)) queue.add(node.metadata.name, { priority: priorities.background });
      }
    });
    // What went while another replica led was told to nobody here.
    for (const name of [...dealtWith.keys(), ...troubles.names]) {
      if (nodes.get(name) === undefined) queue.add(name);
    }
    // The watch tells only what changes from here on; what is there already is looked at once.
    for (const node of nodes.list()) addNode(node);
    try {
      await runWorkers({ queue, count: options.concurrency, reconcile, onError, clock }, signal);
    } finally {
      stopNodes();
      stopNews();
    }
  };

  return { queue, troubles, run };
};
