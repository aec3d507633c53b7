// The load balancer part of a Service's status: the ingress list for a provider's addresses, and whether two lists are
// equivalent. Pure.

import { defined } from "../../../core/defined.ts";
import { parseIp } from "../../../core/ip.ts";
import type { LoadBalancerIngress } from "../../../kube/objects.ts";
import type { Publication } from "../../../provider/load-balancers.ts";

type IngressPorts = NonNullable<LoadBalancerIngress["ports"]>;
type Ingresses = readonly LoadBalancerIngress[] | undefined;

/** The whole list. Ports are omitted, because a migration from or to the Go manager would otherwise write every status. */
export function ingressOf(
  publication: Extract<Publication, { kind: "addresses" }>,
): readonly LoadBalancerIngress[] {
  return publication.addresses.map(({ ip, hostname, ipMode }) =>
    // Kubernetes rejects a mode without an address.
    defined({ ip, hostname, ipMode: ip === undefined ? undefined : ipMode }),
  );
}

function portTexts(ports: IngressPorts | undefined): readonly string[] {
  return (ports ?? []).map(({ port, protocol, error }) => JSON.stringify([port, protocol, error ?? ""]));
}

function isSameText(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((text, index) => text === b[index]);
}

/** The API server defaults the mode to VIP, so it is only absent on older ones. */
function addressText({ ip = "", hostname = "", ipMode }: LoadBalancerIngress): string {
  return JSON.stringify([parseIp(ip, "sloppy") ?? ip, hostname, ipMode ?? (ip === "" ? "" : "VIP")]);
}

function meaningOf(ingress: LoadBalancerIngress): string {
  return JSON.stringify([addressText(ingress), portTexts(ingress.ports).toSorted()]);
}

/** Whether both have addresses of the same kind, and share none. */
export function isOtherIngress(
  a: readonly LoadBalancerIngress[],
  b: readonly LoadBalancerIngress[],
): boolean {
  const ips = [a, b].map((list) =>
    list.flatMap(({ ip }) => (ip === undefined ? [] : (parseIp(ip, "sloppy") ?? ip))),
  );
  const hostnames = [a, b].map((list) => list.flatMap(({ hostname }) => hostname ?? []));
  return [ips, hostnames].some(isDisjoint) && [ips, hostnames].every((lists) => !haveCommon(lists));
}

type Lists = readonly (readonly unknown[])[];

const haveCommon = ([one = [], other = []]: Lists): boolean => one.some((text) => other.includes(text));

const isDisjoint = (lists: Lists): boolean => lists.every(({ length }) => length > 0) && !haveCommon(lists);

/** Ignores the order, the notation and the repetition of addresses. An absent mode equals VIP. */
export function isSameIngress(a: Ingresses, b: Ingresses): boolean {
  const textsOf = (list: Ingresses) => [...new Set((list ?? []).map(meaningOf))].toSorted();
  return isSameText(textsOf(a), textsOf(b));
}
