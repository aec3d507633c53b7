// The sync of one route table, from top to bottom: updates of pending changes, a survey, the changes, and the resulting
// conditions of the Nodes. Each table has its own listing, schedule, backoff, evidence and set of running changes, so that a
// failing or waiting table never delays another.

import { type Milliseconds, milliseconds, minutes, seconds } from "../../../core/brand.ts";
import { defined } from "../../../core/defined.ts";
import type { DesiredRoute } from "../../../provider/routes.ts";
import { type Outcome, requeue } from "../../../runtime/workers.ts";
import { delayAfterError } from "../../classify-error.ts";
import type { Subscriptions } from "../../kernel/run-controller.ts";
import { RouteGuard, type SharedEvidence } from "../allow/route-guard.ts";
import { applyPlan } from "../apply/apply.ts";
import { type ChangeResult, OpenChanges, type RouteChange } from "../apply/open-changes.ts";
import type { RouteSync, TableOptions } from "../deps.ts";
import { TableListing } from "../observe/table-listing.ts";
import { type Survey, surveyOf } from "../plan/plan.ts";
import { type ConditionWriter, decideNetworkConditions, isTransient } from "../status/network-condition.ts";
import { type NodeProblems, RouteReporter } from "../status/route-reporter.ts";
import { SyncSchedule } from "../triggers/schedule.ts";
import type { InstanceSearch } from "./instance-search.ts";

/** State that all tables share. */
export interface SharedByTables extends SharedEvidence {
  readonly instances: InstanceSearch;
  readonly conditions: ConditionWriter;
  readonly nodeProblems: NodeProblems;
}

const fencedBackoff: Milliseconds = seconds(10);
/** In observe mode, every sync plans the same changes again. The journal records each change only once. */
const observedBackoff: Milliseconds = minutes(24 * 60);

export class TableSync {
  readonly #options: TableOptions;
  readonly #shared: SharedByTables;
  readonly #schedule: SyncSchedule;
  readonly #open: OpenChanges;
  readonly #guard: RouteGuard;
  readonly #reporter: RouteReporter;
  readonly #listing: TableListing;
  #began = 0;
  #isPeriodic = true;
  #lastSync: RouteSync | undefined;
  /** Failed changes that no sync result has counted yet. */
  #failed = 0;

  /** `onUpdate`: called when a running change has ended. */
  constructor(options: TableOptions, shared: SharedByTables, onUpdate: () => void) {
    this.#options = options;
    this.#shared = shared;
    this.#listing = new TableListing(options.routes, options.clock);
    this.#schedule = new SyncSchedule(options);
    this.#open = new OpenChanges(options, onUpdate);
    this.#guard = new RouteGuard(options, shared);
    this.#reporter = new RouteReporter(options, shared.nodeProblems);
  }

  /** Follows the Nodes and open operations. */
  *start(signal: AbortSignal): Subscriptions {
    yield this.#open.start(signal);
  }

