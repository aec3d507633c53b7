// Keeps the cloud's routes as the Nodes' pod ranges ask, and the condition NetworkUnavailable true to it. Decisions are in
// the `plan…` files and `apply…` carries them out; here is when to look, what rests how long, and what is said.

import { restAfter } from "../../cloud/disposition.ts";
import { type Milliseconds, milliseconds, minutes, seconds } from "../../core/brand.ts";
import { isKubeError } from "../../kube/kube-error.ts";
import { nodeConditionsPatch } from "../../kube/node-patch.ts";
import type { Node } from "../../kube/objects.ts";
import type { Call } from "../../provider/call.ts";
import { backoff, together } from "../../runtime/backoff.ts";
import { WorkQueue } from "../../runtime/work-queue.ts";
import { again, type Outcome, runWorkers, settled } from "../../runtime/workers.ts";
import { isPaused } from "../node-facts.ts";
import { aboutOf, type ChangeResult, keyOf } from "./apply.ts";
import { applyDocument } from "./apply-document.ts";
import { applyOneByOne } from "./apply-one-by-one.ts";
import { describeMissingMachine } from "./describe-failure.ts";
import { MachineSearch } from "./machine-search.ts";
import { planRoutes, type RoutePlan } from "./plan.ts";
import { planNetworkCondition } from "./plan-condition.ts";
import { isPassing, planVerdicts } from "./plan-verdicts.ts";
import { planWanted, type Wanted } from "./plan-wanted.ts";
import { isRelevantForRoutes } from "./relevant-change.ts";
import { Rests } from "./rests.ts";
import type { RouteControllerOptions } from "./route-ports.ts";
import { type RouteListing, RouteTable } from "./route-table.ts";
import { RouteTeller } from "./route-teller.ts";
import { nextFullCheck } from "./settings.ts";
import { createUnderWay } from "./under-way.ts";

export interface RouteController {
  /** Holds one key for all routes, one per Node whose condition is to be written, one per Node whose machine is looked for. */
  readonly queue: WorkQueue;
  run(signal: AbortSignal): Promise<void>;
}

const allRoutes = "routes";
const conditionOf = (name: string): string => `condition/${name}`;
const machineOf = (name: string): string => `machine/${name}`;

const lostRace = { first: milliseconds(100), cap: seconds(60) };
const fencedRest: Milliseconds = seconds(10);
/** What was only written down is still to be done at the next look; once is enough. */
const observedRest: Milliseconds = minutes(24 * 60);

