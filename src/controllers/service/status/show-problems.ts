// Shows on a Service what a stage found wrong with it: an event for what is new, and a condition for what is an error.

import type { Problem } from "../../../core/problem.ts";
import type { Service } from "../../../kube/objects.ts";
import type { RoundParts } from "../reconcile/reconcile-deps.ts";
import type { ProblemTopic } from "./service-reporter.ts";

export function createShowProblems({ reporter, conditions }: Pick<RoundParts, "reporter" | "conditions">) {
  return async (
    topic: ProblemTopic,
    service: Service,
    problems: readonly Problem[],
    signal: AbortSignal,
    /** Of earlier stages: a condition tells all that is wrong. */
    earlier: readonly Problem[] = [],
  ): Promise<void> => {
    reporter.problems(service, problems, topic);
    await conditions.show(service, [...earlier, ...problems], signal);
  };
}
