// Records the target health, either from a reconcile's observation without additional requests, or by reading it for
// a user. Reports when all targets are unhealthy.

import { maxWaitInWorker } from "../../../cloud/urgency.ts";
import { type Milliseconds, minutes, seconds } from "../../../core/brand.ts";
import { textOf } from "../../../core/error-message.ts";
import type { Problem } from "../../../core/problem.ts";
import { cutText } from "../../../core/text.ts";
import type { ObservedLoadBalancer } from "../../../provider/load-balancers.ts";
import { withDeadline } from "../../../runtime/deadline.ts";
import type { Member } from "../desired/member.ts";
import { areAllUnhealthy, summarizeHealth, unhealthyTargets } from "../status/target-health.ts";
import type { ReconcileContext, ReconcileDeps } from "./context.ts";

/** The time after a change in which pods start and health checks get their first results. */
const settlesWithin: Milliseconds = minutes(2);

const never = Number.NEGATIVE_INFINITY;

/** Returns the content of the condition; undefined while it is unknown. */
export function noteHealth(
  { controller: { balancers, clock, settings }, inventory, reporter, state }: ReconcileContext,
  { service, desired }: Pick<Member, "service" | "desired">,
  observed: ObservedLoadBalancer | undefined,
): readonly Problem[] | undefined {
  if (balancers.healthOf === undefined) return [];
  const checks = observed === undefined ? [] : balancers.healthOf(desired, observed);
  state.noteHealth({
    at: state.session.observation?.readAt ?? inventory.beganAt,
    summary: summarizeHealth(checks),
  });
  const { at = never, summary } = state.session.health ?? {};
  const problem = summary && unhealthyTargets(service, summary);
  if (problem !== undefined && at < (state.changedAt ?? never) + settlesWithin) return undefined;
  const isAll = summary !== undefined && areAllUnhealthy(summary);
  const { healthy = 0, unhealthy = 0 } = summary ?? {};
  const { unhealthyCondition: percentage } = settings;
  const isShown = percentage > 0 && unhealthy * 100 >= percentage * (healthy + unhealthy);
  const reported = problem !== undefined && isAll ? [problem] : [];
  const shown = problem !== undefined && isShown ? [problem] : [];
  const reasons = [...reported, ...shown].map(({ reason }) => reason);
  if (!state.noteHealthReport(reasons.join(), clock.monotonic())) return undefined;
  reporter.report(service, "health", reported);
  return shown;
}

/** The timeout, because a person waits for the answer. */
const patience: Milliseconds = seconds(5);
/** Several requests by people within this time cause one read. */
const askAgainAfter: Milliseconds = seconds(10);

/** Reads the current health because a user asks about this Service. Changes nothing else that is known about the Service. */
export async function askHealth(
  { controller, desiredServices, inventory, records }: ReconcileDeps,
  key: string,
  signal: AbortSignal,
): Promise<void> {
  const { balancers, clock, services } = controller;
  const [state, service] = [records.managed(key), services.get(key)];
  const known = state && (state.session.observation?.balancer ?? inventory.onlyOneOf(state.uid));
  const desired = service && desiredServices.tryOf(service)?.desired;
  if (state === undefined || known === undefined || desired?.owner.uid !== state.uid) return;
  if (balancers.observeHealth === undefined || desired.ending !== undefined) return;
  const at = clock.monotonic();
  const { at: observedAt = never, asked } = state.session.health ?? {};
  if (at - Math.max(observedAt, asked?.at ?? never) < askAgainAfter) return;
  state.noteHealthQuestion(at);
  try {
    const observed = await withDeadline(clock, patience, "The cloud", signal, async (stop) => {
      const call = { signal: stop, urgency: "refresh", maxWait: maxWaitInWorker } as const;
      return (await balancers.observeHealth?.(desired, known, call)) ?? known;
    });
    state.noteHealth({ at, summary: summarizeHealth(balancers.healthOf?.(desired, observed) ?? []) });
  } catch (error) {
    state.noteHealthQuestion(at, cutText(textOf(error)));
  }
}
