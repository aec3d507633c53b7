// Deletes objects that depend on each other: the steps of a plan in order, and a deletion that is done when the object is gone.

import { CloudError } from "../provider/errors.ts";
import type { Done } from "../provider/plan.ts";

/** One deletion of a plan. */
export interface Deletion<K extends string> {
  readonly do: `delete ${K}`;
  readonly on: string;
  readonly kind: K;
  readonly id: string;
}

/**
 * The steps that delete a group of objects: all of the first kind, then all of the second, and so on. Kinds without objects are
 * left out, so the same list serves a plan for what a failed creation has left behind.
 *
 * @example
 * deletionsInOrder([["rule", rules], ["pool", pools], ["balancer", [id]], ["address", addresses]])
 */
export function deletionsInOrder<const K extends string>(
  order: readonly (readonly [kind: K, ids: readonly string[]])[],
): readonly Deletion<K>[] {
  return order.flatMap(([kind, ids]) =>
    ids.map((id) => ({ do: `delete ${kind}` as const, on: id, kind, id })),
  );
}

/** The outcome of a deletion: done, also when the object does not exist any more. Other errors are thrown. */
export async function deleted(request: Promise<unknown>): Promise<Done> {
  try {
    await request;
  } catch (error) {
    if (!CloudError.is(error) || error.kind !== "not-found") throw error;
  }
  return { done: true };
}