export const createRouteController = (options: RouteControllerOptions): RouteController => {
  const { nodes, inventory, settings, clock, random, clusterCIDRs, routes } = options;
  const queue = new WorkQueue(clock);
  const rests = new Rests(clock);
  const teller = new RouteTeller(options);
  let verdicts: ReadonlyMap<string, boolean> = new Map();
  let table: RouteTable | undefined;
  let lastPass = 0;
  let pauseFrom = Number.NEGATIVE_INFINITY;
  let hasStarted = false;
  let fullCheckAt = 0;

  /** Soon, with whatever else changes until then; not too soon after the last time, if that takes another listing. */
  const lookSoon = (): void => {
    const soon = clock.monotonic() + settings.gathering;
    const isCheap = table?.known(settings.acceptsAge) !== undefined;
    const earliest = isCheap ? soon : Math.max(soon, pauseFrom + settings.pause);
    queue.add(allRoutes, { delay: milliseconds(earliest - clock.monotonic()) });
  };
  const underWay = createUnderWay(options, rests, lookSoon);
  const onMissing = (node: Node) => options.tell(node, describeMissingMachine(node.metadata.name));
  const machines = new MachineSearch({ inventory, clock, random, settings, onFound: lookSoon, onMissing });

  const reconcile = (key: string, signal: AbortSignal): Promise<Outcome> => {
    const [kind, name = ""] = key.split("/");
    if (kind === "condition") return writeCondition(name, signal);
    return kind === "machine" ? searchMachine(name) : lookAtAll(signal);
  };

  const lookAtAll = async (signal: AbortSignal): Promise<Outcome> => {
    // Before all Nodes are known, every route would look like one that nobody asks for.
    if (!options.isSynced() || table === undefined) return again(seconds(1), "the nodes to be listed");
    const began = clock.monotonic();
    const isFullCheck = began >= fullCheckAt;
    lastPass = began;
    const { failed, isAny } = underWay.news();
    if (isAny) table.outdate();
    for (const result of failed) noteFailure(result);
    const { wanted, listing, plan } = await planAll(table, began, isFullCheck);
    // At the start the machines are not known yet; what comes of knowing them does not wait.
    if (hasStarted || wanted.waiting.length === 0) pauseFrom = began;
    hasStarted = true;
    fullCheckAt = began + nextFullCheck(settings.fullCheck, random.fraction());
    teller.problems(wanted, listing, plan, underWay.unknown());
    const results = await apply(table, wanted, listing, plan, { signal, urgency: "new-node" });
    noteResults(results);
    teller.changed(results);
    writeConditions(plan, results);
    for (const { target } of wanted.routes) machines.end(target.node);
    for (const { metadata } of wanted.waiting) {
      if (machines.isSearching(metadata.name)) continue;
      machines.begin(metadata.name);
      queue.add(machineOf(metadata.name));
    }
    const done = results.filter(({ outcome }) => outcome.kind === "done");
    const created = done.filter(({ change }) => change.do === "create").length;
    options.onSync({
      isComplete: true,
      duration: milliseconds(clock.monotonic() - began),
      wanted: wanted.routes.length,
      observed: listing.routes.length,
      ...(routes.limit !== undefined && { limit: routes.limit }),
      created,
      removed: done.length - created,
      failed: results.filter(({ outcome }) => outcome.kind === "failed").length,
    });
    const next = Math.min(fullCheckAt, rests.next ?? Number.POSITIVE_INFINITY);
    return again(milliseconds(Math.max(0, next - clock.monotonic())), "the next look");
  };

  /** A listing that is a moment old will do, unless something is to be removed because of it. */
  const planAll = async (
    all: RouteTable,
    began: number,
    isFullCheck: boolean,
  ): Promise<{ readonly wanted: Wanted; readonly listing: RouteListing; readonly plan: RoutePlan }> => {
    const plannedFrom = (listing: RouteListing) => {
      const wanted = planWanted({
        nodes: nodes.list(),
        isSelected: options.isSelected,
        machineOf: (node) => machines.machineOf(node),
        keysOf: (node) => machines.keysOf(node),
        clusterCIDRs,
        families: routes.families,
      });
      return { wanted, listing, plan: planRoutes({ ...questionOf(wanted), observed: listing.routes }) };
    };
    const known = isFullCheck ? undefined : all.known(settings.acceptsAge);
    const early = known && plannedFrom(known);
    if (early !== undefined && early.plan.remove.length === 0) return early;
    return plannedFrom(await all.beganAfter(began, isFullCheck ? "refresh" : "new-node"));
  };

  const questionOf = ({ routes: asked, spared }: Wanted) => ({ wanted: asked, spared, clusterCIDRs });

  const apply = async (
    all: RouteTable,
    wanted: Wanted,
    listing: RouteListing,
    plan: RoutePlan,
    call: Call,
  ): Promise<readonly ChangeResult[]> => {
    if (plan.create.length + plan.remove.length === 0) return [];
    const common = { writes: options.cloudWrites, clock, rests, changesAtOnce: settings.changesAtOnce };
    // Also when it fails: what was sent may have landed.
    const sent = async <T>(send: () => Promise<T>): Promise<T> => send().finally(() => all.outdate());
    if (routes.style === "document") {
      return sent(() =>
        applyDocument(
          listing,
          {
            ...common,
            routes,
            readAgain: () => {
              all.outdate();
              return all.beganAfter(clock.monotonic(), call.urgency);
            },
            planFor: ({ routes: observed }) => planRoutes({ ...questionOf(wanted), observed }),
          },
          call,
        ),
      );
    }
    const isFull = routes.limit !== undefined && listing.routes.length + plan.create.length > routes.limit;
    return sent(() => applyOneByOne(plan, { ...common, routes, isFull }, call));
  };

  const noteResults = (results: readonly ChangeResult[]): void => {
    const isAsked = new Set<string>();
    for (const { change, outcome } of results) {
      const key = keyOf(change);
      const about = aboutOf(change);
      isAsked.add(key);
      if (outcome.kind === "done") rests.clear(key);
      if (outcome.kind === "pending") underWay.wait(change, outcome);
      if (outcome.kind === "fenced") rests.wait(key, about, fencedRest);
      if (outcome.kind === "observed") rests.wait(key, about, observedRest);
      if (outcome.kind === "failed") noteFailure({ change, outcome });
    }
    rests.keepOnly(isAsked);
  };

  const noteFailure = ({ change, outcome }: ChangeResult): void => {
    if (outcome.kind !== "failed") return;
    const key = keyOf(change);
    const about = aboutOf(change);
    const failures = rests.failuresOf(key, about) + 1;
    const rest = restAfter(outcome.error, failures, clock, random);
    rests.failed(key, about, together(clock.monotonic(), rest));
    if (!isPassing(outcome.error, failures)) teller.failure({ change, outcome });
  };

  const writeConditions = (plan: RoutePlan, results: readonly ChangeResult[]): void => {
    verdicts = planVerdicts(plan, results, (route) => {
      const change = { do: "create", route } as const;
      return rests.failuresOf(keyOf(change), aboutOf(change));
    });
    for (const { metadata } of nodes.list()) {
      const hasRoutes = verdicts.get(metadata.uid);
      const node = nodes.get(metadata.name);
      if (node === undefined || hasRoutes === undefined) continue;
      if (planNetworkCondition(node, hasRoutes, clock.now()) !== undefined)
        queue.add(conditionOf(metadata.name));
    }
  };

  const writeCondition = async (name: string, signal: AbortSignal): Promise<Outcome> => {
    const node = nodes.get(name);
    const hasRoutes = node && verdicts.get(node.metadata.uid);
    if (node === undefined || hasRoutes === undefined || isPaused(node) || !options.isSelected(node))
      return settled;
    const condition = planNetworkCondition(node, hasRoutes, clock.now());
    if (condition === undefined) return settled;
    const why = hasRoutes ? "its routes are there" : "a route of it is missing";
    await options.writes.patch(node, nodeConditionsPatch(node, [condition]), why, signal);
    return settled;
  };

  const searchMachine = async (name: string): Promise<Outcome> => {
    const node = nodes.get(name);
    if (node !== undefined && !isPaused(node) && options.isSelected(node)) return machines.look(node);
    machines.end(name);
    return settled;
  };

  const onError = (key: string, error: unknown, failures: number): Outcome => {
    if (key.startsWith("condition/")) {
      // Another Node has the name now, or none: then a change of the Node brings the next look.
      if (isKubeError(error, "precondition", "not-found")) return settled;
      if (isKubeError(error, "conflict")) return again(backoff(failures, lostRace, random), "a lost race");
    }
    if (key === allRoutes) {
      teller.failedListing(error);
      const nothing = { wanted: 0, observed: 0, created: 0, removed: 0, failed: 0 };
      const duration = milliseconds(clock.monotonic() - lastPass);
      options.onSync({ isComplete: false, duration, ...nothing });
    }
    return again(together(clock.monotonic(), restAfter(error, failures, clock, random)), "an error");
  };

  const run = async (signal: AbortSignal): Promise<void> => {
    table = new RouteTable(routes, clock, signal);
    fullCheckAt = clock.monotonic();
    hasStarted = false;
    // Conditions of the last term may still wait to be written, and another replica has led since.
    verdicts = new Map();
    const stopNodes = nodes.subscribe(({ before, after }) => {
      if (isRelevantForRoutes(before, after, options.isSelected)) lookSoon();
    });
    const stopNews = inventory.subscribe(() => {
      for (const name of machines.waiting) queue.add(machineOf(name));
    });
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
};
