// The node controller: initializes joining Nodes, and keeps the addresses and labels of initialized Nodes in sync with the cloud.
// `plan.ts` makes all decisions; this file queries the inventory at the right time and acts on each answer.

import { isAccountWide } from "../../cloud/error-policies.ts";
import type { Answer } from "../../cloud/inventory/instances.ts";
import { type Milliseconds, milliseconds, minutes, seconds } from "../../core/brand.ts";
import type { Problem } from "../../core/problem.ts";
import type { Node } from "../../kube/objects.ts";
import { CloudError } from "../../provider/errors.ts";
import type { Instance } from "../../provider/instances.ts";
import { alignToGrid, type BackoffLimits, backoff } from "../../runtime/backoff.ts";
import { priorities, WorkQueue } from "../../runtime/work-queue.ts";
import { type Outcome, requeue, settled, waiting, waitingAtMost } from "../../runtime/workers.ts";
import { delayAfterError } from "../classify-error.ts";
import type { ForeignMatch, ForeignNodes } from "../foreign-nodes.ts";
import type { ControllerReport } from "../kernel/board.ts";
import { type Reconciler, runController, type Subscriptions } from "../kernel/run-controller.ts";
import { isManagedBy, type NodeDeps } from "../node-deps.ts";
import { identityOf, isBeingDeleted, isUninitialized } from "../node-facts.ts";
import { isPaused } from "../pause.ts";
import { type ApplyContext, applyPlan } from "./apply.ts";
import { labelsFromBeta } from "./desired/labels.ts";
import type { NodeHistory } from "./history.ts";
import { nodeNotices } from "./node-notices.ts";
import { NodeReporter } from "./node-reporter.ts";
import {
  describeSourceError,
  type InstanceMatch,
  instancesIn,
  NodeInstanceLookup,
  type UncertainMatch,
} from "./observe.ts";
import { describePlan, type NodePlan, planForeignNode, planNode } from "./plan.ts";
import type { NodeSettings } from "./settings.ts";
import {
  ambiguousMatch,
  instanceNotFound,
  instanceOfOtherName,
  instanceWithoutName,
  nodeSynced,
  nothingToMatchBy,
  providerIDInUse,
  uncertainInstance,
  unconfirmedMatch,
  unconfirmedMatchUsed,
} from "./texts.ts";
import { startTriggers } from "./triggers.ts";

export interface NodeControllerOptions extends NodeDeps {
  readonly settings: NodeSettings;
  readonly ownPrefixes: readonly string[];
  /** Undefined unless k3s and RKE2 Nodes get labels. */
  readonly foreignNodes?: ForeignNodes | undefined;
  /** Called when a Node was initialized. The age is the time since its creation, for upstream's two histograms. */
  readonly onInitialized: (node: Node, ageMs: number) => void;
}

export interface NodeReport extends ControllerReport {
  /** The result of --foreign-nodes for a k3s or RKE2 Node; undefined for other Nodes. */
  foreignMatchOf(node: Node): ForeignMatch | undefined;
}

/** Sources usually answer within this time, and a failure is reported immediately. */
const reportWaitAfter = seconds(15);

/** After a proved absence, no answer enqueues the Node, so it is checked again after this time. */
const foreignRecheck = minutes(1);

/** The backoff for problems that only a change of the Node can fix; such a change enqueues the Node immediately. */
const userErrorBackoff = { first: minutes(1), cap: minutes(5) };

/** The controller, composed again for each leadership session. */
export class NodeController implements Reconciler {
  readonly queue: WorkQueue;
  readonly #options: NodeControllerOptions;
  readonly #history: NodeHistory;
  readonly #lookup: NodeInstanceLookup;
  readonly #reporter: NodeReporter;
  /** The instances with which each Node was last compared. */
  readonly #comparedWith = new Map<string, readonly Instance[]>();
  /** Nodes whose instance may have changed since then (monotonic). */
  readonly #hinted = new Map<string, number>();

  constructor(options: NodeControllerOptions, history: NodeHistory) {
    this.#options = options;
    this.#history = history;
    this.queue = new WorkQueue(options.clock);
    this.#lookup = new NodeInstanceLookup(options, history.usedNames);
    this.#reporter = new NodeReporter(options, history.board);
  }

