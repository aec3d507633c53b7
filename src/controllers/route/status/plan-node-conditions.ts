// Whether every Node has the routes it asks for, after a pass: what its condition will say. Pure; of whom nothing can be
// said, or not yet, the condition stays as it is.

import { errorPolicies } from "../../../cloud/error-policies.ts";
import { CloudError } from "../../../provider/errors.ts";
import type { DesiredRoute } from "../../../provider/routes.ts";
import type { RoutePlan } from "../reconcile/plan.ts";
import type { ChangeOutcome, ChangeResult } from "../reconcile/route-change.ts";

/** Passes by itself in a moment, and is worth no word before it does not. */
export function isPassing(error: unknown, failures: number): boolean {
  return CloudError.is(error) && errorPolicies[error.kind].audience === "none" && failures < 3;
}

/** By the uid of the Node: another Node may take its name. */
export function planNodeConditions(
  plan: RoutePlan,
  results: readonly ChangeResult[],
  failuresOf: (route: DesiredRoute) => number,
  /** It has a range that no route is made for. */
  isIncomplete: (node: DesiredRoute["target"]["node"]) => boolean = () => false,
): ReadonlyMap<string, boolean> {
  const outcomes = new Map<DesiredRoute["destination"], ChangeOutcome>();
  for (const { change, outcome } of results) {
    if (change.do === "create") outcomes.set(change.route.destination, outcome);
  }
  const reported: readonly (readonly [DesiredRoute, boolean | undefined])[] = [
    ...plan.present.map((route) => [route, true] as const),
    ...plan.undecided.map((route) => [route, undefined] as const),
    ...plan.refused.map(({ route }) => [route, false] as const),
    ...plan.create.map(
      (route) => [route, isThere(outcomes.get(route.destination), failuresOf(route))] as const,
    ),
  ];
  const decisions = new Map<string, boolean>();
  for (const [uid, routes] of Map.groupBy(reported, ([{ target }]) => target.uid)) {
    const isWhole = routes.every(([{ target }, decision]) => decision === true && !isIncomplete(target.node));
    if (routes.some(([, decision]) => decision === false)) decisions.set(uid, false);
    else if (isWhole) decisions.set(uid, true);
  }
  return decisions;
}

function isThere(outcome: ChangeOutcome | undefined, failures: number): boolean | undefined {
  // A route that was planned, and needed no change any more when the document was read again.
  if (outcome === undefined) return true;
  switch (outcome.kind) {
    case "done":
    case "observed":
      return true;
    case "failed":
      return isPassing(outcome.error, failures) ? undefined : false;
    case "held":
      return false;
    case "pending":
    case "fenced":
    case "waiting":
      return undefined;
  }
}
