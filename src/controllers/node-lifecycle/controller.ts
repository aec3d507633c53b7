// The node-lifecycle controller: sets taints on Nodes whose instance is shut down, and deletes Nodes whose instance is
// proved to be gone. `plan.ts` makes all decisions; this file collects their inputs and applies them.

import { type InventoryUpdate, intervalOf } from "../../cloud/inventory/instances.ts";
import { type Milliseconds, milliseconds, minutes, seconds } from "../../core/brand.ts";
import { defined } from "../../core/defined.ts";
import type { Problem } from "../../core/problem.ts";
import { isKubeError } from "../../kube/errors/kube-error.ts";
import type { Node } from "../../kube/objects.ts";
import { WorkQueue } from "../../runtime/work-queue.ts";
import { type Outcome, requeue, settled, waiting } from "../../runtime/workers.ts";
import { type ControllerReport, Reporter } from "../kernel/board.ts";
import { Doubt } from "../kernel/doubt.ts";
import type { RemovalKind } from "../kernel/removal-kinds.ts";
import type { RemovalMemory } from "../kernel/removal-memory.ts";
import { type Reconciler, runController, type Subscriptions } from "../kernel/run-controller.ts";
import { isManagedBy, type NodeDeps } from "../node-deps.ts";
import { identityOf, isUninitialized } from "../node-facts.ts";
import { type EndedLookup, PendingLookups } from "../pending-lookups.ts";
import { NodeCensus } from "./allow.ts";
import { removeNode, setOutOfServiceTaint, setShutdownTaint } from "./apply.ts";
import { type Candidate, Candidates } from "./candidates.ts";
import type { LifecycleHistory } from "./history.ts";
import { addAnswer, type NodeEvidence, noEvidence } from "./observe.ts";
import { isConfirmed, type LifecycleDecision, planLifecycle } from "./plan.ts";
import type { LifecycleSettings } from "./settings.ts";
import { deletingNodeFailed, massDeletionReason, outOfServiceHeldReason } from "./texts.ts";
import { isOfInterest, startTriggers } from "./triggers.ts";

export interface LifecycleOptions extends NodeDeps {
  readonly settings: LifecycleSettings;
  readonly removals: RemovalMemory;
  /** Called when a lookup of one Node's instance is answered or fails. */
  readonly onLookup: (lookup: EndedLookup) => void;
}

export interface LifecycleReport extends ControllerReport {
  /** The cloud's answers about the absence of each instance, by Node. Times are monotonic. Computed on each read. */
  readonly evidence: ReadonlyMap<string, Pick<NodeEvidence, "since" | "proofs" | "stops">>;
}

/** The delay between two attempts of the same write in observe mode. */
const observedDelay: Milliseconds = minutes(1);

const behindWrite: Outcome = requeue(seconds(1), "the watch has not delivered the last write yet");

/** The controller, composed again for each leadership session. */
export class LifecycleController implements Reconciler {
  readonly queue: WorkQueue;
  readonly #options: LifecycleOptions;
  readonly #history: LifecycleHistory;
  readonly #pendingLookups: PendingLookups;
  readonly #candidates: Candidates;
  readonly #doubt: Doubt;
  /** The doubt for the out-of-service taint, which counts stopped machines. */
  readonly #outOfServiceDoubt: Doubt;
  readonly #reporter: Reporter<Node, "hold">;

