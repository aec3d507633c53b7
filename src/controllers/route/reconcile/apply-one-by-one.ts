// Carries out a plan with one call per route, several at a time: removals first, and a route only after everything in its
// way is gone. One that fails holds up nothing but what cannot be made without it.

import type { Cidr } from "../../../core/brand.ts";
import type { Call } from "../../../provider/call.ts";
import type { DesiredRoute, ObservedRoute, RoutesOneByOne } from "../../../provider/routes.ts";
import { overlaps } from "../desired/overlaps.ts";
import type { RoutePlan } from "./plan.ts";
import {
  type ApplyOptions,
  attempt,
  type ChangeOutcome,
  type ChangeResult,
  heldBack,
} from "./route-change.ts";

export interface OneByOneOptions extends ApplyOptions {
  readonly routes: RoutesOneByOne;
  /** There is no place for the new ones before the old ones are gone. */
  readonly isFull: boolean;
}

export async function applyOneByOne(
  plan: RoutePlan,
  options: OneByOneOptions,
  call: Call,
): Promise<readonly ChangeResult[]> {
  const { routes, backoffs } = options;
  const results: ChangeResult[] = [];
  const inTheWay = overlaps(
    plan.create.map(({ destination }) => destination),
    plan.remove.map(({ destination }) => destination),
  );
  /** Whether it is gone; never rejects. */
  const removals = plan.remove.map((route) => ({ route, gone: Promise.withResolvers<boolean>() }));
  const removalsOf = Map.groupBy(removals, ({ route }) => route.destination);

  const remove = async (route: ObservedRoute): Promise<ChangeOutcome> => {
    const change = { do: "remove", route } as const;
    const outcome =
      heldBack(backoffs, change) ??
      (await attempt([change], options, () => routes.remove(route, call), call));
    results.push({ change, outcome });
    return outcome;
  };
  const create = async (route: DesiredRoute): Promise<void> => {
    const change = { do: "create", route } as const;
    const before = [...(inTheWay.get(route.destination) ?? [])].flatMap((range: Cidr) =>
      (removalsOf.get(range) ?? []).map(({ gone }) => gone.promise),
    );
    const isFree = (await Promise.all(before)).every((isGone) => isGone);
    if (options.isFull) await Promise.all(removals.map(({ gone }) => gone.promise));
    call.signal.throwIfAborted();
    const held: ChangeOutcome | undefined = isFree ? heldBack(backoffs, change) : { kind: "held" };
    const outcome = held ?? (await attempt([change], options, () => routes.create(route, call), call));
    results.push({ change, outcome });
  };

  await atMost(options.changesAtOnce, [
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

/** Begun in their order, so many at a time; what one throws is thrown when all have come to rest. */
async function atMost(count: number, jobs: readonly (() => Promise<void>)[]): Promise<void> {
  const waiting = jobs.values();
  const work = async (): Promise<void> => {
    for (const job of waiting) await job();
  };
  const ends = await Promise.allSettled(Array.from({ length: Math.min(count, jobs.length) }, work));
  const failed = ends.find((end) => end.status === "rejected");
  if (failed !== undefined) throw failed.reason;
}
