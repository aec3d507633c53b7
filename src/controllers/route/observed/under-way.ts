// Changes of routes that the cloud is still at: each rests until the cloud says what has become of it, by the ticket it gave,
// or until the time after which it wants to be looked at. Nothing of it outlives a term; what is lost is observed.

import { type Milliseconds, milliseconds } from "../../../core/brand.ts";
import { CloudError } from "../../../provider/errors.ts";
import { type OperationDeps, Operations } from "../../operations.ts";
import type { RouteBackoffs } from "../reconcile/backoffs.ts";
import {
  aboutOf,
  type ChangeOutcome,
  type ChangeResult,
  keyOf,
  type RouteChange,
} from "../reconcile/route-change.ts";

type PendingOutcome = Extract<ChangeOutcome, { readonly kind: "pending" }>;

export type UnderWay = ReturnType<typeof createUnderWay>;

/** While a ticket is held its news ends the rest. */
const untilReported: Milliseconds = milliseconds(Number.POSITIVE_INFINITY);

export function createUnderWay(ports: OperationDeps, backoffs: RouteBackoffs, onNews: () => void) {
  const { clock } = ports;
  const operations = new Operations(ports, onNews);
  const begun = new Map<string, { readonly change: RouteChange; readonly at: number }>();

  const wait = (change: RouteChange, { operation, checkAfter }: PendingOutcome): void => {
    const key = keyOf(change);
    const isHeld = operation !== undefined && operations.track(key, operation, checkAfter);
    backoffs.wait(key, aboutOf(change), isHeld ? untilReported : checkAfter);
    if (isHeld) begun.set(key, { change, at: clock.monotonic() });
  };

  /** What has become of some since the last look: those that failed, and whether there is anything to be seen. */
  const news = (): { readonly failed: readonly ChangeResult[]; readonly isAny: boolean } => {
    const failed: ChangeResult[] = [];
    let isAny = false;
    for (const [key, { change, at }] of begun) {
      const reported = operations.take(key);
      if (reported === undefined || reported === "pending") continue;
      isAny = true;
      begun.delete(key);
      if (CloudError.is(reported)) {
        const took = milliseconds(clock.monotonic() - at);
        failed.push({ change, outcome: { kind: "failed", error: reported, took } });
      } else backoffs.clear(key);
    }
    return { failed, isAny };
  };

  /** Changes of which nothing can be learnt, and why. */
  const unknown = (): { readonly changes: readonly RouteChange[]; readonly error: unknown } => ({
    changes: operations.problem === undefined ? [] : [...begun.values()].map(({ change }) => change),
    error: operations.problem,
  });

  const end = (): void => {
    for (const key of begun.keys()) backoffs.clear(key);
    begun.clear();
    operations.end();
  };

  return { wait, news, unknown, begin: (until: AbortSignal) => operations.begin(until), end };
}
