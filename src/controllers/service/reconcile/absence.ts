// Waits for proof when a listing does not show a load balancer that existed: nothing is created and no finalizer is removed until
// it is certain that the load balancer is gone.

import { milliseconds, type ServiceUID } from "../../../core/brand.ts";
import type { Service } from "../../../kube/objects.ts";
import { type Outcome, requeue } from "../../../runtime/workers.ts";
import { absenceOf, type BalancerAbsence } from "../observed/absence.ts";
import { isEnding } from "../predicates.ts";
import type { ServiceSettings } from "../settings.ts";
import type { GroupState } from "../state/group-record.ts";
import { balancerMissing, type OutcomeOfAbsence, waitingForListing } from "../status/events.ts";
import type { ReconcileDeps } from "./context.ts";
import { confirmAfterOf } from "./reads-lag.ts";

type Unproved = Extract<BalancerAbsence, { kind: "unproved" }>;

/** Whether it is certain that these owners have no load balancer in the group, given that the cloud shows none. */
export function judgeAbsence(
  { controller, massLimit }: Pick<ReconcileDeps, "controller" | "massLimit">,
  { evidence, group }: GroupState,
  uids: readonly ServiceUID[],
): BalancerAbsence {
  const owners = uids.flatMap((uid) => evidence.get(uid) ?? []);
  const restartedAt = massLimit.restartedFor(group);
  const confirmAfter = confirmAfterOf(controller);
  return absenceOf({ owners, confirmAfter, restartedAt, now: controller.clock.monotonic() });
}

/** Reports it on the Services, and waits. */
export function waitForProof(
  deps: ReconcileDeps,
  state: GroupState,
  services: readonly Service[],
  absence: Unproved,
  /** Another load balancer with the same mark that is shown. */
  replacement?: string,
): Outcome {
  const { clock, settings } = deps.controller;
  const at = clock.now() + absence.decidedAt - clock.monotonic();
  for (const service of services) {
    const event = absence.isExpected
      ? waitingForListing(at)
      : balancerMissing(at, outcomeOf(service, settings), replacement);
    deps.publisher.publishOnce(service, absence.isExpected ? "waiting" : "absence", [event]);
    const hold = { reason: event.reason, message: event.message };
    deps.groupStates.commit(state, { kind: "held", hold });
  }
  return requestProof(deps, state, absence);
}

function outcomeOf(service: Service, { drift }: Pick<ServiceSettings, "drift">): OutcomeOfAbsence {
  if (isEnding(service)) return "finalizer removed";
  return drift === "report" ? "reported" : "created again";
}

/** Requests the next listing when it is due. */
export function requestProof(deps: ReconcileDeps, state: GroupState, { checkAt }: Unproved): Outcome {
  const now = deps.controller.clock.monotonic();
  if (checkAt <= now) return deps.freshListing.request(state);
  return requeue(milliseconds(checkAt - now), "proof that the load balancer is absent");
}
