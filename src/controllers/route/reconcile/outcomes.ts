// What has come of changes of routes, at once or by their tickets later: who rests how long, and what is said of failures.

import { backoffAfter } from "../../../cloud/error-policies.ts";
import { type Milliseconds, minutes, seconds } from "../../../core/brand.ts";
import type { Clock } from "../../../platform/clock.ts";
import type { Random } from "../../../platform/random.ts";
import type { DesiredRoute } from "../../../provider/routes.ts";
import { alignToGrid } from "../../../runtime/backoff.ts";
import type { UnderWay } from "../observed/under-way.ts";
import { isPassing } from "../status/plan-node-conditions.ts";
import type { RouteReporter } from "../status/route-reporter.ts";
import type { RouteBackoffs } from "./backoffs.ts";
import { aboutOf, type ChangeResult, keyOf } from "./route-change.ts";

const fencedBackoff: Milliseconds = seconds(10);
/** What was only written down is still to be done at the next look; once is enough. */
const observedBackoff: Milliseconds = minutes(24 * 60);

export interface OutcomeParts {
  readonly backoffs: RouteBackoffs;
  readonly underWay: UnderWay;
  readonly reporter: RouteReporter;
}

export function createOutcomes(
  { clock, random }: { readonly clock: Clock; readonly random: Random },
  { backoffs, underWay, reporter }: OutcomeParts,
) {
  const noteFailure = (result: ChangeResult): void => {
    const { change, outcome } = result;
    if (outcome.kind !== "failed") return;
    const key = keyOf(change);
    const about = aboutOf(change);
    const failures = backoffs.failuresOf(key, about) + 1;
    const rest = backoffAfter(outcome.error, failures, clock, random);
    backoffs.failed(key, about, alignToGrid(clock.monotonic(), rest));
    if (!isPassing(outcome.error, failures)) reporter.failure(result);
  };

  const note = (results: readonly ChangeResult[]): void => {
    for (const result of results) {
      const { change, outcome } = result;
      const key = keyOf(change);
      if (outcome.kind === "done") backoffs.clear(key);
      if (outcome.kind === "pending") underWay.wait(change, outcome);
      if (outcome.kind === "fenced") backoffs.wait(key, aboutOf(change), fencedBackoff);
      if (outcome.kind === "observed") backoffs.wait(key, aboutOf(change), observedBackoff);
      noteFailure(result);
    }
    backoffs.keepOnly(new Set(results.map(({ change }) => keyOf(change))));
    reporter.changed(results);
  };

  /** By tickets, since the last look: whether there is anything to be seen in the table. */
  const noteNews = (): boolean => {
    const { failed, isAny } = underWay.news();
    for (const result of failed) noteFailure(result);
    return isAny;
  };

  const failuresOf = (route: DesiredRoute): number => {
    const change = { do: "create", route } as const;
    return backoffs.failuresOf(keyOf(change), aboutOf(change));
  };

  return { note, noteNews, failuresOf };
}
