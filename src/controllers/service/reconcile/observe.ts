// Observes what the cloud has for the group: from the shared listing if that is recent enough, and with a call to the provider if
// listings are incomplete.

import type { ObservedLoadBalancer } from "../../../provider/load-balancers.ts";
import { type Outcome, settled, waiting } from "../../../runtime/workers.ts";
import { showProblems } from "../status/show-problems.ts";
import type { ReconcileContext, ReconcileDeps } from "./context.ts";

interface Observation {
  readonly kind: "observed";
  readonly balancer: ObservedLoadBalancer | undefined;
}

export async function observeGroup(
  deps: ReconcileDeps,
  context: ReconcileContext,
): Promise<Observation | Outcome> {
  const { group, services, state, call } = context;
  const found = deps.freshListing.find(state, services);
  if (found === "not yet") return deps.freshListing.request(state);
  for (const service of services) await showProblems(deps, "adoption", service, found.problems, call.signal);
  if (found.problems.length > 0) return settled;
  const balancer = await observeInDepth(deps, context, found.balancer);
  // The cloud may return owners whose other group is being reconciled.
  if (!deps.ownerLock.acquire(group, balancer?.owners ?? [])) return waiting;
  return { kind: "observed", balancer };
}

async function observeInDepth(
  { controller: { balancers }, desiredServices }: ReconcileDeps,
  { services, call }: ReconcileContext,
  listed: ObservedLoadBalancer | undefined,
): Promise<ObservedLoadBalancer | undefined> {
  const isComplete = listed !== undefined && listed.shallow !== true;
  if (balancers.observe === undefined || isComplete) return listed;
  const desired = services.map((service) => desiredServices.of(service).desired);
  return balancers.observe(desired, listed, call);
}