  constructor(options: LifecycleOptions, history: LifecycleHistory) {
    const { inventory, clock } = options;
    this.#options = options;
    this.#history = history;
    this.queue = new WorkQueue(clock);
    this.#pendingLookups = new PendingLookups(inventory, clock, options.onLookup);
    this.#candidates = new Candidates(clock, this.#pendingLookups, history.board);
    this.#reporter = new Reporter(options.report, history.board);
    this.#doubt = new Doubt({
      ...options,
      kind: "nodes",
      census: new NodeCensus(options, this.#candidates, history),
      memory: history.limit,
      onHold: (held) => {
        if (held === undefined) options.note("Doubt about missing Nodes has ended", {});
      },
    });
    this.#outOfServiceDoubt = new Doubt({
      ...options,
      kind: "nodes",
      census: new NodeCensus(options, this.#candidates, history, true),
      memory: history.outOfServiceLimit,
    });
  }

  /** The knowledge about Nodes that are NotReady or shut down, by name. */
  get candidates(): ReadonlyMap<string, Candidate> {
    return this.#candidates.all;
  }

  report(): LifecycleReport {
    const candidates = [...this.candidates];
    return {
      problems: this.#history.board.problems,
      get evidence() {
        return new Map(
          candidates.flatMap(([name, { evidence }]) => (evidence === undefined ? [] : [[name, evidence]])),
        );
      },
    };
  }

  /** Called at most once. */
  run(signal: AbortSignal): Promise<void> {
    return runController(this, this.#options, signal);
  }

  *begin(): Subscriptions {
    const { nodes, removals } = this.#options;
    this.#history.beginSession();
    // Nodes may have been deleted while another replica was the leader.
    this.#history.board.forgetAllBut(new Set(nodes.list().map(({ metadata }) => metadata.name)));
    yield this.#candidates.follow(nodes);
    for (const doubt of this.#doubts) {
      yield this.#candidates.subscribe((name) => doubt.noteChange(name));
      yield nodes.subscribe(({ key }) => doubt.noteChange(key));
    }
    yield this.#history.judgeBy((node) => this.#countsDeletion(node));
    yield removals.subscribe((kind) => this.#onRelease(kind));
    yield* startTriggers({
      ...this.#options,
      queue: this.queue,
      candidates: this.#candidates,
      pendingLookups: this.#pendingLookups,
      onInventoryUpdate: (update) => this.#onInventoryUpdate(update),
    });
  }

  get #doubts(): readonly Doubt[] {
    const { outOfService } = this.#options.settings;
    return outOfService === "off" ? [this.#doubt] : [this.#doubt, this.#outOfServiceDoubt];
  }

  #onRelease(kind: RemovalKind): void {
    if (kind !== "nodes") return;
    for (const doubt of this.#doubts) doubt.invalidate();
    for (const name of this.#candidates.all.keys()) this.queue.add(name);
  }

  /**
   * The cloud reports that the instance of this Node may have changed, so its next check is due now. Has no effect if
   * no check is scheduled.
   */
  checkNow(name: string): void {
    if (this.#candidates.all.get(name)?.nextCheck === undefined) return;
    this.#candidates.update(name, { nextCheck: this.#options.clock.monotonic() });
    this.queue.add(name);
  }

  #onInventoryUpdate(update: InventoryUpdate): void {
    const { nodes, inventory } = this.#options;
    const news = this.#candidates.noteAnswers((name) => {
      const node = nodes.get(name);
      return node && inventory.check(identityOf(node));
    });
    for (const name of news) this.queue.add(name);
    for (const doubt of this.#doubts) {
      if (update !== "listing") for (const name of this.#pendingLookups.keys) doubt.noteChange(name);
      // Without answers about any Node, a hold has no effect, and counting thousands of Nodes takes time.
      else if (this.#candidates.all.size === 0 && !doubt.isHolding) doubt.invalidate();
      else doubt.refresh();
    }
  }

  async reconcile(name: string, signal: AbortSignal): Promise<Outcome> {
    const { nodes, inventory, settings, clock, removals } = this.#options;
    const node = nodes.get(name);
    if (node === undefined || !isOfInterest(node) || !isManagedBy(this.#options, node)) {
      this.#candidates.forget(name);
      if (node !== undefined) removals.endHold("nodes", node.metadata.uid);
      return settled;
    }
    const now = clock.monotonic();
    const candidate = this.#candidates.of(node);
    const identity = identityOf(node);
    const answer = inventory.check(identity);
    const seenSince = now - (acceptedAge(node) ?? 0);
    const known = candidate.evidence ?? noEvidence(now, seenSince);
    const evidence = addAnswer(known, answer, now);
    this.#candidates.update(name, { evidence });
    if ("asOf" in answer && this.#pendingLookups.isAnsweredBy(name, answer.asOf)) {
      this.#pendingLookups.end(name, answer);
    }
    // An instance that was observed before the lookup was recent enough, so no newer answer will come.
    if (answer.kind === "exists" && this.#pendingLookups.isUsedUpBy(name, answer.asOf)) {
      this.#pendingLookups.end(name, answer);
    }
    const decision = planLifecycle({
      node,
      answer,
      evidence,
      proofKinds: inventory.proofsFor(identity),
      isChecked: candidate.nextCheck !== undefined,
      isTaintObserved: candidate.isTaintObserved,
      doubt: () => this.#doubt.verdict(),
      outOfServiceDoubt: () => this.#outOfServiceDoubt.verdict(),
      isReleased: removals.isReleased("nodes", node.metadata.uid),
      settings,
      now,
    });
    return this.#apply(node, decision, signal);
  }

  async #apply(node: Node, decision: LifecycleDecision, signal: AbortSignal): Promise<Outcome> {
    const { name, uid } = node.metadata;
    // While a held Node waits for an answer, a release must still apply to it.
    const staysHeld = decision.kind === "hold" || (decision.kind === "query" && !this.#isHoldOver(name));
    if (!staysHeld) this.#options.removals.endHold("nodes", uid);
    if (decision.kind === "recheck" || decision.kind === "taint")
      this.#options.removals.endRelease("nodes", uid);
    switch (decision.kind) {
      case "ignore":
        this.#candidates.forget(name);
        return settled;
      case "taint": {
        const isWritten = await setShutdownTaint(node, decision.shutdown, this.#options, signal);
        this.#candidates.update(name, { isTaintObserved: !isWritten && decision.shutdown });
        return isWritten
          ? requeue(milliseconds(0), "the taint was written")
          : requeue(observedDelay, "observe mode");
      }
      case "out-of-service":
        return this.#setOutOfService(node, decision, signal);
      case "recheck":
        return this.#recheck(node);
      case "query": {
        if (this.#isHoldOver(name)) this.#candidates.endHold(name);
        if (decision.after > 0) {
          this.#pendingLookups.forgetFailed(name, identityOf(node));
          return requeue(decision.after, "the next proof");
        }
        const query = { urgency: "deletion-proof", ...defined({ method: decision.method }) } as const;
        this.#pendingLookups.ask(name, identityOf(node), query, acceptedAge(node));
        return waiting;
      }
      case "hold":
        return this.#hold(node, decision.problem);
      case "delete":
        return this.#remove(node, decision.isAnnounced, signal);
    }
  }

  /** The instance exists. Checks again later, and then accepts only newer answers. */
  #recheck(node: Node): Outcome {
    const { inventory, clock } = this.#options;
    const { name } = node.metadata;
    this.#candidates.endHold(name);
    if (!this.#candidates.isCheckDue(name)) {
      const { all, terminating } = this.#candidates;
      const isTerminating = this.#candidates.evidenceOf(name).state === "terminating";
      const [count, pace] = isTerminating
        ? ([terminating, "soon"] as const)
        : ([all.size, "regular"] as const);
      const interval = inventory.checkInterval(identityOf(node), count, pace);
      return requeue(this.#candidates.scheduleCheck(name, interval), "the next check");
    }
    const since = clock.monotonic();
    // The lookup accepts observations of this age; a different age would cause endless lookups.
    const seenSince = since - (acceptedAge(node) ?? 0);
    const evidence = { ...this.#candidates.evidenceOf(name), since, seenSince };
    this.#candidates.update(name, { evidence, nextCheck: undefined });
    return requeue(milliseconds(0), "a check is due");
  }

  #hold(node: Node, problem: Problem): Outcome {
    const { inventory, removals } = this.#options;
    const { name, uid } = node.metadata;
    const { reason } = problem;
    const isOfMany = reason === massDeletionReason || reason === outOfServiceHeldReason;
    if (isOfMany) removals.hold("nodes", uid, name);
    else removals.endHold("nodes", uid);
    // The text contains counts. A changed count alone is not reported again.
    this.#reporter.report(node, "hold", [{ ...problem, identity: reason }]);
    this.#candidates.update(name, { heldFor: reason });
    // Only a further query shows whether the cloud has recovered.
    if (this.#candidates.isCheckDue(name)) {
      const method = isOfMany ? ("listing" as const) : undefined;
      const query = { urgency: "deletion-proof", ...defined({ method }) } as const;
      this.#pendingLookups.ask(name, identityOf(node), query);
    } else this.#pendingLookups.forgetFailed(name, identityOf(node));
    const pages = inventory.sources.reduce((sum, { latest }) => sum + (latest?.pages ?? 1), 0);
    return requeue(this.#candidates.scheduleCheck(name, intervalOf(pages, "regular")), reason);
  }

  async #setOutOfService(
    node: Node,
    change: Extract<LifecycleDecision, { kind: "out-of-service" }>,
    signal: AbortSignal,
  ): Promise<Outcome> {
    const { name } = node.metadata;
    this.#candidates.endHold(name);
    // The taint is not set on a Node that has changed, which only the watch shows.
    if (change.isSet && this.#options.nodes.isAhead?.(name) === true) return behindWrite;
    const isWritten = await setOutOfServiceTaint(node, change, this.#options, signal);
    return isWritten
      ? requeue(milliseconds(0), "the taint was written")
      : requeue(observedDelay, "observe mode");
  }

  async #remove(node: Node, isAnnounced: boolean, signal: AbortSignal): Promise<Outcome> {
    const { nodes, report } = this.#options;
    const { name } = node.metadata;
    // The last write returned a version that the watch has not delivered yet. A delete must be based on the watch.
    if (nodes.isAhead?.(name) === true) return behindWrite;
    if (isAnnounced) this.#history.announce(node);
    try {
      if (!isAnnounced && (await this.#doubt.record([node.metadata.uid], [name])) === "decide again")
        return requeue(milliseconds(0), "the deletion is recorded");
    } catch (error) {
      if (!isKubeError(error, "conflict", "fenced")) report(node, deletingNodeFailed(node, error));
      throw error;
    }
    if (!(await removeNode(node, this.#options, signal))) return requeue(observedDelay, "observe mode");
    // The record stays until the watch reports the deletion, because it contains whether the deletion was announced.
    return settled;
  }

  /** Whether a deletion of the Node by any client counts as a removal. */
  #countsDeletion(node: Node): boolean {
    const { name, uid } = node.metadata;
    const isReleased = this.#options.removals.isReleased("nodes", uid);
    const isInDoubt = this.#doubt.hasCounted(name, uid) && !isReleased && !isConfirmed(node);
    return isInDoubt || this.#history.countsDeletion(node, this.#candidates.evidenceOf(name));
  }

  /** The mass limit held this Node, but holds no Node now. */
  #isHoldOver(name: string): boolean {
    const heldFor = this.#candidates.all.get(name)?.heldFor;
    if (heldFor === outOfServiceHeldReason) return this.#outOfServiceDoubt.verdict().held === undefined;
    return heldFor === massDeletionReason && this.#doubt.verdict().held === undefined;
  }
}

/** A joining Node is not Ready yet, so a recent observation of its instance is sufficient. */
function acceptedAge(node: Node): Milliseconds | undefined {
  return isUninitialized(node) ? minutes(1) : undefined;
}
