// Keeps the cloud's routes as the Nodes' pod ranges ask, and the condition NetworkUnavailable true to it. A pass over all
// routes is in `pass.ts`, and what is decided in the `plan…` files; here its parts are put together, and keys handed out.

import { seconds } from "../../core/brand.ts";
import { endOf } from "../../runtime/draining.ts";
import { WorkQueue } from "../../runtime/work-queue.ts";
import { type Outcome, requeue, runWorkers } from "../../runtime/workers.ts";
import { delayAfterError } from "../errors.ts";
import type { RouteControllerOptions } from "./deps.ts";
import { MachineSearch } from "./desired/machine-search.ts";
import { RouteTable } from "./observed/route-table.ts";
import { createUnderWay } from "./observed/under-way.ts";
import { isRelevantForRoutes } from "./queue/relevant-change.ts";
import { CheckSchedule } from "./queue/schedule.ts";
import { RouteBackoffs } from "./reconcile/backoffs.ts";
import { createPasses } from "./reconcile/sync.ts";
import { createConditions } from "./status/conditions.ts";
import { RouteReporter } from "./status/route-reporter.ts";

export interface RouteController {
  /** Holds one key for all routes, one per Node whose condition is to be written, one per Node whose machine is looked for. */
  readonly queue: WorkQueue;
  run(signal: AbortSignal): Promise<void>;
}

const allRoutes = "routes";
const conditionOf = (name: string): string => `condition/${name}`;
const machineOf = (name: string): string => `machine/${name}`;

export function createRouteController(options: RouteControllerOptions): RouteController {
  const { nodes, inventory, settings, clock } = options;
  const queue = new WorkQueue(clock);
  const backoffs = new RouteBackoffs(clock);
  const reporter = new RouteReporter(options);
  const times = new CheckSchedule(options);
  const conditions = createConditions(options, (name) => queue.add(conditionOf(name)));
  let table: RouteTable | undefined;

  const checkSoon = (): void => {
    const takesListing = table?.known(settings.acceptsAge) === undefined;
    queue.add(allRoutes, { delay: times.soon(takesListing) });
  };
  const underWay = createUnderWay(options, backoffs, checkSoon);
  const machines = new MachineSearch({
    ...options,
    enqueue: (name) => queue.add(machineOf(name)),
    onFound: checkSoon,
  });
  const passes = createPasses(options, { times, backoffs, underWay, reporter, machines, conditions });

  const reconcile = async (key: string, signal: AbortSignal): Promise<Outcome> => {
    const [kind, name = ""] = key.split("/");
    if (kind === "condition") return conditions.write(name, signal);
    if (kind === "machine") return machines.check(name);
    // Before all Nodes are known, every route would look like one that nobody asks for.
    if (!options.isSynced() || table === undefined) return requeue(seconds(1), "the nodes to be listed");
    return passes.run(table, signal);
  };

  const onError = (key: string, error: unknown, failures: number): Outcome => {
    if (key === allRoutes) passes.failed(table, error);
    return requeue(delayAfterError(error, failures, options), "an error");
  };

  const run = async (signal: AbortSignal): Promise<void> => {
    // A drain lets a listing that is in hand come to its end.
    table = new RouteTable(options.routes, clock, endOf(signal).signal);
    times.begin();
    // Those of the last term may still wait to be written, and another replica has led since.
    conditions.judge(new Map());
    const stopNodes = nodes.subscribe(({ before, after }) => {
      if (isRelevantForRoutes(before, after, options.isSelected)) checkSoon();
    });
    const stopNews = inventory.subscribe(() => machines.onNews());
    underWay.begin(signal);
    queue.add(allRoutes);
    try {
      const count = settings.conditionsAtOnce + 1;
      await runWorkers({ queue, count, reconcile, onError, clock }, signal);
    } finally {
      stopNodes();
      stopNews();
      underWay.end();
    }
  };

  return { queue, run };
}
