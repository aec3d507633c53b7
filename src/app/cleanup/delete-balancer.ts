// Takes the next steps to delete one load balancer, with the provider's plan for one that no Service needs. Returns what to wait for.

import type { AnyBalancers } from "../../controllers/service/deps.ts";
import { needsLookup } from "../../controllers/service/reconcile/observe.ts";
import { type Milliseconds, milliseconds } from "../../core/brand.ts";
import { type Clock, sleep } from "../../platform/clock.ts";
import type { Call } from "../../provider/call.ts";
import { CloudError } from "../../provider/errors.ts";
import type { ObservedLoadBalancer } from "../../provider/load-balancers.ts";
import type { Pending, Step, StepOutcome } from "../../provider/plan.ts";

export interface DeletionDeps {
  readonly balancers: AnyBalancers;
  readonly pending: Pending | undefined;
  readonly clock: Clock;
  /** When to stop polling operations (monotonic). */
  readonly end: number;
  readonly progress: (text: string) => void;
  /** The result of `LoadBalancers.prefetch`, read once for all load balancers of a round. */
  readonly prefetched: () => Promise<unknown>;
}

/** When to check again; undefined when all steps are done. */
export type Deletion = { readonly checkAfter: Milliseconds } | undefined;

/** `mayDelete` is asked again with what a lookup returns. Throws what the cloud refuses, and the errors of the plan. */
export async function deleteBalancer(
  deps: DeletionDeps,
  listed: ObservedLoadBalancer,
  duplicates: readonly ObservedLoadBalancer[],
  mayDelete: (observed: ObservedLoadBalancer) => boolean,
  call: Call,
): Promise<Deletion> {
  const { balancers, progress } = deps;
  const observed = needsLookup(listed, 0) ? await balancers.observe?.([], listed, call) : listed;
  if (observed === undefined) return undefined;
  if ("isUnknown" in observed) return waitFor(deps, observed);
  if (!mayDelete(observed)) return undefined;
  const context = {
    prefetched: await deps.prefetched(),
    orphans: observed.owners,
    duplicates,
  };
  const { steps, wait, problems = [] } = balancers.plan([], observed, context);
  const error = problems.find(({ severity }) => severity === "error");
  if (error !== undefined) throw new Error(error.text);
  for (const { text } of problems) progress(text);
  if (steps.length === 0) {
    if (wait !== undefined) return waitFor(deps, wait);
    throw new Error("the provider plans no step to delete it. Delete it in the cloud, and file a bug");
  }
  return applySteps(deps, steps, call);
}

/** In order. Ends early if a step asks to check again. */
export async function applySteps(
  deps: Omit<DeletionDeps, "prefetched">,
  steps: readonly Step[],
  call: Call,
): Promise<Deletion> {
  for (const step of steps) {
    deps.progress(`${step.do}${step.on === undefined ? "" : ` ${step.on}`}`);
    const outcome = await deps.balancers.apply(step, call);
    if (outcome.done) continue;
    if (outcome.operation === undefined) return waitFor(deps, outcome);
    await untilEnded(deps, outcome.operation, outcome, call);
  }
  return undefined;
}

function waitFor(
  { progress }: Pick<DeletionDeps, "progress">,
  { checkAfter, waitingFor }: { readonly checkAfter: Milliseconds; readonly waitingFor: string },
): Deletion {
  progress(`waiting for ${waitingFor}`);
  return { checkAfter };
}

/** Polls one operation. One that is lost counts as ended: the next listing shows what it has done. */
async function untilEnded(
  { pending, clock, end, progress }: Omit<DeletionDeps, "prefetched">,
  operation: string,
  first: Extract<StepOutcome, { readonly done: false }>,
  call: Call,
): Promise<void> {
  progress(`waiting for ${first.waitingFor}`);
  let delay = first.checkAfter;
  while (pending !== undefined && clock.monotonic() < end) {
    await sleep(clock, milliseconds(Math.max(100, delay)), call.signal);
    const state = (await pending.check([operation], call)).get(operation);
    if (CloudError.is(state)) throw state;
    if (state === undefined || state.done) return;
    delay = state.checkAfter;
  }
}
