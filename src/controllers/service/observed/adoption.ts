// Finds the load balancer without Fairlead's mark that a group asks to adopt. It must be unambiguous: exactly one load balancer,
// requested by only one group. Pure.

import { serviceUID } from "../../../core/brand.ts";
import type { Problem } from "../../../core/problem.ts";
import { keyOf, type Service } from "../../../kube/objects.ts";
import type { ObservedLoadBalancer } from "../../../provider/load-balancers.ts";

export interface Adoption {
  readonly balancer: ObservedLoadBalancer | undefined;
  readonly problems: readonly Problem[];
}

export function adoptionOf(
  members: readonly Service[],
  /** All Services that may need a load balancer. */
  candidates: () => readonly Service[],
  listed: readonly ObservedLoadBalancer[],
  asksFor: (service: Service, balancer: ObservedLoadBalancer) => boolean,
): Adoption {
  const unmarked = listed.filter(({ ownership }) => ownership === "unmarked");
  const hits = unmarked.filter((balancer) => members.some((service) => asksFor(service, balancer)));
  const [hit] = hits;
  if (hit === undefined) return { balancer: undefined, problems: [] };
  const served = new Set(listed.flatMap(({ ownership, owners }) => (ownership === "ours" ? owners : [])));
  const isRival = (service: Service): boolean => {
    // A Service that has a load balancer cannot adopt another one.
    if (served.has(serviceUID(service.metadata.uid))) return false;
    try {
      return !members.includes(service) && hits.some((balancer) => asksFor(service, balancer));
    } catch {
      // A Service that the provider cannot read requests nothing, and must not block others.
      return false;
    }
  };
  const rivals = candidates().filter(isRival);
  if (hits.length === 1 && rivals.length === 0) return { balancer: hit, problems: [] };
  return { balancer: undefined, problems: [ambiguous(hits, rivals)] };
}

function ambiguous(hits: readonly ObservedLoadBalancer[], rivals: readonly Service[]): Problem {
  const groups = hits.map(({ group }) => group).join(", ");
  const services = rivals.map(({ metadata }) => keyOf(metadata)).join(", ");
  return {
    severity: "error",
    reason: "AmbiguousAdoption",
    text:
      rivals.length === 0
        ? `${hits.length} load balancers match the one to adopt (${groups}). None is adopted until the Service names exactly one.`
        : `The load balancer to adopt is also requested by ${services}. None adopts it until only one Service requests it.`,
  };
}
