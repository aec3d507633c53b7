// One sync of a route table, from top to bottom: updates of pending changes, a survey, the changes, and the resulting
// conditions of the Nodes.

import { type Milliseconds, milliseconds, minutes, seconds } from "../../../core/brand.ts";
import { defined } from "../../../core/defined.ts";
import { type Outcome, requeue } from "../../../runtime/workers.ts";
import { delayAfterError } from "../../errors.ts";
import type { RouteGuard } from "../absence/route-guard.ts";
import { applyPlan } from "../apply/apply.ts";
import type { RouteBackoffs } from "../apply/backoffs.ts";
import type { TableOptions } from "../deps.ts";
import type { RouteTable } from "../observed/route-table.ts";
import type { ChangeResult, RouteChange } from "../plan/changes.ts";
import { type Survey, takeSurvey } from "../plan/survey.ts";
import type { SyncSchedule } from "../queue/schedule.ts";
import type { ConditionWriter } from "../status/condition-writer.ts";
import { decideNetworkConditions, isTransient } from "../status/network-condition.ts";
import type { RouteReporter } from "../status/route-reporter.ts";
import type { TableDecisions } from "../status/table-decisions.ts";
import type { InstanceSearch } from "./instance-search.ts";
import type { PendingChanges } from "./pending-changes.ts";

export interface RouteSyncerDeps {
  readonly schedule: SyncSchedule;
  readonly backoffs: RouteBackoffs;
  readonly pending: PendingChanges;
  readonly reporter: RouteReporter;
  readonly instances: InstanceSearch;
  readonly decisions: TableDecisions;
  readonly conditions: ConditionWriter;
  readonly guard: RouteGuard;
}

const fencedBackoff: Milliseconds = seconds(10);
/** In observe mode, every sync plans the same changes again. Each is journalled only once. */
const observedBackoff: Milliseconds = minutes(24 * 60);

export class RouteSyncer {
  readonly #options: TableOptions;
  readonly #deps: RouteSyncerDeps;
  #began = 0;

  constructor(options: TableOptions, deps: RouteSyncerDeps) {
    this.#options = options;
    this.#deps = deps;
  }

  async sync(table: RouteTable, signal: AbortSignal): Promise<Outcome> {
    const { schedule, backoffs, pending, reporter, instances, guard } = this.#deps;
    this.#began = this.#options.clock.monotonic();
    const isFullCheck = schedule.isFullCheckDue;
    if (this.#recordUpdates(table)) table.invalidate();
    const listAt = [guard.nextListing, table.shownAt].filter((at) => at !== undefined);
    const needsListing = Math.min(...listAt) <= this.#began;
    const moment = { began: this.#began, needsListing, isFullCheck };
    const { survey, limited } = await guard.limit(await takeSurvey(this.#options, table, moment, signal));
    const { desired, listing, plan } = survey;
    schedule.synced(this.#began, desired.waiting.length === 0);
    reporter.problems(desired, listing, plan, pending.unchecked, limited);
    reporter.hold(limited);
    const options = { ...this.#options, isBusy: pending.isBusy };
    const results = await applyPlan(survey, table, backoffs, options, { signal, urgency: "new-node" });
    this.#recordResults(table, results);
    const isTurnBased =
      this.#options.routes.style === "one-by-one" && this.#options.routes.oneAtATime === true;
    if (isTurnBased && results.some(({ outcome }) => outcome.kind === "waiting")) schedule.continueSoon();
    guard.noteResults(survey, results);
    this.#decideConditions(survey, results);
    instances.follow(desired);
    this.#reportSync(survey, results);
    const ends = [backoffs.nextAfter(this.#began), guard.nextListing, table.shownAt].filter(
      (at) => at !== undefined,
    );
    return requeue(schedule.delayToNext(Math.min(...ends)), "the next sync");
  }

  #decideConditions({ desired, plan }: Survey, results: readonly ChangeResult[]): void {
    const { backoffs, decisions, conditions } = this.#deps;
    const decided = decideNetworkConditions(
      plan,
      results,
      (route) => backoffs.failuresOf({ do: "create", route }),
      (node) => desired.nodeProblems.has(node),
    );
    conditions.update(decisions.update(this.#options.table, decided, desired.tablesOfNode));
  }

  /** Handles an interrupted sync. Without a listing nothing was changed; otherwise the next sync continues. */
  failed(table: RouteTable | undefined, error: unknown): void {
    const { reporter } = this.#deps;
    if (table?.hasFailedWith(error) === true) reporter.failedListing(error);
    else reporter.failedSync(error);
    const nothing = { wanted: 0, there: 0, created: 0, removed: 0, failed: 0 };
    this.#options.onSync({ ...this.#table, isComplete: false, duration: this.#duration(), ...nothing });
  }

  #recordResults(table: RouteTable, results: readonly ChangeResult[]): void {
    const { backoffs, pending, reporter } = this.#deps;
    for (const { change, outcome } of results) {
      if (outcome.kind === "done") {
        backoffs.clear(change);
        table.noteDone(change);
      }
      if (outcome.kind === "pending") pending.add(change, outcome, this.#options.routes.readsLag);
      if (outcome.kind === "fenced") backoffs.wait(change, fencedBackoff);
      if (outcome.kind === "observed") backoffs.wait(change, observedBackoff);
      if (outcome.kind === "failed") this.#recordFailure(change, outcome.error, outcome.took);
    }
    backoffs.keepOnly(results.map(({ change }) => change));
    reporter.changed(results);
  }

  /** Records how pending changes ended since the last sync; returns whether they may have changed the table. */
  #recordUpdates(table: RouteTable): boolean {
    const { failed, done, hasEnded } = this.#deps.pending.takeUpdates();
    for (const { change, error, took } of failed) this.#recordFailure(change, error, took);
    for (const change of done) table.noteDone(change);
    this.#deps.guard.noteOperations(
      failed.map(({ change }) => change),
      done,
    );
    return hasEnded;
  }

  #recordFailure(change: RouteChange, error: unknown, took: Milliseconds): void {
    const { clock, random } = this.#options;
    const { backoffs, reporter } = this.#deps;
    const failures = backoffs.failuresOf(change) + 1;
    backoffs.failed(change, delayAfterError(error, failures, { clock, random }));
    if (!isTransient(error, failures)) reporter.failure(change, error, took);
  }

  #reportSync({ desired, listing }: Survey, results: readonly ChangeResult[]): void {
    const done = results.filter(({ outcome }) => outcome.kind === "done");
    const created = done.filter(({ change }) => change.do === "create").length;
    const removed = done.length - created;
    this.#options.onSync({
      ...this.#table,
      isComplete: true,
      duration: this.#duration(),
      wanted: desired.routes.length,
      there: listing.routes.length + created - removed,
      ...defined({ limit: this.#options.routes.limit }),
      created,
      removed,
      failed: results.filter(({ outcome }) => outcome.kind === "failed").length,
    });
  }

  get #table() {
    return defined({ table: this.#options.table });
  }

  #duration(): Milliseconds {
    return milliseconds(this.#options.clock.monotonic() - this.#began);
  }
}
