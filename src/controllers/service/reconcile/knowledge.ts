// What the controller knows about one Service, to explain why it is as it is: its group, its load balancer, and every
// message that applies now.

import { serviceUID } from "../../../core/brand.ts";
import type { Service } from "../../../kube/objects.ts";
import type { ObservedLoadBalancer } from "../../../provider/load-balancers.ts";
import type { ServiceEvent } from "../deps.ts";
import type { Change, Hold } from "../state/group-states.ts";
import type { ReconcileDeps } from "./context.ts";

export interface ServiceKnowledge {
  /** The key of its queue. */
  readonly group: string;
  /** The Services that share its load balancer, without itself. */
  readonly sharedWith: readonly string[];
  readonly balancer: ObservedLoadBalancer | undefined;
  /** Whether the load balancers of the cloud were listed since the start. */
  readonly isListed: boolean;
  /** The Nodes that should be targets; undefined if they cannot be chosen. Chosen when it is read, which takes time. */
  readonly targets: readonly string[] | undefined;
  readonly hold: Hold | undefined;
  /** The change in progress. */
  readonly change: Change | undefined;
  /** The messages that apply now, also about waiting. */
  readonly messages: readonly ServiceEvent[];
}

/** Undefined for a Service that the controller has not seen, or does not manage. */
export function knowledgeOf(
  { groupStates, serviceStates, desiredServices, freshListing, controller }: ReconcileDeps,
  service: Service,
): ServiceKnowledge | undefined {
  const uid = serviceUID(service.metadata.uid);
  const known = serviceStates.get(uid);
  if (known?.group === undefined) return undefined;
  const { group, key } = known;
  const state = groupStates.get(group);
  const listed = freshListing.index.ofGroup(group);
  return {
    group,
    sharedWith: groupStates.membersOf(group).filter((member) => member !== key),
    balancer: listed.find(({ name }) => name !== undefined && name === state?.managed?.name) ?? listed[0],
    isListed: controller.listing.latest !== undefined,
    get targets() {
      return desiredServices.tryOf(service)?.desired.targets.map(({ node }) => node);
    },
    hold: state?.hold,
    change: state?.change,
    messages: [...known.published.values()].flatMap((events) => [...events.values()]),
  };
}
