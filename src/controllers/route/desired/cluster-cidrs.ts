// The pod ranges of the cluster, from `--cluster-cidr`: nothing outside them is ever touched. Pure; a value that cannot
// be used switches routes off with a warning, where upstream ends the whole process.

import type { Cidr } from "../../../core/brand.ts";
import { cidrFamily, parseCidr } from "../../../core/cidr.ts";
import type { Problem } from "../../../core/problem.ts";

export type ClusterCIDRs =
  | { readonly kind: "run"; readonly cidrs: readonly [Cidr, ...Cidr[]] }
  | { readonly kind: "skip"; readonly problem: Problem };

/** Separated by commas; old spellings with leading zeros are read, as Kubernetes reads them. */
export function readClusterCIDRs(text: string | undefined): ClusterCIDRs {
  const entries = (text ?? "")
    .split(",")
    .map((entry) => entry.trim())
    .filter((entry) => entry !== "");
  const cidrs: Cidr[] = [];
  for (const entry of entries) {
    const parsed = parseCidr(entry, "sloppy");
    if (parsed === undefined) return skip(`${JSON.stringify(entry)} is no address range.`);
    cidrs.push(parsed);
  }
  const [first, ...others] = cidrs;
  if (first === undefined) return skip("it is not set.");
  const families = cidrs.map(cidrFamily);
  const twice = families.find((family, index) => families.indexOf(family) < index);
  if (twice !== undefined) return skip(`it has more than one ${twice} range.`);
  return { kind: "run", cidrs: [first, ...others] };
}

function skip(why: string): ClusterCIDRs {
  return {
    kind: "skip",
    problem: {
      severity: "warning",
      reason: "RoutesSkipped",
      key: "--cluster-cidr",
      text: `Routes to pods are not managed: --cluster-cidr must be the pod ranges of the cluster, at most one for IPv4 and one for IPv6, such as 10.244.0.0/16,fd00:10:244::/48; ${why} Set it, or say --configure-cloud-routes=false.`,
    },
  };
}
