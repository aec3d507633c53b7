// Builders for the results of plans and steps, with the delay that most clouds need, and for problems.

import { type Milliseconds, seconds } from "../core/brand.ts";
import { defined } from "../core/defined.ts";
import { parseIp } from "../core/ip.ts";
import type { BalancerAddress, Publication } from "../provider/load-balancers.ts";
import type { Done, FactChanges, RefusedTarget, StepOutcome, Wait } from "../provider/plan.ts";
import type { ProviderProblem, Reason } from "../provider/reasons.ts";

const usualDelay = seconds(1);

/** The step is complete. The facts are stored on the Services, which also report rejected targets. */
export function done(remember?: FactChanges, refused?: readonly RefusedTarget[]): Done {
  return refused === undefined ? { done: true, remember } : { done: true, remember, refused };
}

/** The cloud is still working on the step. `waitingFor` completes "waiting for …". */
export function inProgress(
  waitingFor: string,
  options: {
    /** If unset, one second. */
    readonly checkAfter?: Milliseconds;
    readonly operation?: string | undefined;
    readonly remember?: FactChanges | undefined;
    readonly refused?: readonly RefusedTarget[] | undefined;
  } = {},
): Extract<StepOutcome, { done: false }> {
  return { checkAfter: usualDelay, ...options, done: false, waitingFor };
}

/** A plan without steps, because nothing can be done until the cloud is ready. */
export function waitFor(
  waitingFor: string,
  checkAfter: Milliseconds = usualDelay,
): { readonly steps: readonly []; readonly wait: Wait } {
  return { steps: [], wait: { checkAfter, waitingFor } };
}

/**
 * Publishes the IP addresses that the cloud reports, or waits while it reports none. Without `ipMode`, the mode
 * is unset, which means VIP.
 */
export function publishIPs(
  texts: readonly (string | null | undefined)[],
  waitingFor: string,
  ipMode?: BalancerAddress["ipMode"],
): Exclude<Publication, { kind: "not-ours" }> {
  const addresses = texts.flatMap((text) => {
    const ip = parseIp(text ?? "");
    return ip === undefined ? [] : [{ ip, ...(ipMode !== undefined && { ipMode }) }];
  });
  return addresses.length === 0 ? { kind: "wait", waitingFor } : { kind: "addresses", addresses };
}

/** The affected settings stay unchanged until the problem is fixed. `key`: the annotation or setting concerned. */
export function errorProblem(reason: Reason, text: string, key?: string): ProviderProblem {
  return defined({ severity: "error" as const, reason, text, key });
}

/** A plan without steps: the part that the problem affects stays unchanged until it is fixed. */
export function planError(reason: Reason, text: string, key?: string) {
  return { steps: [], problems: [errorProblem(reason, text, key)] } as const;
}

/** Whether any of the problems blocks the plan. */
export const hasErrors = (problems: readonly ProviderProblem[]): boolean =>
  problems.some(({ severity }) => severity === "error");

/** The problem is reported, and the reconcile continues. */
export function warningProblem(reason: Reason, text: string, key?: string): ProviderProblem {
  return defined({ severity: "warning" as const, reason, text, key });
}
