// The route controller of one leadership session: creates a route in the cloud for every pod CIDR of a Node, and updates the
// NetworkUnavailable condition of Nodes. `reconcile/table-sync.ts` syncs the routes of one table; this file dispatches the
// keys of the queue.

import { milliseconds, minutes } from "../../core/brand.ts";
import type { Problem } from "../../core/problem.ts";
import type { Node } from "../../kube/objects.ts";
import { CloudError } from "../../provider/errors.ts";
import { WorkQueue } from "../../runtime/work-queue.ts";
import { type Outcome, requeue, settled } from "../../runtime/workers.ts";
import { delayAfterError } from "../classify-error.ts";
import type { ControllerReport } from "../kernel/board.ts";
import { type Reconciler, runController, type Subscriptions } from "../kernel/run-controller.ts";
import type { RouteControllerOptions, RouteSync } from "./deps.ts";
import { targetOf } from "./desired/plan-desired.ts";
import type { RouteHistory } from "./history.ts";
import { InstanceSearch } from "./reconcile/instance-search.ts";
import { type SharedByTables, TableSync } from "./reconcile/table-sync.ts";
import { ConditionWriter } from "./status/network-condition.ts";
import { NodeProblems } from "./status/route-reporter.ts";
import { concernedTables, type TableName } from "./tables.ts";
import { isRelevantForRoutes } from "./triggers/schedule.ts";

/** The number of Nodes whose condition is written in parallel. */
const concurrentConditions = 32;

const tableKey = (name: TableName): string => (name === undefined ? "routes" : `routes/${name}`);

export interface RouteReport extends ControllerReport {
  /** Findings about whole tables, by name. */
  readonly tables: ReadonlyMap<string, readonly Problem[]>;
  /** The last sync of each table. */
  readonly syncs: readonly RouteSync[];
}

export class RouteController implements Reconciler {
  /** One key for each table, for each Node whose condition must be written, and for each Node whose instance is looked up. */
  readonly queue: WorkQueue;
  readonly #options: RouteControllerOptions;
  readonly #history: RouteHistory;
  readonly #shared: SharedByTables;
  /** The table syncs by queue key. */
  readonly #tables: ReadonlyMap<string, TableSync>;

  constructor(options: RouteControllerOptions, history: RouteHistory) {
    this.#options = options;
    this.#history = history;
    this.queue = new WorkQueue(options.clock);
    const { deletions, tableOfRemoval } = history;
    const nodeProblems = new NodeProblems(options, history);
    this.#shared = {
      deletions,
      tableOfRemoval,
      nodeProblems,
      conditions: new ConditionWriter(options, (name) => this.queue.add(`condition/${name}`)),
      instances: new InstanceSearch(
        options,
        nodeProblems,
        (name) => this.queue.add(`machine/${name}`),
        () => this.#syncAll(),
      ),
    };
    this.#tables = new Map(
      options.tables.map((routes) => {
        const key = tableKey(routes.name);
        const table = routes.name;
        const ofTable = { ...options, routes, table, history: history.ofTable(table) };
        return [key, new TableSync(ofTable, this.#shared, () => this.#enqueue(key))];
      }),
    );
  }

  report(): RouteReport {
    const reports = [...this.#tables].map(([key, { report }]) => ({ key, ...report }));
    const byNode = Map.groupBy(
      reports.flatMap(({ nodeProblems }) => nodeProblems),
      ([node]) => node,
    );
    return {
      problems: new Map([...byNode].map(([node, found]) => [node, found.map(([, problem]) => problem)])),
      tables: new Map(reports.flatMap(({ key, problems }) => (problems.length > 0 ? [[key, problems]] : []))),
      syncs: reports.flatMap(({ lastSync }) => lastSync ?? []),
    };
  }

  /** Runs for one leadership session, once. */
  run(signal: AbortSignal): Promise<void> {
    const concurrency = concurrentConditions + this.#tables.size;
    return runController(this, { ...this.#options, concurrency }, signal);
  }

  *begin(signal: AbortSignal): Subscriptions {
    const { nodes, inventory, isSelected, removals } = this.#options;
    this.#history.beginSession();
    yield nodes.subscribe(({ before, after }) => {
      if (isRelevantForRoutes(before, after, isSelected)) this.#enqueueFor(before, after);
    });
    yield inventory.subscribe(() => this.#shared.instances.onInventoryNews());
    yield removals.subscribe((kind) => {
      if (kind === "routes") this.#syncAll();
    });
    for (const [key, table] of this.#tables) {
      yield* table.start(signal);
      this.queue.add(key);
    }
  }

  #syncAll(): void {
    for (const key of this.#tables.keys()) this.#enqueue(key);
  }

  /** Enqueues only the tables that serve the Node; with many tables, each change would otherwise sync all of them. */
  #enqueueFor(...versions: readonly (Node | undefined)[]): void {
    const { inventory, tables } = this.#options;
    const nodes = versions.filter((node) => node !== undefined);
    const targets = nodes.map((node) => targetOf(inventory, node));
    for (const { name } of concernedTables(tables, targets)) this.#enqueue(tableKey(name));
  }

  #enqueue(key: string): void {
    const delay = this.#tables.get(key)?.delayAfterChange();
    if (delay !== undefined) this.queue.add(key, { delay });
  }

  async reconcile(key: string, signal: AbortSignal): Promise<Outcome> {
    const table = this.#tables.get(key);
    if (table !== undefined) return table.sync(signal);
    const [kind, name = ""] = key.split("/");
    if (kind === "condition") return this.#shared.conditions.write(name, signal);
    return kind === "machine" ? this.#shared.instances.check(name) : settled;
  }

  onError(key: string, error: unknown, failures: number): Outcome {
    const table = this.#tables.get(key);
    table?.failed(error);
    const delay = delayAfterError(error, failures, this.#options);
    // The table's listing is one request, so the end of an outage is detected soon for all routes, and at little cost.
    const isOutage = table !== undefined && CloudError.is(error) && error.kind === "unavailable";
    return requeue(isOutage ? milliseconds(Math.min(delay, minutes(1))) : delay, "an error");
  }
}
