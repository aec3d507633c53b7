// The leftovers of a cluster in the cloud: load balancers and routes, with the reason for each object that is kept. Pure.

import { annotationsOf } from "../../app/configuration/cloud-settings.ts";
import { routeIdentityOf } from "../../cloud/own-route-changes.ts";
import { exemptionOf } from "../../controllers/route/desired/plan-desired.ts";
import type { RouteListing } from "../../controllers/route/observe/table-listing.ts";
import { planRoutes, type RoutePlan } from "../../controllers/route/plan/plan.ts";
import type { AnyBalancers } from "../../controllers/service/deps.ts";
import { toDesired } from "../../controllers/service/desired/to-desired.ts";
import type { Cidr } from "../../core/brand.ts";
import { readSettings } from "../../core/read-settings.ts";
import { keyOf, type Node, type Service } from "../../kube/objects.ts";
import type { ObservedLoadBalancer } from "../../provider/load-balancers.ts";
import type { AnyCloud, AnyProvider } from "../../provider/provider.ts";
import type { ObservedRoute } from "../../provider/routes.ts";
import type { ClusterState } from "./cluster-state.ts";

/** Why an object is kept. `unselected`: a flag would select it. `foreign`: it belongs to another cluster with the same name. */
export interface Kept {
  readonly kind: "in use" | "unselected" | "foreign";
  readonly why: string;
}

interface Common {
  /** Identifies the object across listings, because only listed and confirmed objects are deleted. */
  readonly key: string;
  readonly name: string;
  /** The region or route table, if the cloud has several. */
  readonly place: string | undefined;
  readonly owners: readonly string[];
  readonly addresses: readonly string[];
  readonly kept: Kept | undefined;
}

export type LeftoverBalancer = Common & {
  readonly what: "load balancer";
  readonly balancer: ObservedLoadBalancer;
};

export type Leftover = LeftoverBalancer | (Common & { readonly what: "route" });

/** The operator's selection of leftovers. */
export interface LeftoverSelection {
  readonly owners: ReadonlySet<string>;
  readonly allMarked: boolean;
}

/**
 * Whether the object is proved to belong to the cluster with this uid: its mark contains the uid, or an operator named its owner.
 */
export function isProved(
  leftover: Leftover,
  uid: string | undefined,
  { owners }: LeftoverSelection,
): boolean {
  if (leftover.what === "route") return false;
  return owners.size > 0 || (uid !== undefined && leftover.balancer.clusterUID === uid);
}

/** The start of the uid, for a name that lacks the last digit of the uid, so that each of 16 Services may be the owner. */
export function uidStartOf(owners: readonly string[]): string | undefined {
  const start = owners[0]?.slice(0, -1) ?? "";
  const areAlternatives = owners.length === 16 && owners.every((uid) => uid.slice(0, -1) === start);
  return areAlternatives ? start : undefined;
}

/** The inputs that decide which load balancers are kept. */
export interface Comparison {
  readonly provider: AnyProvider;
  readonly clusterName: string;
  readonly cloud: AnyCloud;
  readonly cluster: ClusterState;
  readonly selection: LeftoverSelection;
}

/** Undefined if the load balancer does not have the mark of this cluster. */
export function leftoverOf(
  balancer: ObservedLoadBalancer,
  { provider, clusterName, cloud: { loadBalancers }, cluster, selection }: Comparison,
): LeftoverBalancer | undefined {
  const isNamesake = balancer.ownership === "foreign" && balancer.cluster === clusterName;
  if (loadBalancers === undefined || (balancer.ownership !== "ours" && !isNamesake)) return undefined;
  const addresses = addressesOf(provider, loadBalancers, balancer);
  const marksNameCluster =
    loadBalancers.marksNameCluster === undefined && balancer.marksNameCluster !== false;
  const { name } = balancer;
  return {
    what: "load balancer",
    key: `load balancer ${balancer.owners[0]} ${name}`,
    name,
    place: undefined,
    owners: balancer.owners,
    addresses,
    balancer,
    kept: whyKept(balancer, addresses, marksNameCluster, cluster, selection),
  };
}

/**
 * Why the load balancer is kept; undefined if it must be deleted. Load balancers of existing Services are always kept, whatever
 * is selected.
 */
function whyKept(
  balancer: ObservedLoadBalancer,
  addresses: readonly string[],
  marksNameCluster: boolean,
  cluster: ClusterState,
  { owners: selected, allMarked }: LeftoverSelection,
): Kept | undefined {
  const user = userOf(balancer, addresses, cluster.services);
  if (user !== undefined) return { kind: "in use", why: `${user} exists` };
  const { owners, ownership, clusterUID } = balancer;
  if (ownership === "foreign")
    return { kind: "foreign", why: `belongs to another cluster with the same name (uid ${clusterUID})` };
  const start = uidStartOf(owners);
  const isSelected =
    start === undefined
      ? owners.length > 0 && owners.every((uid) => selected.has(uid))
      : owners.some((uid) => selected.has(uid));
  if (isSelected) return undefined;
  if (selected.size > 0) return { kind: "unselected", why: "not selected with --owner" };
  if (marksNameCluster || allMarked) return undefined;
  const flags =
    start === undefined
      ? owners.map((uid) => `--owner=${uid}`).join(" ")
      : `--owner and the uid of its Service, which begins with ${start}`;
  return {
    kind: "unselected",
    why: `its mark does not name the cluster, so it may belong to another one. If it does not, select it${flags === "" ? "" : ` with ${flags}, or all`} with --all-marked`,
  };
}

/** The existing Service that the load balancer serves, according to its mark or because the Service has its address. */
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

function addressesOf(
  provider: AnyProvider,
  balancers: AnyBalancers,
  observed: ObservedLoadBalancer,
): readonly string[] {
  const { values: settings } = readSettings(annotationsOf(provider).fields, {}, { what: "annotation" });
  const uid = observed.owners[0] ?? observed.name;
  const found = (["IPv4", "IPv6"] as const).flatMap((family) => {
    const service: Service = {
      metadata: { uid, name: "leftover", namespace: "default" },
      spec: { type: "LoadBalancer", ports: [], ipFamilies: [family] },
      status: {},
    } as unknown as Service;
    const desired = toDesired({ service, settings, facts: {}, targets: [], sourceRanges: undefined });
    const published = balancers.publish(desired, observed);
    return published.kind === "addresses" ? published.addresses : [];
  });
  return [...new Set(found.flatMap(({ ip, hostname }) => ip ?? hostname ?? []))];
}

/** Plans only removals. Every existing Node counts as a Node whose routes must not be changed. */
export function removalPlanner(
  nodes: readonly Node[],
  { instances }: AnyCloud,
  clusterCIDRs: readonly Cidr[],
): (listing: RouteListing, table: string | undefined) => RoutePlan {
  const exempt = exemptionOf(nodes, ({ spec: { providerID = "" } }) =>
    (instances?.sources ?? []).flatMap((source) => source.keyOf(providerID) ?? []),
  );
  return ({ routes: observed }, table) => planRoutes({ desired: [], observed, exempt, clusterCIDRs, table });
}

export const leftRouteKey = (table: string | undefined, route: ObservedRoute): string =>
  `route ${table ?? ""} ${routeIdentityOf(route)}`;

export function leftRoutes(table: string | undefined, { remove }: RoutePlan): readonly Leftover[] {
  return remove.map((route) => ({
    what: "route",
    key: leftRouteKey(table, route),
    name: route.destination,
    place: table,
    owners: [route.targetKey ?? route.targetAddress ?? "nowhere"],
    addresses: [],
    kept: undefined,
  }));
}
