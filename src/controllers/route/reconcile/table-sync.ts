// What belongs to one route table: its listing, schedule, backoffs, running changes and evidence. A table that fails or waits
// therefore never delays another one.

import type { Milliseconds } from "../../../core/brand.ts";
import { endOf } from "../../../runtime/draining.ts";
import { type Outcome, settled } from "../../../runtime/workers.ts";
import { RouteGuard, type SharedEvidence } from "../absence/route-guard.ts";
import { RouteBackoffs } from "../apply/backoffs.ts";
import type { TableOptions } from "../deps.ts";
import { RouteTable } from "../observed/route-table.ts";
import { SyncSchedule } from "../queue/schedule.ts";
import type { ConditionWriter } from "../status/condition-writer.ts";
import type { NodeProblems } from "../status/node-problems.ts";
import { RouteReporter } from "../status/route-reporter.ts";
import type { TableDecisions } from "../status/table-decisions.ts";
import type { InstanceSearch } from "./instance-search.ts";
import { PendingChanges } from "./pending-changes.ts";
import { RouteSyncer } from "./sync.ts";

/** What all tables share. */
export interface SharedByTables extends SharedEvidence {
  readonly instances: InstanceSearch;
  readonly decisions: TableDecisions;
  readonly conditions: ConditionWriter;
  readonly nodeProblems: NodeProblems;
}

export class TableSync {
  readonly #options: TableOptions;
  readonly #schedule: SyncSchedule;
  readonly #pending: PendingChanges;
  readonly #guard: RouteGuard;
  readonly #syncer: RouteSyncer;
  #table: RouteTable | undefined;

  /** `onUpdate`: a running change has ended. */
  constructor(options: TableOptions, shared: SharedByTables, onUpdate: () => void) {
    const backoffs = new RouteBackoffs(options.clock);
    this.#options = options;
    this.#schedule = new SyncSchedule(options);
    this.#pending = new PendingChanges(options, backoffs, onUpdate);
    this.#guard = new RouteGuard(options, shared);
    this.#syncer = new RouteSyncer(options, {
      ...shared,
      schedule: this.#schedule,
      backoffs,
      pending: this.#pending,
      reporter: new RouteReporter(options, shared.nodeProblems),
      guard: this.#guard,
    });
  }

  /** A leadership session begins. */
  begin(signal: AbortSignal): void {
    const { routes, clock } = this.#options;
    // During a drain, a running listing completes.
    this.#table = new RouteTable(routes, clock, endOf(signal).signal);
    this.#schedule.begin();
    this.#guard.begin();
    this.#pending.begin(signal);
  }

  end(): void {
    this.#pending.end();
    this.#guard.end();
  }

  /** Another account may answer from now on. Returns whether anything must be proved again. */
  forgetEvidence(): boolean {
    this.#table?.invalidate();
    return this.#guard.forgetEvidence();
  }

  /** How long the sync after a change waits for other changes. */
  delayAfterChange(): Milliseconds {
    const needsListing = this.#table?.latest(this.#options.settings.maxListingAge) === undefined;
    return this.#schedule.delayAfterChange(needsListing);
  }

  async sync(signal: AbortSignal): Promise<Outcome> {
    if (this.#table === undefined) return settled;
    return this.#syncer.sync(this.#table, signal);
  }

  failed(error: unknown): void {
    this.#syncer.failed(this.#table, error);
  }
}
