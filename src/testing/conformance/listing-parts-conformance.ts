// The contract of a provider whose load balancers are listed in several parts: each is listed by one part, and a part that fails holds
// up only its own load balancers.

import { expect, test } from "bun:test";
import type { Fields } from "../../core/settings.ts";
import { CloudError } from "../../provider/errors.ts";
import { listingPartsOf } from "../../provider/listing-parts.ts";
import type {
  DesiredLoadBalancer,
  ListingPart,
  ObservedLoadBalancer,
} from "../../provider/load-balancers.ts";
import { converge } from "./converge.ts";
import type { SavedFacts } from "./converge-groups.ts";
import { collect, failureOf, type Lab } from "./lab.ts";
import type { AnyCloud, Harness } from "./simulated-cloud.ts";
import { labWithTargets } from "./targets.ts";

type Part = ListingPart<ObservedLoadBalancer>;
type Desired = DesiredLoadBalancer<Fields>;

/** Called inside the suite of load balancers. `later` is a Service that has no load balancer yet. */
export function listingPartsConformance(harness: Harness, first: readonly Desired[], later: Desired): void {
  test("lists each load balancer in one part, the one that `partOf` names", async () => {
    const { lab, balancers, parts } = await settled(harness, first);
    const listed = new Map<string, string[]>();
    for (const part of parts) {
      for (const { group, ownership } of await listPart(lab, part))
        if (ownership === "ours") listed.set(group, [...(listed.get(group) ?? []), part.name]);
    }
    expect(listed.size).toBeGreaterThan(0);
    for (const member of first) {
      const group = balancers.groupOf?.(member) ?? member.owner.uid;
      const named = balancers.partOf?.(member);
      expect(listed.get(group)).toEqual([named ?? expect.any(String)]);
    }
  });

  test("holds up only the load balancers of a part that fails", async () => {
    const { lab, savedFacts, balancers, parts } = await settled(harness, first);
    const addresses = new Map<Part, readonly string[]>();
    const listings = new Map<Part, readonly ObservedLoadBalancer[]>();
    for (const part of parts) {
      const before = lab.faulty.requests.length;
      listings.set(part, await listPart(lab, part));
      addresses.set(
        part,
        lab.faulty.requests.slice(before).map(({ url }) => url),
      );
    }
    const originsOf = (part: Part) => (addresses.get(part) ?? []).map((url) => new URL(url).origin);
    const areSeparate = new Set(parts.flatMap((part) => [...new Set(originsOf(part))])).size === parts.length;
    for (const failing of parts) {
      // Where each part has an origin, all of it fails; otherwise its listing.
      const isFailing = (url: string): boolean =>
        areSeparate
          ? originsOf(failing).includes(new URL(url).origin)
          : addresses.get(failing)?.includes(url) === true;
      lab.faulty.failWhere(({ url }) => isFailing(url));
      expect(await failureOf(listPart(lab, failing))).toBeInstanceOf(CloudError);
      for (const part of parts.filter((one) => one !== failing)) {
        const listed = await listPart(lab, part);
        expect(listed).toEqual([...(listings.get(part) ?? [])]);
        for (const member of [...first, later].filter((one) => balancers.partOf?.(one) === part.name)) {
          const steps = await planAlone(
            lab,
            { ...member, facts: savedFacts.get(member.owner.uid) ?? {} },
            listed,
          );
          expect(steps > 0).toBe(member === later);
        }
      }
      lab.faulty.failWhere(() => false);
    }
  });
}

async function settled(harness: Harness, desired: readonly Desired[]) {
  const lab = labWithTargets(harness);
  const savedFacts: SavedFacts = new Map();
  await converge({ lab, savedFacts }, desired);
  const { loadBalancers } = lab.cloud;
  if (loadBalancers === undefined) throw new Error("This provider has no load balancers.");
  if (loadBalancers.readsLag !== undefined) await lab.clock.advance(loadBalancers.readsLag);
  return { lab, savedFacts, balancers: loadBalancers, parts: listingPartsOf(loadBalancers) };
}

function listPart(lab: Lab, part: Part): Promise<readonly ObservedLoadBalancer[]> {
  return lab.run(async (call) => (await collect(part.list(call))).flat());
}

/** The number of steps that are planned for one Service. Fails if anything that the plan needs fails. */
async function planAlone(
  lab: Lab,
  member: Desired,
  listed: readonly ObservedLoadBalancer[],
): Promise<number> {
  const { loadBalancers: balancers } = lab.cloud as Required<Pick<AnyCloud, "loadBalancers">>;
  const group = balancers?.groupOf?.(member) ?? member.owner.uid;
  const found = listed.find((balancer) => balancer.group === group && balancer.ownership === "ours");
  const observed = await lab.run(async (call) =>
    balancers?.observe === undefined ? found : balancers.observe([member], found, call),
  );
  if (observed !== undefined && "isUnknown" in observed) throw new Error("The lookup has no answer.");
  const prefetched = await lab.run(async (call) => balancers?.prefetch?.([member], call));
  const context = { prefetched, orphans: [], duplicates: [] };
  return balancers?.plan([member], observed, context).steps.length ?? 0;
}
