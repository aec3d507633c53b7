// Applies a plan with one call per route, several in parallel. A route is created only after all conflicting routes are removed;
// a failed removal does not delay other routes.

import type { Cidr } from "../../../core/brand.ts";
import type { Call } from "../../../provider/call.ts";
import { CloudError } from "../../../provider/errors.ts";
import type { DesiredRoute, ObservedRoute, RouteOutcome, RoutesOneByOne } from "../../../provider/routes.ts";
import type { ChangeOutcome, ChangeResult, RouteChange } from "../plan/changes.ts";
import { overlaps } from "../plan/overlaps.ts";
import type { RoutePlan } from "../plan/plan.ts";
import { type ApplyContext, heldBack, sendChanges } from "./send-changes.ts";

export interface OneByOneContext extends ApplyContext {
  readonly routes: RoutesOneByOne;
  /** The table has no space for new routes until all removals are done. */
  readonly isFull: boolean;
  readonly concurrentChanges: number;
  /** A change of an earlier sync is in progress. One that an earlier process started is noticed when the cloud refuses a change. */
  readonly isBusy: boolean;
}

export async function applyOneByOne(
  plan: RoutePlan,
  context: OneByOneContext,
  call: Call,
): Promise<readonly ChangeResult[]> {
  const { routes, backoffs } = context;
  const results: ChangeResult[] = [];
  let isBusy = context.isBusy;
  const send = async (change: RouteChange, request: () => Promise<RouteOutcome>): Promise<ChangeOutcome> => {
    if (routes.oneAtATime === true && isBusy) return { kind: "waiting" };
    const outcome = await sendChanges([change], context, request, call);
    if (outcome.kind === "pending" || isRefusedAsBusy(outcome)) isBusy = true;
    return outcome;
  };
  const inTheWay = overlaps(
    plan.create.map(({ destination }) => destination),
    plan.remove.map(({ destination }) => destination),
  );
  /** Each resolves to whether the route is gone, and never rejects. */
  const removals = plan.remove.map((route) => ({ route, gone: Promise.withResolvers<boolean>() }));
  const removalsOf = Map.groupBy(removals, ({ route }) => route.destination);

  const remove = async (route: ObservedRoute): Promise<ChangeOutcome> => {
    const change = { do: "remove", route } as const;
    const outcome = heldBack(backoffs, change) ?? (await send(change, () => routes.remove(route, call)));
    results.push({ change, outcome });
    return outcome;
  };
  const create = async (route: DesiredRoute): Promise<void> => {
    const change = { do: "create", route } as const;
    const before = [...(inTheWay.get(route.destination) ?? [])].flatMap((range: Cidr) =>
      (removalsOf.get(range) ?? []).map(({ gone }) => gone.promise),
    );
    const isUnobstructed = (await Promise.all(before)).every((isGone) => isGone);
    if (context.isFull) await Promise.all(removals.map(({ gone }) => gone.promise));
    call.signal.throwIfAborted();
    const held: ChangeOutcome | undefined = isUnobstructed ? heldBack(backoffs, change) : { kind: "held" };
    const outcome = held ?? (await send(change, () => routes.create(route, call)));
    results.push({ change, outcome });
  };

  await runConcurrently(routes.oneAtATime === true ? 1 : context.concurrentChanges, [
    ...removals.map(({ route, gone }) => async () => {
      let isGone = false;
      try {
        const { kind } = await remove(route);
        isGone = kind === "done" || kind === "observed";
      } finally {
        gone.resolve(isGone);
      }
    }),
    ...plan.create.map((route) => () => create(route)),
  ]);
  return results;
}

const isRefusedAsBusy = (outcome: ChangeOutcome): boolean =>
  outcome.kind === "failed" && CloudError.is(outcome.error) && outcome.error.kind === "busy";

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
