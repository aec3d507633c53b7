// What follows where the reads of a cloud lag behind its writes: a listing or lookup may show an earlier state for that long. Proofs of
// absence are further apart, and a plan does not repeat the steps that the cloud has just accepted.

import { type Milliseconds, milliseconds, seconds } from "../core/brand.ts";
import type { Plan, Step } from "../provider/plan.ts";

/** A part of the provider contract that may declare a lag. */
export interface MayLag {
  readonly readsLag?: Milliseconds | undefined;
}

/** Clocks and requests are not exact. */
const margin: Milliseconds = seconds(5);

/** How far apart two proofs of absence must be, so that the states that they show are `confirmAfter` apart. */
export function proofsApart(confirmAfter: Milliseconds, { readsLag }: MayLag): Milliseconds {
  return readsLag === undefined ? confirmAfter : milliseconds(Math.max(confirmAfter, margin) + readsLag);
}

/** What a plan needs to know about steps that the cloud has just accepted. It drops those that every read shows by now. */
export type PlannedAfter = Readonly<Pick<RecentSteps, "observedAt" | "has" | "isEmpty" | "keepAfter">>;

export interface AcceptedStep {
  /** Monotonic. */
  readonly at: number;
  readonly step: Pick<Step, "do" | "on">;
  /** The desired state that it was planned for, as text. */
  readonly desired: string;
}

/** The steps that the cloud accepted last for one load balancer. What they changed counts as observed for a while. */
export class RecentSteps {
  /** When the last observation of the group began (monotonic). */
  observedAt = Number.POSITIVE_INFINITY;
  /** By hash. */
  readonly #accepted = new Map<string, AcceptedStep>();

  note(hash: string, accepted: AcceptedStep): void {
    this.#accepted.set(hash, accepted);
  }

  /** The operation of the step is complete: its effect may be visible only from now on. */
  renew(hash: string, at: number): void {
    const known = this.#accepted.get(hash);
    if (known !== undefined) this.#accepted.set(hash, { ...known, at });
  }

  /** The cloud accepted it, but it failed later. */
  forget(hash: string): void {
    this.#accepted.delete(hash);
  }

  /**
   * Whether the cloud accepted this step, or for the same desired state one that does the same to the same object: the rest of it,
   * when the cloud shows a part.
   */
  has(hash: string, step: Step, desired: string): boolean {
    if (this.#accepted.has(hash)) return true;
    for (const accepted of this.#accepted.values()) {
      const isSameKind = accepted.step.do === step.do && accepted.step.on === step.on;
      if (isSameKind && accepted.desired === desired) return true;
    }
    return false;
  }

  get isEmpty(): boolean {
    return this.#accepted.size === 0;
  }

  /** Forgets the steps that were accepted until then. Returns whether any is left. */
  keepAfter(since: number): boolean {
    for (const [hash, { at }] of this.#accepted) if (at <= since) this.#accepted.delete(hash);
    return this.#accepted.size > 0;
  }
}

const checkAfter: Milliseconds = seconds(2);

/** What to remember about a step that the cloud accepted. Only where reads lag: nothing else forgets it. */
export function recentStep(
  { readsLag }: MayLag,
  { do: what, on }: Step,
  desired: () => string,
  at: number,
): AcceptedStep | undefined {
  return readsLag === undefined ? undefined : { at, step: { do: what, on }, desired: desired() };
}

/**
 * The plan without what the observation may be too old to show: a step that was just accepted is not sent again, and an error of the
 * plan may only be a consequence of the old state.
 */
export function withoutRecent(
  plan: Plan<Step>,
  recentSteps: PlannedAfter,
  { readsLag }: MayLag,
  { desired, hashOf }: { readonly desired: () => string; readonly hashOf: (step: Step) => string },
): Plan<Step> {
  const since = recentSteps.observedAt - (readsLag ?? 0);
  // Also without a lag: otherwise the steps would be kept for ever.
  const hasRecent = recentSteps.keepAfter(since);
  if (readsLag === undefined || !hasRecent) return plan;
  const text = desired();
  const steps = plan.steps.filter((step) => !recentSteps.has(hashOf(step), step, text));
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
