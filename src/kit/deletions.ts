// Deletes objects that depend on each other: the steps of a plan in order, and a deletion that is done when the object is gone.

import type { Done, StepOutcome } from "../provider/plan.ts";
import { ifFound, isGone } from "./lookups.ts";

/** One deletion of a plan. */
export interface Deletion<K extends string> {
  readonly do: `delete ${K}`;
  readonly on: string;
  readonly kind: K;
  readonly id: string;
}

/**
 * The steps that delete a group of objects: all of the first kind, then all of the second, and so on. Kinds without objects are
 * left out, so the same list serves a plan for what a failed creation has left behind. If a deletion starts a job, its step ends the
 * plan, and the next plan has the rest. `common` is added to each step, such as the region.
 *
 * @example
 * deletionsInOrder([["rule", rules], ["pool", pools], ["balancer", [id]], ["address", addresses]], { region })
 */
export function deletionsInOrder<const K extends string, C extends object = object>(
  order: readonly (readonly [kind: K, ids: readonly string[]])[],
  common?: C,
): readonly (Deletion<K> & C)[] {
  return order.flatMap(([kind, ids]) =>
    ids.map((id) => ({ ...(common as C), do: `delete ${kind}` as const, on: id, kind, id })),
  );
}

/**
 * The outcome of a deletion: done, also when the object does not exist any more. Other errors are thrown. Where a deletion starts a
 * job, `started` makes the outcome from the response.
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
 * The outcome of a deletion with proof: `lookup` reads the object by its id after the cloud has accepted the deletion. A cloud that answers
 * 404 to the deletion itself may be wrong: then listings decide. Where a deletion starts a job, `started` makes the outcome from the
 * response, and `isGone` may look it up when the job is done.
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
