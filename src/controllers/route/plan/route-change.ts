// One change of a route, and its outcome. Pure.

import type { RouteChange } from "../../../cloud/own-route-changes.ts";
import type { Milliseconds } from "../../../core/brand.ts";
import type { DesiredRoute } from "../../../provider/routes.ts";

export type { RouteChange } from "../../../cloud/own-route-changes.ts";

export type ChangeOutcome =
  | { readonly kind: "done" }
  /** Observe mode: journalled, and treated as done. */
  | { readonly kind: "observed" }
  /** The cloud has accepted the change but not completed it. If there is an operation id, it is polled. */
  | { readonly kind: "pending"; readonly checkAfter: Milliseconds; readonly operation?: string }
  | { readonly kind: "failed"; readonly error: unknown; readonly took: Milliseconds }
  /** Its operation has ended, and the cloud does not say how. */
  | { readonly kind: "lost" }
  /** Stopped by the leadership fence; not a failure. */
  | { readonly kind: "fenced" }
  /** Not sent: it is backing off after a failure, or blocked by another route. */
  | { readonly kind: "held" }
  /** Not sent: the cloud is still working on it. */
  | { readonly kind: "waiting" };

export interface ChangeResult {
  readonly change: RouteChange;
  readonly outcome: ChangeOutcome;
}

/** Identifies a change from one sync to the next. */
export function keyOf(change: RouteChange): string {
  return change.do === "create"
    ? `create ${change.route.destination} for ${change.route.target.node}`
    : `remove ${change.route.handle}`;
}

/** Where a route leads, as text. A route to a new target is another one. */
export function leadsTo({ target: { machine, addresses } }: DesiredRoute): string {
  return JSON.stringify([machine?.source, machine?.key, addresses]);
}