  get report() {
    const { problems, nodeProblems } = this.#reporter;
    return { problems, nodeProblems, lastSync: this.#lastSync };
  }

  /** How long the sync after a change waits for further changes. */
  delayAfterChange(): Milliseconds {
    return this.#schedule.delayAfterChange(this.#listing.recent === undefined);
  }

  async sync(signal: AbortSignal): Promise<Outcome> {
    this.#began = this.#options.clock.monotonic();
    this.#isPeriodic = this.#schedule.isFullCheckDue;
    if (this.#recordEnded()) this.#listing.invalidate();
    const guarded = await this.#guard.limit(await this.#survey(signal));
    if (guarded === "decide again") return requeue(milliseconds(0), "the changes are recorded");
    const { survey } = guarded;
    this.#schedule.synced(this.#began, survey.desired.waiting.length === 0);
    this.#reporter.surveyed(guarded, this.#open.unchecked);
    const results = await this.#apply(survey, signal);
    this.#recordResults(results);
    const failuresOf = (route: DesiredRoute): number => this.#open.failuresOf({ do: "create", route });
    const decided = decideNetworkConditions(survey, results, failuresOf);
    this.#shared.conditions.update(this.#options.table, decided, survey.desired.tablesOfNode);
    this.#shared.instances.follow(survey.desired);
    this.#reportSync(this.#resultOf(survey, results));
    const end = Math.min(this.#open.nextAfter(this.#began) ?? Number.POSITIVE_INFINITY, this.#nextListing);
    return requeue(this.#schedule.delayToNext(end), "the next sync");
  }

  /** A plan that removes routes is always based on a listing that began after the sync. Proofs need such a listing too. */
  async #survey(signal: AbortSignal): Promise<Survey> {
    const { isFullCheckDue } = this.#schedule;
    const needsListing = isFullCheckDue || this.#nextListing <= this.#began;
    const recent = needsListing ? undefined : this.#listing.recent;
    const survey = recent && surveyOf(this.#options, recent);
    if (survey?.plan.remove.length === 0) return survey;
    const urgency = isFullCheckDue ? "refresh" : "new-node";
    return surveyOf(this.#options, await this.#listing.beganAfter(this.#began, { signal, urgency }));
  }

  /** Handles an interrupted sync. Without a listing nothing was changed; otherwise the next sync continues. */
  failed(error: unknown): void {
    if (this.#listing.hasFailedWith(error)) this.#reporter.failedListing(error);
    else this.#reporter.failedSync(error);
    const nothing = { wanted: 0, present: 0, waitingNodes: 0, there: 0, created: 0, removed: 0 };
    this.#reportSync({ isComplete: false, ...nothing });
  }

  /** When the routes must be listed although nothing has changed. */
  get #nextListing(): number {
    const { shownAt = Number.POSITIVE_INFINITY } = this.#options.routes;
    return Math.min(this.#guard.nextListing, shownAt);
  }

  async #apply(survey: Survey, signal: AbortSignal): Promise<readonly ChangeResult[]> {
    const { plan, listing } = survey;
    if (plan.create.length + plan.remove.length === 0) return [];
    const context = { ...this.#options, open: this.#open, listed: listing.routes.length };
    const results: ChangeResult[] = [];
    try {
      await applyPlan(plan, context, { signal, urgency: "new-node" }, results);
    } finally {
      // Recorded even after an abort, because the changes may have been applied.
      this.#guard.evidence.noteResults(results, listing.beganAt);
      this.#listing.invalidate();
    }
    return results;
  }

  #recordResults(results: readonly ChangeResult[]): void {
    const { routes } = this.#options;
    for (const { change, outcome } of results) {
      if (outcome.kind === "done") this.#open.clear(change);
      if (outcome.kind === "pending") this.#open.accepted(change, outcome);
      if (outcome.kind === "fenced") this.#open.wait(change, fencedBackoff);
      if (outcome.kind === "observed") this.#open.wait(change, observedBackoff);
      if (outcome.kind === "failed") this.#recordFailure(change, outcome.error, outcome.took);
    }
    this.#open.keepOnly(results.map(({ change }) => change));
    this.#reporter.changed(results);
    if (routes.oneAtATime && results.some(({ outcome }) => outcome.kind === "waiting"))
      this.#schedule.continueSoon();
  }

  /** Records how pending changes ended since the last sync; returns whether they may have changed the table. */
  #recordEnded(): boolean {
    const ended = this.#open.takeEnded();
    for (const result of ended) {
      const { change, outcome } = result;
      if (outcome.kind === "failed") this.#recordFailure(change, outcome.error, outcome.took);
      if (outcome.kind === "done") this.#options.routes.noteDone(change);
      this.#guard.evidence.noteEnd(result);
    }
    return ended.length > 0;
  }

  #recordFailure(change: RouteChange, error: unknown, took: Milliseconds): void {
    this.#failed += 1;
    const failures = this.#open.failuresOf(change) + 1;
    this.#open.failed(change, delayAfterError(error, failures, this.#options));
    if (!isTransient(error, failures)) this.#reporter.failure(change, error, took);
  }

  #resultOf({ desired, listing, plan }: Survey, results: readonly ChangeResult[]) {
    const done = results.filter(({ outcome }) => outcome.kind === "done");
    const created = done.filter(({ change }) => change.do === "create").length;
    const removed = done.length - created;
    return {
      isComplete: true,
      wanted: desired.routes.length,
      present: plan.present.length + created,
      waitingNodes: desired.waiting.length,
      there: listing.routes.length + created - removed,
      ...defined({ limit: this.#options.routes.limit }),
      created,
      removed,
    };
  }

  #reportSync(result: Omit<RouteSync, "table" | "duration" | "failed" | "isPeriodic">): void {
    const { table, clock, onSync } = this.#options;
    const duration = milliseconds(clock.monotonic() - this.#began);
    const [isPeriodic, failed] = [this.#isPeriodic, this.#failed];
    this.#lastSync = { ...defined({ table }), duration, ...result, isPeriodic, failed };
    this.#failed = 0;
    onSync(this.#lastSync);
  }
}
