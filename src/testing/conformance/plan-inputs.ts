// The inputs of a plan: the Services with their facts and targets, listed objects, adoptable objects, and prefetched data.

import { withOwners } from "../../cloud/inventory/balancer-owners.ts";
import { prefetchKeyOf } from "../../cloud/inventory/shared-prefetch.ts";
import { defaultLoadBalancerName } from "../../controllers/service/desired/to-desired.ts";
import type { RefusedTargets } from "../../controllers/service/state/refused-targets.ts";
import { chooseTargets } from "../../controllers/service/targets/choose-targets.ts";
import type { ServiceUID } from "../../core/brand.ts";
import { defined } from "../../core/defined.ts";
import type { Fields } from "../../core/settings.ts";
import type { DesiredLoadBalancer, ObservedLoadBalancer } from "../../provider/load-balancers.ts";
import type { FactChanges, Facts } from "../../provider/plan.ts";
import type { Lab } from "./lab.ts";

export type Balancers = Lab["loadBalancers"];
export type Desired = DesiredLoadBalancer<Fields>;

/** Returns everything that the provider lists. */
export async function listBalancers(lab: Lab): Promise<readonly ObservedLoadBalancer[]> {
  const all = await lab.list((call) => lab.loadBalancers.list(call));
  const { loadBalancers, services, savedFacts } = lab;
  return withOwners(all, loadBalancers.ownKeys, () =>
    [...services].map(([uid, owner]) => ({
      owner,
      defaultName: defaultLoadBalancerName(uid),
      facts: savedFacts.get(uid) ?? {},
      createdAt: "",
      hasFinalizer: true,
      addresses: [],
      hasHostname: false,
    })),
  );
}

/** Returns what to prefetch for a plan. Services with the same key share it. */
export function sharedPrefetch(lab: Lab): (desired: Desired | undefined) => Promise<unknown> {
  const byKey = new Map<string, Promise<unknown>>();
  return (desired) => {
    const key = prefetchKeyOf(lab.loadBalancers, desired) ?? "";
    const value = byKey.get(key) ?? lab.run(async (call) => lab.loadBalancers.prefetch?.(key, call));
    byKey.set(key, value);
    return value;
  };
}

/** The desired load balancers with their facts, by Service. */
export function withFacts(
  all: readonly Desired[],
  { savedFacts, services }: Lab,
): ReadonlyMap<ServiceUID, Desired> {
  return new Map(
    all.map((desired) => {
      const { uid } = desired.owner;
      services.set(uid, desired.owner);
      return [uid, { ...desired, facts: savedFacts.get(uid) ?? {} }];
    }),
  );
}

/** For a Service without a load balancer, the unmarked load balancer that it requests to adopt. */
export function adoptableOf(
  balancers: Balancers,
  desired: Desired | undefined,
  listed: readonly ObservedLoadBalancer[],
): ObservedLoadBalancer | undefined {
  if (desired === undefined || desired.ending !== undefined) return undefined;
  const matches = listed.filter(
    (balancer) =>
      balancer.ownership === "unmarked" && (balancers.adopts?.(desired, balancer) ?? false) !== false,
  );
  if (matches.length > 1) throw new Error(`${matches.length} load balancers match an adoption, expected 1.`);
  return matches[0];
}

/** Adds the targets that the framework passes to a plan: reachable, within the cloud's limit, and not rejected by the cloud. */
export function withChosenTargets(
  balancers: Balancers,
  desired: Desired,
  observed: ObservedLoadBalancer | undefined,
  { refused, now }: { readonly refused: Pick<RefusedTargets, "withhold">; readonly now: number },
): Desired {
  if (desired.ending !== undefined) return { ...desired, targets: [] };
  const { targets: candidates, ...rest } = desired;
  const reach = balancers.reaches?.(rest, observed);
  const cloudLimit = balancers.targetLimit?.(rest, observed);
  const { targets } = chooseTargets(candidates, defined({ policy: "all" as const, cloudLimit, reach }));
  return { ...desired, targets: refused.withhold(targets, now).targets };
}

/** Adds the other Services that use the same load balancer. `desiredOf`: undefined for an unknown Service. */
export function withSharers(
  desired: Desired,
  observed: ObservedLoadBalancer | undefined,
  listed: readonly ObservedLoadBalancer[],
  desiredOf: (uid: ServiceUID, view: ObservedLoadBalancer) => Desired | undefined,
): Desired {
  const { uid } = desired.owner;
  // A load balancer that can be joined shows that it is shared, although an incorrect listing lacks its other Services.
  const views = listed.filter(({ name, owners }) => name === observed?.name && !owners.includes(uid));
  if (views.length === 0 || observed?.ownership !== "ours") return desired;
  const sharers = views.flatMap((view) =>
    view.ownership === "ours" ? view.owners.map((one) => [one, desiredOf(one, view)] as const) : [],
  );
  return { ...desired, sharers: new Map(sharers) };
}

export function saveFacts({ savedFacts }: Lab, uid: ServiceUID, changes: FactChanges | undefined): void {
  const merged = Object.entries({ ...savedFacts.get(uid), ...changes });
  savedFacts.set(uid, Object.fromEntries(merged.filter(([, fact]) => fact !== undefined)) as Facts);
}
