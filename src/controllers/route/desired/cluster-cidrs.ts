// Reads the cluster's pod ranges from `--cluster-cidr`; routes outside them are never touched. An invalid value
// disables routes with a warning; upstream exits. Pure.

import type { Cidr } from "../../../core/brand.ts";
import { cidrContains, cidrFamily, parseCidr } from "../../../core/cidr.ts";
import type { Problem } from "../../../core/problem.ts";

export type ClusterCIDRs =
  | { readonly kind: "run"; readonly cidrs: readonly [Cidr, ...Cidr[]] }
  | { readonly kind: "skip"; readonly problem: Problem };

/** Reads ranges separated by commas. As in Kubernetes, octets may have leading zeros. */
export function readClusterCIDRs(text: string | undefined): ClusterCIDRs {
  const entries = (text ?? "")
    .split(",")
    .map((entry) => entry.trim())
    .filter((entry) => entry !== "");
  const cidrs: Cidr[] = [];
  for (const entry of entries) {
    const parsed = parseCidr(entry, "sloppy");
    if (parsed === undefined) return skip(`contains ${JSON.stringify(entry)}, which is not an address range`);
    cidrs.push(parsed);
  }
  const [first, ...others] = cidrs;
  if (first === undefined) return skip("is not set");
  const families = cidrs.map(cidrFamily);
  const duplicate = families.find((family, index) => families.indexOf(family) < index);
  if (duplicate !== undefined) return skip(`has more than one ${duplicate} range`);
  return { kind: "run", cidrs: [first, ...others] };
}

function skip(what: string): ClusterCIDRs {
  return {
    kind: "skip",
    problem: {
      severity: "warning",
      reason: "RoutesSkipped",
      key: "--cluster-cidr",
      text: `Pod routes are not managed: --cluster-cidr ${what}. Set it to the cluster's pod ranges, at most one IPv4 and one IPv6 range, such as 10.244.0.0/16,fd00:10:244::/48. To run without routes, set --configure-cloud-routes=false.`,
    },
  };
}

/** The whole range must be contained; upstream checks only one end. */
export function isInsideCluster(clusterCIDRs: readonly Cidr[], range: Cidr): boolean {
  return clusterCIDRs.some((cluster) => cidrContains(cluster, range));
}
