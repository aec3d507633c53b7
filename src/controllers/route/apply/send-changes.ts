// Sends route changes to the cloud in one call, journalled, and turns the result or the error into an outcome.

import { isFenced } from "../../../cloud/error-policies.ts";
import { type Milliseconds, milliseconds } from "../../../core/brand.ts";
import { defined } from "../../../core/defined.ts";
import type { Clock } from "../../../platform/clock.ts";
import type { Call } from "../../../provider/call.ts";
import { CloudError } from "../../../provider/errors.ts";
import type { RouteOutcome } from "../../../provider/routes.ts";
import type { JournalledChange, JournalledSend } from "../../writes/journalled-send.ts";
import type { ChangeOutcome, RouteChange } from "../plan/changes.ts";
import { inTable } from "../tables.ts";
import type { RouteBackoffs } from "./backoffs.ts";

export interface ApplyContext {
  readonly send: JournalledSend;
  readonly clock: Clock;
  readonly backoffs: RouteBackoffs;
  /** The name of the table, if there are several. */
  readonly name?: string | undefined;
}

/** Throws only when the call was aborted. */
export async function sendChanges(
  changes: readonly RouteChange[],
  { send, clock, name }: ApplyContext,
  request: () => Promise<RouteOutcome>,
  call: Call,
): Promise<ChangeOutcome> {
  const started = clock.monotonic();
  try {
    const outcome = await send(
      changes.map((change) => describeChange(change, name)),
      request,
    );
    if (outcome === "observed") return { kind: "observed" };
    if (outcome.done) return { kind: "done" };
    const { checkAfter, operation } = outcome;
    return { kind: "pending", checkAfter, ...defined({ operation }) };
  } catch (error) {
    if (call.signal.aborted) throw error;
    return outcomeOf(error, changes, milliseconds(clock.monotonic() - started));
  }
}

function outcomeOf(error: unknown, changes: readonly RouteChange[], took: Milliseconds): ChangeOutcome {
  if (isFenced(error)) return { kind: "fenced" };
  const isGone = CloudError.is(error) && error.kind === "not-found";
  if (isGone && changes.every((change) => change.do === "remove")) return { kind: "done" };
  return { kind: "failed", error, took };
}

/** The outcome of a change that must not be sent now; undefined when it may be sent. */
export function heldBack(
  backoffs: Pick<RouteBackoffs, "of">,
  change: RouteChange,
): ChangeOutcome | undefined {
  const backoff = backoffs.of(change);
  if (backoff === undefined) return undefined;
  return backoff === "failed" ? { kind: "held" } : { kind: "waiting" };
}

function describeChange(change: RouteChange, table: string | undefined): JournalledChange {
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
