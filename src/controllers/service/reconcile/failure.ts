// Handles an error in a reconcile: writes a condition and an event on the Service, and chooses the backoff. Write conflicts are
// only retried.

import { backoffAfter, isFenced, isLasting } from "../../../cloud/error-policies.ts";
import { milliseconds, type ServiceUID, seconds } from "../../../core/brand.ts";
import { type Outcome, requeue, settled } from "../../../runtime/workers.ts";
import { delayAfterError, isLostRace, problemOfError } from "../../classify-error.ts";
import { isEnding } from "../predicates.ts";
import { writeErrorCondition } from "../status/service-reporter.ts";
import { syncFailed, updateFailed } from "../texts.ts";
import { type ReconcileContext, type ReconcileDeps, serviceOf } from "./context.ts";

/** Most cloud errors do not recur in the next attempt. */
const failuresBeforeCondition = 3;

/**
 * A failed listing affects all Services at once. Most failures end within seconds, so the condition is written later than the
 * event.
 */
const listingFailureLasts = seconds(5);

/** Writes the error as a condition: immediately if it lasts, otherwise after several consecutive failures. Never throws. */
export async function showFailure(context: ReconcileContext, error: unknown): Promise<void> {
  const { state } = context;
  const { clock, listing, classes } = context.controller;
  const problem = problemOfError(error);
  if (problem === undefined) return;
  state.noteFailure();
  if (state.progress.failures < failuresBeforeCondition && !isLasting(error)) return;
  // Determined before the first write, because the listing may succeed during a write.
  const isListing = isOfListing(context, error);
  if (isListing && clock.monotonic() - (listing.failure?.since ?? 0) < listingFailureLasts) return;
  const service = serviceOf(context, state);
  if (service === undefined) return;
  // A failed listing does not concern a Service that has its load balancer.
  const hasAddress = (service.status.loadBalancer?.ingress ?? []).length > 0;
  if (isListing && hasAddress && !isEnding(service, classes)) return;
  const problems = [...context.desiredServices.problemsOf(service), problem];
  await writeErrorCondition(context, service, problems).catch(() => undefined);
}

/** Records the error as an event, and decides when to try again. */
export function handleError(deps: ReconcileDeps, uid: ServiceUID, error: unknown, failures: number): Outcome {
  const { clock, random, classes } = deps.controller;
  const state = deps.records.get(uid);
  if (state === undefined) return settled;
  const { failedChange } = state;
  state.noteErrorHandled();
  deps.inventory.cancelRequest(uid);
  if (isLostRace(error))
    return requeue(delayAfterError(error, failures, { clock, random }), "the Service has changed");
  const service = serviceOf(deps, state);
  if (!isFenced(error) && service !== undefined) {
    const ends = isEnding(service, classes);
    const isUpdate = failures === 1 && failedChange === "update" && !ends;
    const { targets = [] } = deps.desiredServices.tryOf(service)?.desired ?? {};
    const hosts = targets.map(({ node }) => node);
    const event = isUpdate ? updateFailed(hosts, error) : syncFailed(error, { isEnding: ends });
    deps.reporter.report(service, "failure", [event]);
  }
  // Collects proof during the backoff, because the failed step may have created a load balancer.
  if (state.evidence.needsProof && !isOfListing(deps, error)) {
    deps.inventory.refresh();
  }
  const sinceProgress = isFenced(error) ? failures : Math.max(1, Math.min(failures, state.progress.failures));
  const delay = milliseconds(
    Math.max(backoffAfter(error, sinceProgress, clock, random), state.progress.changeDelay),
  );
  // After a failed listing, the next successful one enqueues the Service. It does not fix an error in the Service itself.
  if (!isOfListing(deps, error)) state.backOff(clock.monotonic() + delay);
  return requeue(delay, "an error");
}

function isOfListing({ controller: { listing } }: ReconcileDeps, error: unknown): boolean {
  return listing.failure !== undefined && listing.failure.error === error;
}
