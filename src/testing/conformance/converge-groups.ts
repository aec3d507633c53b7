// What `converge` starts from: the groups of the Services, what is listed, what can be adopted, and the saved facts.

import type { ServiceUID } from "../../core/brand.ts";
import type { Fields } from "../../core/settings.ts";
import { listingPartsOf } from "../../provider/listing-parts.ts";
import type { DesiredLoadBalancer, ObservedLoadBalancer } from "../../provider/load-balancers.ts";
import type { FactChanges, Facts } from "../../provider/plan.ts";
import { collect, type Lab } from "./lab.ts";
import type { AnyCloud } from "./simulated-cloud.ts";

export type Desired = DesiredLoadBalancer<Fields>;
export type Balancers = NonNullable<AnyCloud["loadBalancers"]>;

/** The facts of each Service, as annotations keep them: they outlive the provider's process. */
export type SavedFacts = Map<ServiceUID, Facts>;

/** Everything that the provider lists. */
export async function listBalancers(lab: Lab): Promise<readonly ObservedLoadBalancer[]> {
  const { loadBalancers } = lab.cloud;
  if (loadBalancers === undefined) throw new Error("This provider has no load balancers.");
  return lab.run(async (call) => {
    const parts = [];
    for (const part of listingPartsOf(loadBalancers)) parts.push(...(await collect(part.list(call))));
    return parts.flat();
  });
}

/** The desired load balancers by group, with their facts. */
export function groupMembers(
  balancers: Balancers,
  all: readonly Desired[],
  savedFacts: SavedFacts,
): Map<string, readonly Desired[]> {
  const groups = new Map<string, readonly Desired[]>();
  for (const desired of all) {
    const member = { ...desired, facts: savedFacts.get(desired.owner.uid) ?? {} };
    const group = balancers.groupOf?.(member) ?? desired.owner.uid;
    groups.set(group, [...(groups.get(group) ?? []), member]);
  }
  return groups;
}

/** For a group without a load balancer: the unmarked one that a member requests to adopt. */
export function adoptableOf(
  balancers: Balancers,
  members: readonly Desired[],
  listed: readonly ObservedLoadBalancer[],
): ObservedLoadBalancer | undefined {
  const matches = listed.filter(
    (balancer) =>
      balancer.ownership === "unmarked" &&
      members.some((member) => member.ending === undefined && balancers.adopts?.(member, balancer)),
  );
  if (matches.length > 1) throw new Error(`${matches.length} load balancers match an adoption, expected 1.`);
  return matches[0];
}

export function saveFacts(savedFacts: SavedFacts, changes: FactChanges | undefined): void {
  for (const [uid, facts] of changes ?? []) {
    const merged = Object.entries({ ...savedFacts.get(uid), ...facts });
    savedFacts.set(uid, Object.fromEntries(merged.filter(([, fact]) => fact !== undefined)) as Facts);
  }
}
