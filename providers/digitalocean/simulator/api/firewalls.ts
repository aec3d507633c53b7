// Operations of firewalls.

import { type Operations, partOperations, Refused, removal } from "#ccm/testing";
import type { Account } from "../state/account.ts";
import { type Firewall, type FirewallRequest, firewallLists, firewallShape } from "../state/firewalls.ts";
import { reads } from "./pages.ts";

/** The API shows all ports as "0". */
function asShown<T extends { readonly ports: string }>(rules: readonly T[]): readonly T[] {
  return rules.map((rule) => ({ ...rule, ports: ["all", ""].includes(rule.ports) ? "0" : rule.ports }));
}

function view({ inbound_rules, outbound_rules, ...firewall }: Firewall) {
  const rules = { inbound_rules: asShown(inbound_rules), outbound_rules: asShown(outbound_rules) };
  return { ...firewall, ...rules, pending_changes: [] };
}

/** Throws unless this firewall can exist. */
function check({ firewalls, droplets, tags }: Account, firewall: FirewallRequest, id?: string): void {
  const { name, inbound_rules, outbound_rules, droplet_ids } = firewall;
  if (inbound_rules.length + outbound_rules.length === 0)
    throw new Refused(422, "at least one rule is required");
  if (firewalls.list().some((other) => other.name === name && other.id !== id))
    throw new Refused(409, "duplicate name");
  const unknown = firewall.tags.find((tag) => tags.get(tag) === undefined);
  if (unknown !== undefined) throw new Refused(422, `tag ${unknown} does not exist`);
  for (const droplet of droplet_ids) droplets.withID(droplet);
}

export function firewallOperations(account: Account): Operations {
  const { firewalls, ids } = account;
  const path = "/v2/firewalls";
  const shown = (firewall: Firewall) => ({ firewall: view(firewall) });
  const { droplet_ids, tags, ...rules } = firewallLists;
  const parts = { droplets: { droplet_ids }, tags: { tags }, rules };
  return {
    ...reads("firewalls", "firewall", { records: firewalls, view }),
    [`POST ${path}`]: ({ body }) => {
      const firewall = firewallShape(body, "");
      check(account, firewall);
      const own = { id: ids.uuid(), status: "succeeded", created_at: ids.now } as const;
      return { status: 202, body: shown(firewalls.put({ ...firewall, ...own })) };
    },
    [`PUT ${path}/{id}`]: ({ id, body }) => {
      const before = firewalls.withID(id);
      const firewall = firewallShape(body, "");
      check(account, firewall, id);
      return { status: 200, body: shown(firewalls.put({ ...before, ...firewall })) };
    },
    ...removal(path, firewalls),
    ...partOperations(path, firewalls, parts, (after) => {
      check(account, after, after.id);
      firewalls.put(after);
    }),
  };
}
