// The place that annotations request for an existing load balancer, and that Octavia can no longer change. Pure.

import { applicable, cidrContains, type ProviderProblem, parseCidr, warningProblem } from "#ccm";
import { keyOf } from "./annotations.ts";
import { type Desired, type Floating, isOwner, type Observed, type Prefetched } from "./balancer.ts";
import { isOwnFloating } from "./names.ts";
import type { Placement } from "./settings.ts";

const ofSubnets = ["floating-subnet-id", "floating-subnet", "floating-subnet-tags"] as const;
type Name = "class" | "network-id" | "subnet-id" | "floating-network-id" | (typeof ofSubnets)[number];

const ignored = (name: Name, text: string): ProviderProblem =>
  warningProblem("UnsupportedByCloud", `${keyOf(name)} has no effect: ${text}`, keyOf(name));

/** The annotations that request a floating IP from another place. An invisible subnet may contain it. */
function elsewhere(
  { network, subnets }: Floating,
  { floating_network_id, floating_ip_address: address }: NonNullable<Observed["floatingIP"]>,
  known: Prefetched["subnets"],
): readonly Name[] {
  const isIn = (id: string) => {
    const range = parseCidr(known.find((one) => one.id === id)?.cidr ?? "");
    return range === undefined || cidrContains(range, address);
  };
  if (floating_network_id !== network) return ["class", "floating-network-id"];
  return subnets.length === 0 || subnets.some(isIn) ? [] : ["class", ...ofSubnets];
}

/** `floating`: the place from which a new floating IP would come. */
export function keptPlaceProblems(
  { settings, requestedAddress }: Desired,
  observed: Observed,
  ofClass: Partial<Placement>,
  floating: Floating | undefined,
  { subnets }: Pick<Prefetched, "subnets">,
): readonly ProviderProblem[] {
  const { balancer, floatingIP } = observed;
  const { name, vip_network_id: network, vip_subnet_id: subnet } = balancer;
  if (!isOwner(observed)) return [];
  const isOther = (which: "network-id" | "subnet-id", has: string | null | undefined) =>
    Boolean(has) && settings[which] !== undefined && (ofClass[which] ?? settings[which]) !== has;
  const vip = (where: string) =>
    `the virtual IP of the load balancer ${name} is in ${where}, and Octavia cannot move it. Delete the Service and create it again, or correct the annotation.`;
  const isNew = floating !== undefined && requestedAddress === undefined;
  const names =
    isNew && floatingIP !== undefined && isOwnFloating(floatingIP)
      ? elsewhere(floating, floatingIP, subnets)
      : [];
  const written = names.find((one) => settings[one] !== undefined);
  const stays = `the load balancer ${name} keeps its floating IP ${floatingIP?.floating_ip_address}, which is in another network or subnet. It gets a new one when that is detached. Detach it, or correct the annotation.`;
  return applicable(
    isOther("network-id", network) && ignored("network-id", vip(`the network ${network}`)),
    isOther("subnet-id", subnet) && ignored("subnet-id", vip(`the subnet ${subnet}`)),
    written !== undefined && ignored(written, stays),
  );
}
