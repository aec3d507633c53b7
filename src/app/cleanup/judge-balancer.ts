// Decides whether a load balancer with Fairlead's mark stays. Pure.

import type { Service } from "../../kube/objects.ts";
import { keyOf } from "../../kube/objects.ts";
import type { ObservedLoadBalancer } from "../../provider/load-balancers.ts";
import type { ClusterState } from "./cluster-state.ts";
import type { Kept } from "./leftover.ts";

/** What the operator selected. */
export interface Selection {
  readonly owners: ReadonlySet<string>;
  readonly allMarked: boolean;
}

export interface BalancerFacts {
  readonly balancer: ObservedLoadBalancer;
  readonly addresses: readonly string[];
  /** As of the provider, for all load balancers. */
  readonly marksNameCluster: boolean;
}

/** Why it stays; undefined if it is to be deleted. The load balancers of existing Services always stay, whatever is selected. */
export function whyKept(
  { balancer, addresses, marksNameCluster }: BalancerFacts,
  cluster: ClusterState,
  { owners: selected, allMarked }: Selection,
): Kept | undefined {
  const user = cluster.kind === "read" ? userOf(balancer, addresses, cluster.services) : undefined;
  if (user !== undefined) return { kind: "in use", why: `${user} exists` };
  const { owners } = balancer;
  const isSelected = owners.length > 0 && owners.every((uid) => selected.has(uid));
  if (isSelected) return undefined;
  if (selected.size > 0) return { kind: "unselected", why: "not selected with --owner" };
  if ((marksNameCluster && balancer.marksNameCluster !== false) || allMarked) return undefined;
  const flags = owners.map((uid) => `--owner=${uid}`).join(" ");
  return {
    kind: "unselected",
    why: `its mark does not name the cluster, so it may belong to another one. If it does not, select it${flags === "" ? "" : ` with ${flags}, or all`} with --all-marked`,
  };
}

/** The existing Service that it serves: by its mark, or because the Service has its address. */
function userOf(
  { owners }: ObservedLoadBalancer,
  addresses: readonly string[],
  services: readonly Service[],
): string | undefined {
  const uids = new Set<string>(owners);
  const found = services.find(({ metadata, status, spec }) => {
    if (uids.has(metadata.uid)) return true;
    const ingress = status.loadBalancer?.ingress ?? [];
    const isBalanced = spec.type === "LoadBalancer" || ingress.length > 0;
    return isBalanced && ingress.some(({ ip, hostname }) => addresses.includes(ip ?? hostname ?? ""));
  });
  return found && `Service ${keyOf(found.metadata)}`;
}
