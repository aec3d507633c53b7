// The load balancers that were created for a group since the cloud last showed one. If listings never show them, each proof of
// absence would lead to one more.

import type { Step } from "../../../provider/plan.ts";

/** The first creation, and the one after the proof that it is absent. */
const maxUnlisted = 2;

interface Creation {
  readonly hash: string;
  readonly step: Pick<Step, "do" | "on">;
  /** The desired state without targets. */
  readonly spec: string;
  /** Steps of the same reconcile create one load balancer. */
  readonly attempt: number;
  /** Whether the cloud has accepted the step. Otherwise it failed without a clear refusal. */
  readonly isAccepted: boolean;
}

/** What was created and never shown. */
export interface Unlisted {
  readonly count: number;
  /** The names in the cloud, as far as the steps name them. */
  readonly names: readonly string[];
}

export class Creations {
  #steps: Creation[] = [];
  #attempt = 0;

  /** A plan that creates the load balancer is about to be applied. */
  begin(): void {
    this.#attempt += 1;
  }

  note(
    {
      hash,
      step: { do: what, on },
      spec,
    }: { readonly hash: string; readonly step: Step; readonly spec: string },
    isAccepted: boolean,
  ): void {
    this.#steps.push({ hash, step: { do: what, on }, spec, attempt: this.#attempt, isAccepted });
  }

  /** The operation of the step failed, so it created nothing. */
  noteFailed(hash: string): void {
    const index = this.#steps.findLastIndex((creation) => creation.hash === hash);
    if (index !== -1) this.#steps.splice(index, 1);
  }

  /** The cloud shows a load balancer, or another account answers from now on. */
  clear(): void {
    if (this.#steps.length > 0) this.#steps = [];
  }

  /** Undefined if these steps may be applied: they were not yet applied that often, or a user has changed the desired state since. */
  unlisted(steps: readonly Step[], spec: string): Unlisted | undefined {
    const repeated = this.#steps.filter(({ step }) => steps.some((next) => isSameKind(step, next)));
    const count = Math.max(0, ...steps.map((next) => this.#attemptsOf(next)));
    if (count < maxUnlisted || !repeated.some((creation) => creation.spec === spec)) return undefined;
    return { count, names: [...new Set(repeated.flatMap(({ step }) => step.on ?? []))] };
  }

  #attemptsOf(next: Step): number {
    const same = this.#steps.filter(({ step }) => isSameKind(step, next));
    // Failed requests alone prove nothing about the listings: the cloud may create nothing at the moment.
    if (!same.some(({ isAccepted }) => isAccepted)) return 0;
    return new Set(same.map(({ attempt }) => attempt)).size;
  }
}

/** The details may differ: a Node may have joined in between. */
function isSameKind(one: Pick<Step, "do" | "on">, other: Step): boolean {
  return one.do === other.do && one.on === other.on;
}
