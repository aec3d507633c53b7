// Applies a plan with one call per route, several in parallel, and records each in the journal. A route is created only
// after all conflicting routes are removed; a failed removal does not delay other routes.

import { isFenced } from "../../../cloud/error-policies.ts";
import { type Cidr, milliseconds } from "../../../core/brand.ts";
import { overlaps } from "../../../core/cidr-overlaps.ts";
import { defined } from "../../../core/defined.ts";
import type { Call } from "../../../provider/call.ts";
import { CloudError } from "../../../provider/errors.ts";
import type { ObservedRoute } from "../../../provider/routes.ts";
import type { JournalledChange } from "../../kernel/journalled-send.ts";
import type { TableOptions } from "../deps.ts";
import type { RoutePlan } from "../plan/plan.ts";
import { inTable, type TableName } from "../tables.ts";
import {
  type ChangeOutcome,
  type ChangeResult,
  type HeldBack,
  isRefusedAsBusy,
  type OpenChanges,
  type RouteChange,
} from "./open-changes.ts";

export interface ApplyContext extends Pick<TableOptions, "routes" | "send" | "clock" | "settings"> {
  /**
   * The changes of earlier syncs that are still in progress. Changes that an earlier process started are detected when
   * the cloud rejects a change.
   */
  readonly open: Pick<OpenChanges, "of" | "isBusy">;
  /** The current number of routes in the table. */
  readonly listed: number;
}

/** Adds the outcome of each change to `results`, even when it throws, which happens only after the call was aborted. */
export async function applyPlan(
  plan: RoutePlan,
  context: ApplyContext,
  call: Call,
  results: ChangeResult[],
): Promise<void> {
  const { routes } = context;
  const removals = plan.remove.map((route) => ({ do: "remove", route }) as const);
  const creations = plan.create.map((route) => ({ do: "create", route }) as const);
  const heldBack = heldBackOf([...removals, ...creations], context);
  let { isBusy } = context.open;
  const apply = async (change: RouteChange, isBlocked = false): Promise<ChangeOutcome> => {
    const isNext = routes.oneAtATime && isBusy;
    const held = isBlocked ? "held" : (heldBack(change) ?? (isNext ? "waiting" : undefined));
    const outcome = held === undefined ? await send(change, context, call) : { kind: held };
    if (outcome.kind === "pending" || isRefusedAsBusy(outcome)) isBusy = true;
    results.push({ change, outcome });
    if (outcome.kind === "failed" || outcome.kind === "fenced") call.signal.throwIfAborted();
    return outcome;
  };
  /** For each removed route, whether its replacement may be created. */
  const cleared = new Map<ObservedRoute, Promise<boolean>>();
  const remove = async (change: (typeof removals)[number]): Promise<void> => {
    const removed = apply(change);
    // Where changes are sent together, the request includes the replacement.
    const isClear = routes.sendsTogether
      ? Promise.resolve(heldBack(change) === undefined)
      : removed.then(({ kind }) => kind === "done" || kind === "observed");
    cleared.set(change.route, isClear);
    await Promise.all([removed, isClear]);
  };
  const inTheWay = overlaps(
    plan.create.map(({ destination }) => destination),
    plan.remove.map(({ destination }) => destination),
  );
  const removalsOf = Map.groupBy(plan.remove, ({ destination }) => destination);
  // The table has no space for new routes until all removals are done.
  const isFull =
    !routes.sendsTogether && routes.limit !== undefined && context.listed + plan.create.length > routes.limit;
  const create = async (change: (typeof creations)[number]): Promise<void> => {
    const ranges = [...(inTheWay.get(change.route.destination) ?? [])];
    // All removals have begun, because they are the first jobs.
    const before = ranges.flatMap((range) => removalsOf.get(range) ?? []).map((route) => cleared.get(route));
    const isUnobstructed = (await Promise.all(before)).every((isClear) => isClear);
    if (isFull) await Promise.allSettled(cleared.values());
    call.signal.throwIfAborted();
    await apply(change, !isUnobstructed);
  };
  await runConcurrently(concurrencyOf(context), [
    ...removals.map((change) => () => remove(change)),
    ...creations.map((change) => () => create(change)),
  ]);
}

function concurrencyOf({ routes, settings }: ApplyContext): number {
  if (routes.sendsTogether) return Number.POSITIVE_INFINITY;
  return routes.oneAtATime ? 1 : settings.concurrentChanges;
}

/** Where changes are sent together, a removal and its replacement wait for each other, because a Node must not lose its route. */
function heldBackOf(
  changes: readonly RouteChange[],
  { routes, open }: ApplyContext,
): (change: RouteChange) => HeldBack | undefined {
  if (!routes.sendsTogether) return (change) => open.of(change);
  const held = new Map<Cidr, HeldBack>();
  for (const change of changes) {
    const why = open.of(change);
    if (why !== undefined) held.set(change.route.destination, why);
  }
  return ({ route }) => held.get(route.destination);
}

async function send(
  change: RouteChange,
  { routes, send: journalled, clock }: ApplyContext,
  call: Call,
): Promise<ChangeOutcome> {
  const started = clock.monotonic();
  try {
    const outcome = await journalled([describeChange(change, routes.name)], () =>
      change.do === "create" ? routes.create(change.route, call) : routes.remove(change.route, call),
    );
    if (outcome === "observed") return { kind: "observed" };
    if (outcome.done) return { kind: "done" };
    const { checkAfter, operation } = outcome;
    return { kind: "pending", checkAfter, ...defined({ operation }) };
  } catch (error) {
    if (isFenced(error)) return { kind: "fenced" };
    const isGone = CloudError.is(error) && error.kind === "not-found";
    if (isGone && change.do === "remove") return { kind: "done" };
    return { kind: "failed", error, took: milliseconds(clock.monotonic() - started) };
  }
}

function describeChange(change: RouteChange, table: TableName): JournalledChange {
  const { destination } = change.route;
  if (change.do === "remove") {
    const { handle, leadsNowhere, targetKey, targetAddress } = change.route;
    const target = leadsNowhere === true ? "nowhere" : (targetKey ?? targetAddress ?? "nowhere");
    const why = `no Node needs the route to ${target}`;
    return { action: `remove route ${destination}${inTable(table)}`, object: `route/${handle}`, why };
  }
  const { node } = change.route.target;
  return {
    action: `create route ${destination}${inTable(table)}`,
    object: `node/${node}`,
    why: "the Node's pod CIDR has no route",
  };
}

/** Starts the jobs in order, at most `count` in parallel. Throws the first error after all running jobs have ended. */
async function runConcurrently(count: number, jobs: readonly (() => Promise<void>)[]): Promise<void> {
  const remaining = jobs.values();
  const work = async (): Promise<void> => {
    for (const job of remaining) await job();
  };
  const ends = await Promise.allSettled(Array.from({ length: Math.min(count, jobs.length) }, work));
  const failed = ends.find((end) => end.status === "rejected");
  if (failed !== undefined) throw failed.reason;
}
