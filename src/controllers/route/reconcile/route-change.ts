// What carrying out a plan of routes has in common in both styles of the contract: one change with its words for the
// journal, what came of it, and how an attempt is told apart from what only looks like a failure.

import { isFenced } from "../../../cloud/error-policies.ts";
import type { Milliseconds } from "../../../core/brand.ts";
import type { Clock } from "../../../platform/clock.ts";
import type { Call } from "../../../provider/call.ts";
import { CloudError } from "../../../provider/errors.ts";
import type { StepOutcome } from "../../../provider/plan.ts";
import type { DesiredRoute, ObservedRoute } from "../../../provider/routes.ts";
import type { JournalledChange, JournalledSend } from "../../writes/journalled-send.ts";
import type { RouteBackoffs } from "./backoffs.ts";

export type RouteChange =
  | { readonly do: "create"; readonly route: DesiredRoute }
  | { readonly do: "remove"; readonly route: ObservedRoute };

export type ChangeOutcome =
  | { readonly kind: "done" }
  /** Observe mode: written down, and taken for done. */
  | { readonly kind: "observed" }
  /** The cloud is still at it; with a ticket it is asked about by that. */
  | { readonly kind: "pending"; readonly checkAfter: Milliseconds; readonly operation?: string }
  | { readonly kind: "failed"; readonly error: unknown; readonly took: Milliseconds }
  /** We may not write now: nobody's failure. */
  | { readonly kind: "fenced" }
  /** Not tried: it rests after a failure, or what stands in its way is still there. */
  | { readonly kind: "held" }
  /** Not tried: the cloud is still at it. */
  | { readonly kind: "waiting" };

export interface ChangeResult {
  readonly change: RouteChange;
  readonly outcome: ChangeOutcome;
}

export interface ApplyOptions {
  readonly send: JournalledSend;
  readonly clock: Clock;
  readonly backoffs: RouteBackoffs;
  readonly changesAtOnce: number;
}

export function keyOf(change: RouteChange): string {
  return change.do === "create"
    ? `create ${change.route.destination} for ${change.route.target.node}`
    : `remove ${change.route.handle}`;
}

/** What a rest is about: when this changes, the next attempt is another question. */
export function aboutOf(change: RouteChange): string {
  if (change.do === "remove") return change.route.destination;
  const { uid, machine, addresses } = change.route.target;
  return JSON.stringify([uid, machine?.source, machine?.key, addresses]);
}

/** Why it is not tried now; undefined when it may be. */
export function heldBack(
  backoffs: Pick<RouteBackoffs, "of">,
  change: RouteChange,
): ChangeOutcome | undefined {
  const rest = backoffs.of(keyOf(change), aboutOf(change));
  if (rest === undefined) return undefined;
  return rest === "failed" ? { kind: "held" } : { kind: "waiting" };
}

export function describeChange(change: RouteChange): JournalledChange {
  const { destination } = change.route;
  if (change.do === "remove") {
    const { handle, leadsNowhere, targetName, targetKey, targetAddress } = change.route;
    const target =
      leadsNowhere === true ? "nowhere" : (targetName ?? targetKey ?? targetAddress ?? "nowhere");
    const why = `it leads to ${target}, which no node asks for`;
    return { action: `remove route ${destination}`, object: `route/${handle}`, why };
  }
  const { node } = change.route.target;
  return { action: `create route ${destination}`, object: `node/${node}`, why: "it is the node's pod range" };
}

/** Sends changes that are made together. Throws only when the call was given up. */
export async function attempt(
  changes: readonly RouteChange[],
  { send, clock }: Pick<ApplyOptions, "send" | "clock">,
  request: () => Promise<StepOutcome>,
  call: Call,
): Promise<ChangeOutcome> {
  const started = clock.monotonic();
  try {
    const outcome = await send(changes.map(describeChange), request);
    if (outcome === "observed") return { kind: "observed" };
    if (outcome.done) return { kind: "done" };
    const { checkAfter, operation } = outcome;
    return { kind: "pending", checkAfter, ...(operation !== undefined && { operation }) };
  } catch (error) {
    if (call.signal.aborted) throw error;
    if (isFenced(error)) return { kind: "fenced" };
    const isGone = CloudError.is(error) && error.kind === "not-found";
    if (isGone && changes.every((change) => change.do === "remove")) return { kind: "done" };
    return { kind: "failed", error, took: (clock.monotonic() - started) as Milliseconds };
  }
}
