// Shows on a Service what a stage found wrong with it: an event for what is new, and a condition for what is an error.

import type { Problem } from "../../../core/problem.ts";
import type { Service } from "../../../kube/objects.ts";
import type { Conditions } from "./conditions.ts";
import type { ProblemTopic, ServiceReporter } from "./service-reporter.ts";

export interface ShowProblemsDeps {
  readonly reporter: Pick<ServiceReporter, "problems">;
  readonly conditions: Pick<Conditions, "show">;
}

export function createShowProblems({ reporter, conditions }: ShowProblemsDeps) {
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
