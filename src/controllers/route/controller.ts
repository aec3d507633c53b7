// The route controller: creates a route in the cloud for every pod CIDR of a Node, and keeps the NetworkUnavailable condition of
// the Nodes up to date. `reconcile/sync.ts` syncs all routes; this file dispatches the keys of the queue.

import { seconds } from "../../core/brand.ts";
import { endOf } from "../../runtime/draining.ts";
import { WorkQueue } from "../../runtime/work-queue.ts";
import { type Outcome, requeue, runWorkers } from "../../runtime/workers.ts";
import { delayAfterError } from "../errors.ts";
import { RouteGuard } from "./absence/route-guard.ts";
import { RouteBackoffs } from "./apply/backoffs.ts";
import type { RouteControllerOptions } from "./deps.ts";
import { RouteTable } from "./observed/route-table.ts";
import { isRelevantForRoutes } from "./queue/relevant-change.ts";
import { SyncSchedule } from "./queue/schedule.ts";
import { InstanceSearch } from "./reconcile/instance-search.ts";
import { PendingChanges } from "./reconcile/pending-changes.ts";
import { RouteSyncer } from "./reconcile/sync.ts";
import { ConditionWriter } from "./status/condition-writer.ts";
import { RouteReporter } from "./status/route-reporter.ts";

const allRoutes = "routes";
const conditionKey = (name: string): string => `condition/${name}`;
const machineKey = (name: string): string => `machine/${name}`;

export class RouteController {
  /** One key for all routes, one per Node whose condition must be written, and one per Node whose instance is looked up. */
  readonly queue: WorkQueue;
  readonly #options: RouteControllerOptions;
  readonly #schedule: SyncSchedule;
  readonly #conditions: ConditionWriter;
  readonly #pending: PendingChanges;
  readonly #instances: InstanceSearch;
  readonly #syncer: RouteSyncer;
  readonly #guard: RouteGuard;
  #table: RouteTable | undefined;

  constructor(options: RouteControllerOptions) {
    const { clock } = options;
    const backoffs = new RouteBackoffs(clock);
    const enqueueAll = (): void => this.#enqueueAll();
    this.#options = options;
    this.queue = new WorkQueue(clock);
    this.#schedule = new SyncSchedule(options);
    this.#conditions = new ConditionWriter(options, (name) => this.queue.add(conditionKey(name)));
    this.#pending = new PendingChanges(options, backoffs, enqueueAll);
    this.#instances = new InstanceSearch({
      ...options,
      enqueue: (name) => this.queue.add(machineKey(name)),
      onFound: enqueueAll,
    });
    this.#guard = new RouteGuard(options);
    this.#guard.follow(options.nodes);
    this.#syncer = new RouteSyncer(options, {
      schedule: this.#schedule,
      backoffs,
      pending: this.#pending,
      reporter: new RouteReporter(options),
      instances: this.#instances,
      conditions: this.#conditions,
      guard: this.#guard,
    });
  }

  /** Runs for one leadership session. */
  async run(signal: AbortSignal): Promise<void> {
    const { nodes, inventory, routes, settings, clock, isSelected, removals } = this.#options;
    // During a drain, a running listing completes.
    this.#table = new RouteTable(routes, clock, endOf(signal).signal);
    this.#schedule.begin();
    this.#guard.begin();
    // Drops the decisions of the last session, because another replica has been the leader since.
    this.#conditions.update(new Map());
    const unsubscribeNodes = nodes.subscribe(({ before, after }) => {
      if (isRelevantForRoutes(before, after, isSelected)) this.#enqueueAll();
    });
    const unsubscribeInventory = inventory.subscribe(() => this.#instances.onInventoryNews());
    const unsubscribeReleases = removals.subscribe((kind) => {
      if (kind === "routes") this.#enqueueAll();
    });
    this.#pending.begin(signal);
    this.queue.add(allRoutes);
    try {
      await runWorkers(
        {
          queue: this.queue,
          count: () => settings.concurrentConditions + 1,
          reconcile: (key, stop) => this.#reconcile(key, stop),
          onError: (key, error, failures) => this.#onError(key, error, failures),
          clock,
        },
        signal,
      );
    } finally {
      unsubscribeNodes();
      unsubscribeInventory();
      unsubscribeReleases();
      this.#pending.end();
      this.#guard.end();
    }
  }

  /** The settings have changed: all routes are synced again. */
  reconsider(): void {
    this.#enqueueAll();
  }

  #enqueueAll(): void {
    const needsListing = this.#table?.latest(this.#options.settings.maxListingAge) === undefined;
    this.queue.add(allRoutes, { delay: this.#schedule.delayAfterChange(needsListing) });
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<Outcome> {
    const [kind, name = ""] = key.split("/");
    if (kind === "condition") return this.#conditions.write(name, signal);
    if (kind === "machine") return this.#instances.check(name);
    // While the Node cache is incomplete, the routes of missing Nodes would be removed.
    if (!this.#options.isSynced() || this.#table === undefined) {
      return requeue(seconds(1), "the Node cache is not synced");
    }
    return this.#syncer.sync(this.#table, signal);
  }

  #onError(key: string, error: unknown, failures: number): Outcome {
    if (key === allRoutes) this.#syncer.failed(this.#table, error);
    return requeue(delayAfterError(error, failures, this.#options), "an error");
  }
}
