// Applies the kubelet's --node-ip as upstream does: the requested addresses come first and are the only ones of their kinds, in
// the cloud's spelling. Pure.

import type { IpAddress } from "../../core/brand.ts";
import { ipFamily, isSameIp, parseIp } from "../../core/ip.ts";
import type { NodeAddress } from "../../kube/objects.ts";

export type Preferred = { readonly addresses: readonly NodeAddress[] } | { readonly wrong: string };

const unspecified: readonly string[] = ["0.0.0.0", "::"];

/** One address, or two of different families, separated by a comma without spaces. */
function readRequested(annotation: string): { readonly ips: readonly string[] } | { readonly wrong: string } {
  const ips = annotation.split(",");
  const parsed: IpAddress[] = [];
  for (const text of ips) {
    const ip = parseIp(text, "sloppy");
    if (ip === undefined) return { wrong: `${JSON.stringify(text)} is not an IP address` };
    parsed.push(ip);
  }
  const [first, second, third] = parsed;
  if (third !== undefined) return { wrong: `expected at most two addresses, got ${ips.length}` };
  if (first !== undefined && second !== undefined) {
    if (ipFamily(first) === ipFamily(second)) return { wrong: "two addresses must be of different families" };
    if (parsed.some((ip) => unspecified.includes(ip)))
      return { wrong: "a pair must not contain 0.0.0.0 or ::" };
  }
  return { ips };
}

export function preferProvidedNodeIP(annotation: string, cloud: readonly NodeAddress[]): Preferred {
  const requested = readRequested(annotation);
  if ("wrong" in requested) return requested;
  const chosen: NodeAddress[] = [];
  for (const ip of requested.ips) {
    const matching = cloud.filter(({ address }) => isSameIp(address, ip));
    if (matching.length === 0) {
      return { wrong: `failed to get node address from cloud provider that matches ip: ${ip}` };
    }
    chosen.push(...matching);
  }
  const taken = new Set(chosen.map(({ type }) => type));
  return { addresses: [...chosen, ...cloud.filter(({ type }) => !taken.has(type))] };
}
