// The subnets of a load balancer: the ones that its Service names, or one for each zone. Pure.

import { errorProblem, type ProviderProblem } from "#ccm";
import type { ApiRouteTable, ApiSubnet, ApiZone } from "../api/resources.ts";
import { hasClusterTag, hasNoClusterTag } from "../cluster.ts";
import { keyOf } from "./annotations.ts";
import { type Identity, sortedBy, tagIn } from "./balancer-names.ts";

/** Known facts about the VPC. */
export interface Network {
  readonly identity: Identity;
  readonly subnets: readonly ApiSubnet[];
  readonly routeTables: readonly ApiRouteTable[];
  readonly zones: readonly ApiZone[];
}

/** Neither a local nor a wavelength zone. */
export const isUsualZone = ({ zoneType }: ApiZone): boolean =>
  (zoneType ?? "availability-zone") === "availability-zone";

/** A subnet is public if its route table leads to an internet gateway. */
function isPublic(id: string, tables: readonly ApiRouteTable[]): boolean {
  const associated = (isWanted: (one: NonNullable<ApiRouteTable["associationSet"]>[number]) => boolean) =>
    tables.find(({ associationSet: all }) => all?.some(isWanted));
  const table = associated((one) => one.subnetId === id) ?? associated((one) => one.main === "true");
  return table?.routeSet?.some(({ gatewayId }) => gatewayId?.startsWith("igw")) === true;
}

/** Chooses one subnet per zone: preferably with the role tag, then with the cluster tag, then with the lowest id. */
function discover(
  { identity, subnets, routeTables, zones }: Network,
  isInternal: boolean,
): readonly ApiSubnet[] {
  const own = subnets.filter(({ tagSet }) => hasClusterTag(identity.tag, tagSet) || hasNoClusterTag(tagSet));
  const candidates = own.length > 0 ? own : subnets.filter((one) => one.subnetId === identity.subnet);
  const role = isInternal ? "kubernetes.io/role/internal-elb" : "kubernetes.io/role/elb";
  const rank = ({ subnetId, tagSet }: ApiSubnet): string => {
    return `${tagIn(tagSet, role) === undefined ? 1 : 0}${hasClusterTag(identity.tag, tagSet) ? 0 : 1}${subnetId}`;
  };
  const byZone = new Map<string, ApiSubnet>();
  for (const one of sortedBy(candidates, rank)) {
    const zone = one.availabilityZone ?? "";
    if (zone === "" || byZone.has(zone) || !(isInternal || isPublic(one.subnetId, routeTables))) continue;
    byZone.set(zone, one);
  }
  const other = new Set(zones.flatMap((zone) => (isUsualZone(zone) ? [] : zone.zoneName)));
  return sortedBy([...byZone], ([zone]) => zone).flatMap(([zone, one]) => (other.has(zone) ? [] : one));
}

export interface Choice {
  readonly subnets: readonly ApiSubnet[];
  readonly problem?: ProviderProblem;
}

/** `named` are ids, or values of the tag Name. */
export function chooseSubnets(
  network: Network,
  named: readonly string[] | undefined,
  isInternal: boolean,
): Choice {
  const nothing = "Subnets of an existing load balancer stay, and no new one is created.";
  if (named === undefined || named.length === 0) {
    const subnets = discover(network, isInternal);
    if (subnets.length > 0) return { subnets };
    const kind = isInternal
      ? "subnet of the cluster"
      : "subnet of the cluster with a route to an internet gateway";
    const text = `The VPC ${network.identity.vpc} has no ${kind}. ${nothing} Set ${keyOf("subnets")}, or tag subnets.`;
    return { subnets, problem: errorProblem("MissingCloudObject", text) };
  }
  const key = keyOf("subnets");
  const found = named.map((one) =>
    network.subnets.filter(
      ({ subnetId, tagSet }) => (one.startsWith("subnet-") ? subnetId : tagIn(tagSet, "Name")) === one,
    ),
  );
  const missing = named.filter((_, index) => found[index]?.length === 0);
  if (missing.length > 0) {
    const text = `${key} names ${missing.join(", ")}, which the VPC ${network.identity.vpc} does not have. ${nothing} Correct the annotation.`;
    return { subnets: [], problem: errorProblem("MissingCloudObject", text, key) };
  }
  const ambiguous = named.filter((_, index) => (found[index]?.length ?? 0) > 1);
  if (ambiguous.length > 0) {
    const text = `${key} names ${ambiguous.join(", ")}, and several subnets have this name. ${nothing} Write their ids.`;
    return { subnets: [], problem: errorProblem("AmbiguousCloudObject", text, key) };
  }
  return { subnets: found.flat() };
}