  report(): NodeReport {
    const { foreignNodes } = this.#options;
    return { problems: this.#history.board.problems, foreignMatchOf: (node) => foreignNodes?.match(node) };
  }

  /** Called at most once. */
  run(signal: AbortSignal): Promise<void> {
    return runController(this, this.#options, signal);
  }

  *begin(): Subscriptions {
    const { nodes, inventory } = this.#options;
    const { board, ownWrites, usedNames } = this.#history;
    // Nodes may have been deleted while another replica was the leader.
    board.forgetAllBut(new Set(nodes.list().map(({ metadata }) => metadata.name)));
    ownWrites.beginSession(nodes);
    yield usedNames.followListings(nodes, inventory);
    yield* startTriggers({
      ...this.#options,
      queue: this.queue,
      lookup: this.#lookup,
      ownWrites,
      identify: (node) => this.#options.foreignNodes?.identityOf(node) ?? identityOf(node),
      comparedWith: this.#comparedWith,
      hinted: this.#hinted,
    });
  }

  /** Called when the cloud reports that this Node's instance may have changed. The next answer is then compared with the Node. */
  expectChange(name: string, since: number): void {
    this.#hinted.set(name, since);
  }

  async reconcile(name: string, signal: AbortSignal): Promise<Outcome> {
    const { nodes, inventory, isSelected } = this.#options;
    const node = nodes.get(name);
    this.#comparedWith.delete(name);
    if (node === undefined) {
      this.#lookup.forget(name);
      this.#reporter.forget(name);
      return settled;
    }
    const identity = identityOf(node);
    const isForeign = !inventory.manages(identity);
    const unreadableIn = inventory.unreadableSourceOf(identity);
    const match = this.#options.foreignNodes?.observe(node);
    const notices = isSelected(node) ? nodeNotices(node, { isForeign, unreadableIn, match }) : [];
    // Reported findings stay until the cloud has answered.
    const isAwaited = match?.kind === "awaited";
    if (!isAwaited) this.#reporter.reportNotices(node, notices);
    const isManaged = this.#isManaged(node);
    if (isManaged && isUninitialized(node)) return this.#reconcileJoining(node, signal);
    // The Node was paused during the lookup, or another program removed its taint, so the answer is not needed.
    this.#lookup.forget(name);
    if (!isManaged) {
      this.#reporter.endFailure(name);
      if (match !== undefined) await this.#labelForeign(node, match, signal);
      return isAwaited ? requeue(foreignRecheck, "the machine of a k3s or RKE2 Node") : settled;
    }
    const answer = inventory.check(identityOf(node));
    if (answer.kind === "exists") await this.#refresh(node, answer.instance, signal);
    else {
      await this.#completeLabels(node, signal);
      this.#reporter.endFailure(name);
      const problem = uncertainInstance(node, answer);
      // Without an answer, reported findings do not change.
      if (problem !== undefined || answer.kind === "gone")
        this.#reporter.reportProblems(node, problem === undefined ? [] : [problem]);
      if (problem !== undefined) this.#comparedWith.set(name, instancesIn(answer));
    }
    return settled;
  }

  #isManaged(node: Node): boolean {
    return !isPaused(node) && !isBeingDeleted(node) && isManagedBy(this.#options, node);
  }

  async #reconcileJoining(node: Node, signal: AbortSignal): Promise<Outcome> {
    const { inventory, settings } = this.#options;
    const identity = identityOf(node);
    const answer = inventory.check(identity);
    if (!inventory.canFind(identity)) {
      return this.#retry(node, nothingToMatchBy(node, inventory.matchBy), userErrorBackoff, signal);
    }
    if (!this.#lookup.isFresh(node, answer)) return this.#lookUp(node, answer, signal);
    this.#lookup.complete(node.metadata.name);
    switch (answer.kind) {
      case "exists":
      case "unconfirmed":
        return this.#initialize(node, answer, signal);
      case "ambiguous":
        return this.#retry(node, ambiguousMatch(node, answer), settings.notVisibleBackoff, signal);
      case "gone": {
        const { renamed, undescribed } = answer;
        const problem =
          (renamed && instanceOfOtherName(node, renamed)) ??
          (undescribed && instanceWithoutName(node, undescribed)) ??
          instanceNotFound(node, inventory.matchBy);
        return this.#retry(node, problem, settings.notVisibleBackoff, signal);
      }
      case "foreign":
      case "unknown":
        return settled;
    }
  }

  async #lookUp(node: Node, answer: Answer, signal: AbortSignal): Promise<Outcome> {
    const { matchTimeout } = this.#options.settings;
    await this.#reporter.writeCondition(node, signal);
    this.#lookup.request(node, answer);
    const uncertain = this.#lookup.uncertainMatch(node, answer);
    if (uncertain === undefined) return waiting;
    const { waitedFor } = uncertain;
    if (waitedFor >= reportWaitAfter) this.#reporter.reportWait(node, unconfirmedMatch(node, uncertain));
    const ends = [reportWaitAfter, ...(matchTimeout === undefined ? [] : [matchTimeout])];
    const next = Math.min(...ends.filter((end) => end > waitedFor)) - waitedFor;
    return Number.isFinite(next) ? waitingAtMost(milliseconds(next)) : waiting;
  }

  async #initialize(node: Node, match: InstanceMatch, signal: AbortSignal): Promise<Outcome> {
    const { ownPrefixes, settings, clock, onInitialized, report } = this.#options;
    const { instance } = match;
    const uncertain = this.#lookup.uncertainMatch(node, match);
    const plan = planNode({ node, instance, ownPrefixes, settings });
    if (!plan.removeUninitializedTaint) {
      const problem = plan.problems.find(({ severity }) => severity === "error");
      if (problem === undefined) return settled;
      this.#lookup.reject(node);
      // A listing that shows an unchanged instance must not start another attempt.
      this.#comparedWith.set(node.metadata.name, [instance]);
      return this.#retry(node, problem, settings.notVisibleBackoff, signal);
    }
    const other = plan.providerID && this.#history.owners.claim(plan.providerID, node);
    if (other !== undefined)
      return this.#retry(node, providerIDInUse(instance, other), settings.notVisibleBackoff, signal);
    const written = await this.#apply(node, plan, "the Node joined", signal);
    if (isUninitialized(written)) return settled; // Observe mode.
    this.#lookup.forget(node.metadata.name);
    onInitialized(node, clock.now() - Date.parse(node.metadata.creationTimestamp ?? ""));
    report(written, nodeSynced());
    if (uncertain !== undefined) report(written, unconfirmedMatchUsed(uncertain));
    await this.#markSynced(written, instance, signal);
    return settled;
  }

