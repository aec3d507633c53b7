// The load balancer part of a Service's status: what is to be written there, and whether what is there means the same.
// Who may write it was decided by the provider.

import { parseIp } from "../../../core/ip.ts";
import type { LoadBalancerIngress } from "../../../kube/objects.ts";
import type { BalancerAddress, Publication } from "../../../provider/load-balancers.ts";

type IngressDeps = NonNullable<LoadBalancerIngress["ports"]>;
type Ingresses = readonly LoadBalancerIngress[] | undefined;

/** As the provider declares it, never guessed; Kubernetes refuses a mode without an address. */
function ipModeOf({ ip, ipMode }: BalancerAddress) {
  return ip === undefined || ipMode === undefined ? {} : { ipMode };
}

/** The whole list to be written. Ports are never shown: a take-over would write every status once, on both ways. */
export function ingressOf(
  publication: Extract<Publication, { kind: "addresses" }>,
): readonly LoadBalancerIngress[] {
  return publication.addresses.map((address) => ({
    ...(address.ip !== undefined && { ip: address.ip }),
    ...(address.hostname !== undefined && { hostname: address.hostname }),
    ...ipModeOf(address),
  }));
}

function portTexts(ports: IngressDeps | undefined): readonly string[] {
  return (ports ?? []).map(({ port, protocol, error }) => JSON.stringify([port, protocol, error ?? ""]));
}

function isSameText(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((text, index) => text === b[index]);
}

/** The server fills in VIP for every address, so an absent mode only comes from an older one. */
function addressText({ ip = "", hostname = "", ipMode }: LoadBalancerIngress): string {
  return JSON.stringify([parseIp(ip, "sloppy") ?? ip, hostname, ipMode ?? (ip === "" ? "" : "VIP")]);
}

function meaningOf(ingress: LoadBalancerIngress): string {
  return JSON.stringify([addressText(ingress), portTexts(ingress.ports).toSorted()]);
}

/** Whatever the order; an absent mode is VIP, and addresses count by value. */
export function isSameIngress(a: Ingresses, b: Ingresses): boolean {
  return isSameText((a ?? []).map(meaningOf).toSorted(), (b ?? []).map(meaningOf).toSorted());
}
