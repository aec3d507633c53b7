// Chooses the InternalIPs of a Node to keep besides the cloud's addresses, where the cloud does not know the private network. Pure.

import { ipFamily, isSameIp, parseIp } from "../../core/ip.ts";
import type { Problem } from "../../core/problem.ts";
import type { Node } from "../../kube/objects.ts";
import type { Instance, InstanceAddress } from "../../provider/instances.ts";
import { misconfiguredInternalIP } from "./events.ts";

export interface KeptInternalIPs {
  readonly kept: readonly InstanceAddress[];
  /** Why others are left out. */
  readonly problems: readonly Problem[];
}

type Rules = Pick<Instance, "addresses" | "keepsInternalIPs">;

export function keptInternalIPs({ status }: Node, rules: Rules): KeptInternalIPs {
  const kept: InstanceAddress[] = [];
  const problems: Problem[] = [];
  if (rules.keepsInternalIPs === undefined) return { kept, problems };
  for (const { type, address } of status.addresses ?? []) {
    if (type !== "InternalIP" || isReported("InternalIP", address, rules)) continue;
    const why = whyNotKept(address, rules);
    if (why === undefined) kept.push({ kind: "InternalIP", value: address });
    else problems.push(misconfiguredInternalIP(address, why));
  }
  return { kept, problems };
}

function whyNotKept(address: string, rules: Rules): string | undefined {
  const ip = parseIp(address, "sloppy");
  if (ip === undefined) return "it is not an IP address";
  if (isReported("ExternalIP", address, rules)) return "the cloud reports it as an ExternalIP";
  const families = rules.keepsInternalIPs ?? [];
  if (families.includes(ipFamily(ip))) return undefined;
  return `only ${families.join(" and ") || "the cloud's"} addresses are kept for this instance`;
}

function isReported(kind: InstanceAddress["kind"], address: string, { addresses }: Rules): boolean {
  const ip = parseIp(address, "sloppy");
  return addresses.some((one) => one.kind === kind && ip !== undefined && isSameIp(one.value, ip));
}
