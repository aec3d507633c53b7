// Which balancer without our mark a group asks to have, where it has none of ours yet. Only one that exactly one Service can
// have meant is taken: between two, the choice is not ours. Pure.

import type { Problem } from "../../../core/problem.ts";
import { keyOf, type Service } from "../../../kube/objects.ts";
import type { ObservedLoadBalancer } from "../../../provider/load-balancers.ts";

export interface Adoption {
  readonly balancer: ObservedLoadBalancer | undefined;
  readonly problems: readonly Problem[];
}

export function adoptionOf(
  members: readonly Service[],
  /** Everybody who may ask for a balancer. */
  everyone: () => readonly Service[],
  listed: readonly ObservedLoadBalancer[],
  asks: (service: Service, one: ObservedLoadBalancer) => boolean,
): Adoption {
  const unmarked = listed.filter(({ ownership }) => ownership === "unmarked");
  const hits = unmarked.filter((one) => members.some((service) => asks(service, one)));
  const [hit] = hits;
  if (hit === undefined) return { balancer: undefined, problems: [] };
  const isRival = (service: Service): boolean => {
    try {
      return !members.includes(service) && hits.some((one) => asks(service, one));
    } catch {
      // Who cannot be understood asks for nothing, and keeps nobody else waiting.
      return false;
    }
  };
  const rivals = everyone().filter(isRival);
  if (hits.length === 1 && rivals.length === 0) return { balancer: hit, problems: [] };
  return { balancer: undefined, problems: [ambiguous(hits, rivals)] };
}

function ambiguous(hits: readonly ObservedLoadBalancer[], rivals: readonly Service[]): Problem {
  return {
    severity: "error",
    reason: "AmbiguousAdoption",
    text:
      rivals.length === 0
        ? `${hits.length} load balancers fit what is to be adopted (${hits.map(({ group }) => group).join(", ")}); say more exactly which one is meant.`
        : `The load balancer that is to be adopted is asked for by ${rivals.map(({ metadata }) => keyOf(metadata)).join(", ")} too; only one Service can have it.`,
  };
}