  async #refresh(node: Node, instance: Instance, signal: AbortSignal): Promise<void> {
    const { ownPrefixes, settings, note } = this.#options;
    const plan = planNode({ node, instance, ownPrefixes, settings });
    const why = "the cloud reports other values";
    const written = await this.#apply(node, plan, why, signal);
    if (written !== node) {
      note(`Node changed: ${why}`, { node: node.metadata.name, now: describePlan(plan) });
    }
    await this.#markSynced(written, instance, signal);
  }

  /** Adds missing labels to a k3s or RKE2 Node, and changes nothing else. */
  async #labelForeign(node: Node, match: ForeignMatch, signal: AbortSignal): Promise<void> {
    const { ownPrefixes, settings, inventory, foreignNodes } = this.#options;
    const answer = foreignNodes && inventory.check(foreignNodes.identityOf(node));
    this.#comparedWith.set(node.metadata.name, answer === undefined ? [] : instancesIn(answer));
    if (match.kind !== "matched" || !match.isCertain || isPaused(node) || isBeingDeleted(node)) return;
    const plan = planForeignNode({ node, instance: match.instance, ownPrefixes, settings });
    await this.#apply(node, plan, "its machine was found by its name", signal);
  }

  /** Sets what does not depend on the instance. Reported problems with the instance stay unchanged. */
  async #completeLabels(node: Node, signal: AbortSignal): Promise<void> {
    const labels = labelsFromBeta(node.metadata.labels ?? {}, this.#options.settings);
    const plan = { labels, removeUninitializedTaint: false };
    const why = "the beta labels have different values";
    const written = await applyPlan(node, plan, why, this.#applyContext, signal);
    if (written === node) return;
    this.#options.note(`Node changed: ${why}`, { node: node.metadata.name, now: describePlan(plan) });
  }

  #apply(node: Node, plan: NodePlan, why: string, signal: AbortSignal): Promise<Node> {
    this.#reporter.reportProblems(node, plan.problems);
    return applyPlan(node, plan, why, this.#applyContext, signal);
  }

  get #applyContext(): ApplyContext {
    return {
      writes: this.#options.writes,
      ownWrites: this.#history.ownWrites,
      enqueue: (name: string) => this.queue.add(name),
    };
  }

  async #markSynced(node: Node, instance: Instance, signal: AbortSignal): Promise<void> {
    await this.#reporter.endProblem(node, signal);
    this.#comparedWith.set(node.metadata.name, [instance]);
  }

  /** Reports the problem and tries again with backoff. */
  async #retry(node: Node, problem: Problem, limits: BackoffLimits, signal: AbortSignal): Promise<Outcome> {
    const { clock, random } = this.#options;
    const failures = this.#reporter.reportFailure(node, problem);
    await this.#reporter.writeCondition(node, signal);
    const delay = alignToGrid(clock.monotonic(), backoff(failures, limits, random));
    return requeue(delay, problem.reason, priorities.urgent);
  }

  onError(name: string, error: unknown, failures: number): Outcome {
    this.#lookup.complete(name);
    const node = this.#options.nodes.get(name);
    const uncertain = node && this.#uncertainAfter(node, error);
    const delay = this.#withinTimeout(delayAfterError(error, failures, this.#options), uncertain);
    const problem =
      node && uncertain
        ? unconfirmedMatch(node, uncertain)
        : describeSourceError(error, this.#options.inventory);
    if (node !== undefined && problem !== undefined) {
      this.#reporter.reportFailure(node, { ...problem, isQuiet: isAccountWide(error) });
    }
    return requeue(delay, problem?.reason ?? "LostRace");
  }

  /** The Node's match, if this error is the reason why another source has not answered. */
  #uncertainAfter(node: Node, error: unknown): UncertainMatch | undefined {
    if (!CloudError.is(error) || !isUninitialized(node)) return undefined;
    return this.#lookup.uncertainMatch(node, this.#options.inventory.check(identityOf(node)));
  }

  #withinTimeout(delay: Milliseconds, uncertain: UncertainMatch | undefined): Milliseconds {
    const { matchTimeout } = this.#options.settings;
    if (uncertain === undefined || matchTimeout === undefined) return delay;
    return milliseconds(Math.min(delay, Math.max(0, matchTimeout - uncertain.waitedFor)));
  }
}
