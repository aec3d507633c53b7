// What the controller knows about one Service, to explain why it is as it is: its group, its load balancer, and every
// message that applies now.

import { serviceUID } from "../../../core/brand.ts";
import type { Service } from "../../../kube/objects.ts";
import type { ObservedLoadBalancer } from "../../../provider/load-balancers.ts";
import type { Finding } from "../../report.ts";
import type { Change } from "../state/group-record.ts";
import type { ServiceState } from "../state/service-states.ts";
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
  /** The change in progress. */
  readonly change: Change | undefined;
  /** What applies now, also about waiting. */
  readonly findings: readonly Finding[];
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
    change: state?.change,
    findings: findingsOf(groupStates, known),
  };
}

/** The hold of its group, and the events that were published and still apply. */
export function findingsOf(
  groupStates: ReconcileDeps["groupStates"],
  { group, published }: ServiceState,
): readonly Finding[] {
  const hold = group === undefined ? undefined : groupStates.get(group)?.hold;
  const held: readonly Finding[] =
    hold === undefined ? [] : [{ kind: "hold", reason: hold.reason, text: hold.message }];
  const events = [...published].flatMap(([topic, byIdentity]) =>
    [...byIdentity.values()].map(({ type, reason, message }): Finding => {
      const isProblem = type === "Warning" && topic !== "waiting";
      return { kind: isProblem ? "problem" : "wait", reason, text: message };
    }),
  );
  return [...held, ...events];
}
