// Applies the steps of a load balancer's plan for a command, and polls each operation until it ends.

import type { AnyBalancers } from "../../controllers/service/deps.ts";
import { type Milliseconds, milliseconds } from "../../core/brand.ts";
import { type Clock, sleep } from "../../platform/clock.ts";
import type { Call } from "../../provider/call.ts";
import { CloudError } from "../../provider/errors.ts";
import type { FactChanges, Pending, Step, Wait } from "../../provider/plan.ts";

export interface StepDeps {
  readonly balancers: AnyBalancers;
  readonly pending: Pending | undefined;
  readonly clock: Clock;
  /** When to stop polling operations (monotonic). */
  readonly end: number;
  readonly progress: (text: string) => void;
  /** Stores the facts that a step returns. If unset, no later step needs them. */
  readonly remember?: (changes: FactChanges) => Promise<void>;
}

/** Applies the steps in order. Returns when to check again if a step requests it; undefined once all steps are completed. */
export async function applyAndWait(
  deps: StepDeps,
  steps: readonly Step[],
  call: Call,
): Promise<Milliseconds | undefined> {
  const { balancers, progress } = deps;
  for (const step of steps) {
    progress(`${step.do}${step.on === undefined ? "" : ` ${step.on}`}`);
    const outcome = await balancers.apply(step, call);
    if (outcome.remember !== undefined) await deps.remember?.(outcome.remember);
    if (outcome.done) continue;
    progress(`waiting for ${outcome.waitingFor}`);
    if (outcome.operation === undefined) return outcome.checkAfter;
    const remember = await untilEnded(deps, outcome.operation, outcome, call);
    if (remember !== undefined) await deps.remember?.(remember);
  }
  return undefined;
}

/** Polls one operation. A lost operation counts as ended: the next listing shows its effect. */
export async function untilEnded(
  { pending, clock, end }: Pick<StepDeps, "pending" | "clock" | "end">,
  operation: string,
  first: Wait,
  call: Call,
): Promise<FactChanges | undefined> {
  let delay = first.checkAfter;
  while (pending !== undefined && clock.monotonic() < end) {
    await sleep(clock, milliseconds(Math.max(100, delay)), call.signal);
    const state = (await pending.check([operation], call)).get(operation);
    if (CloudError.is(state)) throw state;
    if (state === undefined) return;
    if (state.done) return state.remember;
    delay = state.checkAfter;
  }
  return undefined;
}
