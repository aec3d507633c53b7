// Firewalls, with rules as the API shows them.

import { fields, integer, listOf, oneOf, optional, type Read, text } from "#ccm/testing";

const count = () => integer(1, Number.MAX_SAFE_INTEGER);

const ends = fields({
  addresses: optional(listOf(text())),
  tags: optional(listOf(text())),
  droplet_ids: optional(listOf(count())),
  load_balancer_uids: optional(listOf(text())),
  kubernetes_ids: optional(listOf(text())),
});
const action = optional(oneOf(["allow", "deny"]));
const traffic = { protocol: oneOf(["tcp", "udp", "icmp"]), ports: text(""), action };

export const firewallLists = {
  inbound_rules: listOf(fields({ ...traffic, sources: ends })),
  outbound_rules: listOf(fields({ ...traffic, destinations: ends })),
  droplet_ids: listOf(count()),
  tags: listOf(text()),
};
export const firewallShape = fields({ name: text(), ...firewallLists });

export type FirewallRequest = Read<typeof firewallShape>;

export interface Firewall extends FirewallRequest {
  readonly id: string;
  readonly status: "waiting" | "succeeded" | "failed";
  readonly created_at: string;
}
