// Deletions that are complete when the object is gone.

import type { Done, StepOutcome } from "../provider/plan.ts";
import { ifFound, isGone } from "./lookups.ts";

/**
 * The outcome of a deletion: done, even if the object does not exist. Other errors are thrown. If a deletion starts a job,
 * `started` creates the outcome from the response.
 *
 * @example
 * return deleted(api.call<Started>(request, call), ({ job }) => jobStarted({ job, waitingFor }));
 */
export async function deleted<T, O extends StepOutcome = Done>(
  request: Promise<T>,
  started?: (response: T) => O | Promise<O>,
): Promise<Done | O> {
  const accepted = await ifFound(request.then((response) => ({ response })));
  return accepted === undefined || started === undefined ? { done: true } : started(accepted.response);
}

/**
 * The outcome of a deletion with proof: `lookup` reads the object by its id after the cloud has accepted the deletion. A 404
 * response to the deletion itself may be incorrect, so listings decide in that case. If a deletion starts a job, `started`
 * creates the outcome from the response, and `isGone` may look up the object when the job is done.
 *
 * @example
 * return deletedWithProof(api.call(request, call), () => api.balancer(id, call));
 */
export function deletedWithProof<T>(
  request: Promise<T>,
  lookup: () => Promise<unknown>,
  started: (response: T) => StepOutcome = () => ({ done: true }),
): Promise<StepOutcome> {
  return deleted(request, async (response): Promise<StepOutcome> => {
    const outcome = started(response);
    return outcome.done && (await isGone(lookup)) ? { ...outcome, isGone: true } : outcome;
  });
}
