// One pass over all routes, from top to bottom: what has come of the last one, a survey, its changes, and what follows from
// them for each Node.

import { milliseconds } from "../../../core/brand.ts";
import { type Outcome, requeue } from "../../../runtime/workers.ts";
import type { RouteControllerOptions } from "../deps.ts";
import { createKnownMachines } from "../desired/known-machines.ts";
import type { MachineSearch } from "../desired/machine-search.ts";
import type { RouteTable } from "../observed/route-table.ts";
import { type Survey, takeSurvey } from "../observed/survey.ts";
import type { CheckSchedule } from "../queue/schedule.ts";
import type { Conditions } from "../status/conditions.ts";
import { planNodeConditions } from "../status/plan-node-conditions.ts";
import { apply } from "./apply.ts";
import { createOutcomes, type OutcomeParts } from "./outcomes.ts";
import type { ChangeResult } from "./route-change.ts";

export interface PassParts extends OutcomeParts {
  readonly times: CheckSchedule;
  readonly machines: MachineSearch;
  readonly conditions: Conditions;
}

export function createPasses(options: RouteControllerOptions, parts: PassParts) {
  const { clock, routes } = options;
  const { times, backoffs, underWay, reporter, machines, conditions } = parts;
  const outcomes = createOutcomes(options, parts);
  const known = createKnownMachines(options.inventory);
  let began = 0;

  const run = async (table: RouteTable, signal: AbortSignal): Promise<Outcome> => {
    began = clock.monotonic();
    const isFullCheck = times.isFullCheckDue;
    if (outcomes.noteNews()) table.outdate();
    const survey = await takeSurvey(options, table, known, { began, isFullCheck });
    const { wanted, listing, plan } = survey;
    times.checked(began, wanted.waiting.length === 0);
    reporter.problems(wanted, listing, plan, underWay.unknown());
    const results = await apply(survey, table, backoffs, options, { signal, urgency: "new-node" });
    outcomes.note(results);
    const isIncomplete = (node: string) => wanted.nodeProblems.has(node);
    conditions.judge(planNodeConditions(plan, results, outcomes.failuresOf, isIncomplete));
    machines.follow(wanted);
    count(survey, results);
    return requeue(times.next(backoffs.next), "the next look");
  };

  const count = ({ wanted, listing }: Survey, results: readonly ChangeResult[]): void => {
    const done = results.filter(({ outcome }) => outcome.kind === "done");
    const created = done.filter(({ change }) => change.do === "create").length;
    const removed = done.length - created;
    options.onSync({
      isComplete: true,
      duration: milliseconds(clock.monotonic() - began),
      wanted: wanted.routes.length,
      there: listing.routes.length + created - removed,
      ...(routes.limit !== undefined && { limit: routes.limit }),
      created,
      removed,
      failed: results.filter(({ outcome }) => outcome.kind === "failed").length,
    });
  };

  /** It broke off: without a listing nothing was done, after anything else the next pass goes on. */
  const failed = (table: RouteTable | undefined, error: unknown): void => {
    if (table?.hasFailedWith(error) === true) reporter.failedListing(error);
    else reporter.failedPass(error);
    const nothing = { wanted: 0, there: 0, created: 0, removed: 0, failed: 0 };
    const duration = milliseconds(clock.monotonic() - began);
    options.onSync({ isComplete: false, duration, ...nothing });
  };

  return { run, failed };
}
