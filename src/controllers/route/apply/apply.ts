// Applies a plan with one call per route, several in parallel, journalled. A route is created only after all conflicting routes are
// removed; a failed removal does not delay other routes.

import { isFenced } from "../../../cloud/error-policies.ts";
import type { RouteTable } from "../../../cloud/ideal-route-tables.ts";
import { type Cidr, type Milliseconds, milliseconds } from "../../../core/brand.ts";
import { defined } from "../../../core/defined.ts";
import type { Clock } from "../../../platform/clock.ts";
import type { Call } from "../../../provider/call.ts";
import { CloudError } from "../../../provider/errors.ts";
import type { DesiredRoute, ObservedRoute } from "../../../provider/routes.ts";
import type { JournalledChange, JournalledSend } from "../../writes/journalled-send.ts";
import { overlaps, type RoutePlan } from "../plan/plan.ts";
import type { ChangeOutcome, ChangeResult, RouteChange } from "../plan/route-change.ts";
import { inTable, type TableName } from "../tables.ts";
import type { OpenChanges } from "./open-changes.ts";

export interface ApplyContext {
  readonly routes: RouteTable;
  readonly send: JournalledSend;
  readonly clock: Clock;
  readonly open: Pick<OpenChanges, "of">;
  readonly concurrentChanges: number;
  /** How many routes the table has now. */
  readonly listed: number;
  /** A change of an earlier sync is in progress. One that an earlier process started is noticed when the cloud refuses a change. */
  readonly isBusy: boolean;
}

/** Adds the outcome of each change to `results`, also when it throws, which it does only after the call was aborted. */
export async function applyPlan(
  plan: RoutePlan,
  context: ApplyContext,
  call: Call,
  results: ChangeResult[],
): Promise<void> {
  const { routes } = context;
  let isBusy = context.isBusy;
  const heldOf = heldTogether(plan, context);
  const apply = async (change: RouteChange, isBlocked = false): Promise<ChangeOutcome> => {
    const held = isBlocked ? ({ kind: "held" } as const) : heldOf(change);
    const isWaiting = held === undefined && routes.oneAtATime && isBusy;
    const outcome = isWaiting
      ? ({ kind: "waiting" } as const)
      : (held ?? (await send(change, context, call)));
    if (outcome.kind === "pending" || isRefusedAsBusy(outcome)) isBusy = true;
    results.push({ change, outcome });
    if (outcome.kind === "failed" || outcome.kind === "fenced") call.signal.throwIfAborted();
    return outcome;
  };
  const inTheWay = overlaps(
    plan.create.map(({ destination }) => destination),
    plan.remove.map(({ destination }) => destination),
  );
  /** Each resolves to whether the way is clear, and never rejects. */
  const removals = plan.remove.map((route) => ({ route, cleared: Promise.withResolvers<boolean>() }));
  const removalsOf = Map.groupBy(removals, ({ route }) => route.destination);
  // The table has no space for new routes until all removals are done.
  const isFull =
    !routes.sendsTogether && routes.limit !== undefined && context.listed + plan.create.length > routes.limit;

  const remove = async (route: ObservedRoute, cleared: PromiseWithResolvers<boolean>): Promise<void> => {
    let isGone = false;
    try {
      const change = { do: "remove", route } as const;
      // The creation in its place is part of the same request.
      if (routes.sendsTogether && heldOf(change) === undefined) cleared.resolve(true);
      const { kind } = await apply(change);
      isGone = kind === "done" || kind === "observed";
    } finally {
      cleared.resolve(isGone);
    }
  };
  const create = async (route: DesiredRoute): Promise<void> => {
    const before = [...(inTheWay.get(route.destination) ?? [])].flatMap((range) =>
      (removalsOf.get(range) ?? []).map(({ cleared }) => cleared.promise),
    );
    const isUnobstructed = (await Promise.all(before)).every((isCleared) => isCleared);
    if (isFull) await Promise.all(removals.map(({ cleared }) => cleared.promise));
    call.signal.throwIfAborted();
    await apply({ do: "create", route }, !isUnobstructed);
  };

  await runConcurrently(concurrencyOf(context), [
    ...removals.map(
      ({ route, cleared }) =>
        () =>
          remove(route, cleared),
    ),
    ...plan.create.map((route) => () => create(route)),
  ]);
}

function concurrencyOf({ routes, concurrentChanges }: ApplyContext): number {
  if (routes.sendsTogether) return Number.POSITIVE_INFINITY;
  return routes.oneAtATime ? 1 : concurrentChanges;
}

/** Where changes are sent together, a removal and the creation in its place wait for each other: a Node must not lose its route. */
function heldTogether(
  plan: RoutePlan,
  { routes, open }: ApplyContext,
): (change: RouteChange) => ChangeOutcome | undefined {
  if (!routes.sendsTogether) return (change) => heldBack(open, change);
  const held = new Map<Cidr, ChangeOutcome>();
  const changes: readonly RouteChange[] = [
    ...plan.remove.map((route) => ({ do: "remove", route }) as const),
    ...plan.create.map((route) => ({ do: "create", route }) as const),
  ];
  for (const change of changes) {
    const outcome = heldBack(open, change);
    if (outcome !== undefined) held.set(change.route.destination, outcome);
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
    return outcomeOf(error, change, milliseconds(clock.monotonic() - started));
  }
}

function outcomeOf(error: unknown, change: RouteChange, took: Milliseconds): ChangeOutcome {
  if (isFenced(error)) return { kind: "fenced" };
  const isGone = CloudError.is(error) && error.kind === "not-found";
  return isGone && change.do === "remove" ? { kind: "done" } : { kind: "failed", error, took };
}

/** The outcome of a change that must not be sent now; undefined when it may be sent. */
function heldBack(open: ApplyContext["open"], change: RouteChange): ChangeOutcome | undefined {
  const backoff = open.of(change);
  if (backoff === undefined) return undefined;
  return backoff === "failed" ? { kind: "held" } : { kind: "waiting" };
}

const isRefusedAsBusy = (outcome: ChangeOutcome): boolean =>
  outcome.kind === "failed" && CloudError.is(outcome.error) && outcome.error.kind === "busy";

function describeChange(change: RouteChange, table: TableName): JournalledChange {
  const { destination } = change.route;
  if (change.do === "remove") {
    const { handle, leadsNowhere, targetName, targetKey, targetAddress } = change.route;
    const target =
      leadsNowhere === true ? "nowhere" : (targetName ?? targetKey ?? targetAddress ?? "nowhere");
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
