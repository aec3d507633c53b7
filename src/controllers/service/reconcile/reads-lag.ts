// What a plan may do while the cloud may still show a state from before the last steps: a step that was just accepted is not sent
// again, and an error of the plan may only be a consequence of the old state.

import { proofsApart } from "../../../cloud/reads-lag.ts";
import { type Milliseconds, seconds } from "../../../core/brand.ts";
import type { Plan, Step } from "../../../provider/plan.ts";
import type { ServiceControllerDeps } from "../deps.ts";
import { hashStep } from "../desired/difference.ts";
import type { RecentSteps } from "../state/recent-steps.ts";

const checkAfter: Milliseconds = seconds(2);

/** The time between two proofs that a load balancer is absent. */
export function confirmAfterOf({
  balancers,
  settings: { confirmAfter },
}: Pick<ServiceControllerDeps, "balancers" | "settings">): Milliseconds {
  return proofsApart(confirmAfter, balancers);
}

/** The plan without what the observation may be too old to show. */
export function withoutRecent(
  plan: Plan<Step>,
  recentSteps: RecentSteps,
  { readsLag, desired }: { readonly readsLag: Milliseconds | undefined; readonly desired: () => string },
): Plan<Step> {
  const since = recentSteps.observedAt - (readsLag ?? 0);
  // Also without a lag: otherwise the steps would be kept for ever.
  const hasRecent = recentSteps.keepAfter(since);
  if (readsLag === undefined || !hasRecent) return plan;
  const text = desired();
  const steps = plan.steps.filter((step) => !recentSteps.has(hashStep(step), step, text));
  const problems = plan.problems?.filter(({ severity }) => severity !== "error");
  const hasErrors = problems?.length !== plan.problems?.length;
  if (!hasErrors && steps.length === plan.steps.length) return plan;
  if (!hasErrors && steps.length > 0) return { ...plan, steps };
  return {
    steps: [],
    wait: plan.wait ?? { checkAfter, waitingFor: "the cloud to show the changes" },
    problems,
  };
}
