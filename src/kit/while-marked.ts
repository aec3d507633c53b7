// Marks of a shared load balancer are reread, under a lock, before each change that depends on them.

import type { Call } from "../provider/call.ts";
import { CloudError } from "../provider/errors.ts";
import type { Step } from "../provider/plan.ts";
import type { KeyedLock } from "./keyed-lock.ts";

/** The current state of a load balancer. */
export interface MarkedBalancer {
  readonly name: string;
  readonly marks: readonly string[];
}

/** A step that depends on the marks of a load balancer. */
export interface MarkedStep<B extends MarkedBalancer> {
  readonly step: Step;
  readonly operation: string;
  /** The id of the load balancer, or the name that a new one gets. */
  readonly key: string;
  /** The cloud's term for marks, such as "tags". */
  readonly noun: string;
  /** The marks that the plan saw; undefined if there was no load balancer. */
  readonly planned: readonly string[] | undefined;
  readonly read: () => Promise<B | undefined>;
}

const listed = (marks: readonly string[] = []): string => marks.join(", ") || "none";

/**
 * Applies a step only if the load balancer still has the marks that the plan saw. Several Services may share it, and
 * clouds write marks as a whole, without a precondition: without the lock, two workers could lose a mark, or delete
 * what another Service has just joined. The lock ends with the response. If the load balancer is gone, the request
 * itself reports that.
 *
 * @example
 * whileMarked(locks, { step, operation, key: id, noun: "tags", planned: tags, read }, call, () => send(step, call));
 */
export function whileMarked<T, B extends MarkedBalancer>(
  locks: KeyedLock,
  { step, operation, key, noun, planned, read }: MarkedStep<B>,
  call: Call,
  apply: (found: B | undefined) => Promise<T>,
): Promise<T> {
  return locks.run(key, call.signal, async () => {
    const found = await read();
    if (found === undefined) return apply(undefined);
    if (planned !== undefined && new Set(found.marks).symmetricDifference(new Set(planned)).size === 0)
      return apply(found);
    const title = found.name.includes(key) ? found.name : `${found.name} (${key})`;
    const text =
      planned === undefined
        ? `The load balancer ${title} did not exist when "${step.do}" was planned, and another Service or a user has created it. The step is not applied. Fairlead plans again with it.`
        : `The load balancer ${title} has the ${noun} ${listed(found.marks)}, and had ${listed(planned)} when the step was planned: a Service has joined or left it, or a user has changed them. "${step.do}" is not applied. Fairlead plans again with these ${noun}.`;
    throw new CloudError("busy", text, { operation });
  });
}
