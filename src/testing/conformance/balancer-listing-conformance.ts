// The contract of a provider's load balancers while listings are wrong: empty, short, old or repeated. A change that was planned
// from such a listing is refused, or what it made is listed with its mark, so that the deletion of the Services removes it. And the
// contract of listings in several parts.

import { expect, test } from "bun:test";
import { CloudError } from "../../provider/errors.ts";
import { listingPartsOf } from "../../provider/listing-parts.ts";
import type { ListingPart, ObservedLoadBalancer } from "../../provider/load-balancers.ts";
import { actOnListing, converge } from "./converge.ts";
import { contextOf, type Desired, groupOf, listBalancers, prefetchFor } from "./converge-groups.ts";
import { labWithTargets } from "./desired.ts";
import { failureOf, type Lab } from "./lab.ts";
import type { Harness } from "./simulated-cloud.ts";

type Part = ListingPart<ObservedLoadBalancer>;

/** Two Services: as they are created, as they are changed, and as they are deleted. */
export interface Phases {
  readonly first: readonly Desired[];
  readonly second: readonly Desired[];
  readonly gone: readonly Desired[];
}

/** A lab after these phases, and the state of its cloud before them. */
async function settledLab(harness: Harness, phases: readonly (readonly Desired[])[]) {
  const lab = labWithTargets(harness);
  const before = lab.state;
  for (const desired of phases) await converge(lab, desired);
  return { lab, before };
}

/** Called inside the suite of load balancers. */
export function balancerListingConformance(harness: Harness, { first, second, gone }: Phases): void {
  const settled = (...phases: readonly (readonly Desired[])[]) => settledLab(harness, phases);

  test.each([
    ["is empty", () => []],
    ["lacks one load balancer", (listed: readonly ObservedLoadBalancer[]) => listed.slice(1)],
  ] as const)("leaves nothing behind after it acted on a listing that %s", async (_, wrong) => {
    const { lab, before } = await settled(first);
    const listed = await listBalancers(lab);
    const state = lab.state;
    await actOnListing(lab, first, wrong(listed));
    // Whatever it made a second time must be visible.
    if (lab.state !== state) {
      expect((await listBalancers(lab)).length).toBeGreaterThan(listed.length);
    }
    await converge(lab, gone);
    expect(lab.state).toBe(before);
  });

  test("leaves nothing behind after a lost answer and an empty listing", async () => {
    const { lab, before } = await settled();
    const empty = (await listBalancers(lab)).filter(({ ownership }) => ownership === "ours");
    expect(empty).toEqual([]);
    lab.faulty.failAt(0, "lost-answer");
    await actOnListing(lab, first, empty);
    await actOnListing(lab, first, empty);
    await converge(lab, first);
    await converge(lab, gone);
    expect(lab.state).toBe(before);
  });

  test("reaches the same end state after it acted on a listing from before the last change", async () => {
    const { lab } = await settled(first);
    const old = await listBalancers(lab);
    await converge(lab, second);
    const state = lab.state;
    await actOnListing(lab, second, old);
    await converge(lab, second);
    expect(lab.state).toBe(state);
  });

  test("deletes nothing else when a listing still shows what was deleted", async () => {
    const { lab, before } = await settled(first);
    const old = await listBalancers(lab);
    await converge(lab, gone);
    await actOnListing(lab, gone, old);
    expect(lab.state).toBe(before);
  });

  test("reaches the same end state after it acted on a listing that repeats its entries", async () => {
    const { lab } = await settled(first);
    const listed = await listBalancers(lab);
    await actOnListing(
      lab,
      second,
      listed.flatMap((balancer) => [balancer, balancer]),
    );
    await converge(lab, second);
    expect(lab.state).toBe((await settled(first, second)).lab.state);
  });

  test("fails a listing of load balancers that lacks an entry which the cloud counts", async () => {
    const { lab } = await settled(first);
    const { shortenNextBalancerPage } = lab.simulated;
    if (shortenNextBalancerPage === undefined) return;
    shortenNextBalancerPage();
    expect(await failureOf(listBalancers(lab))).toBeInstanceOf(CloudError);
  });
}

/**
 * Each load balancer is listed by one part, and a part that fails holds up only its own load balancers. Called inside the suite of load
 * balancers. `later` is a Service that has no load balancer yet.
 */
export function listingPartsConformance(harness: Harness, first: readonly Desired[], later: Desired): void {
  test("lists each load balancer in one part, the one that `partOf` names", async () => {
    const { lab, balancers, parts } = await settledParts(harness, first);
    const listed = new Map<string, string[]>();
    for (const part of parts) {
      for (const { group, ownership } of await listPart(lab, part))
        if (ownership === "ours") listed.set(group, [...(listed.get(group) ?? []), part.name]);
    }
    expect(listed.size).toBeGreaterThan(0);
    for (const member of first) {
      const group = groupOf(balancers, member);
      const named = balancers.partOf?.(member);
      expect(listed.get(group)).toEqual([named ?? expect.any(String)]);
    }
  });

  test("holds up only the load balancers of a part that fails", async () => {
    const { lab, balancers, parts } = await settledParts(harness, first);
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
            { ...member, facts: lab.savedFacts.get(member.owner.uid) ?? {} },
            listed,
          );
          expect(steps > 0).toBe(member === later);
        }
      }
      lab.faulty.failWhere(() => false);
    }
  });
}

/** When all changes are shown. */
async function settledParts(harness: Harness, desired: readonly Desired[]) {
  const { lab } = await settledLab(harness, [desired]);
  const { loadBalancers } = lab;
  if (loadBalancers.readsLag !== undefined) await lab.clock.advance(loadBalancers.readsLag);
  return { lab, balancers: loadBalancers, parts: listingPartsOf(loadBalancers) };
}

function listPart(lab: Lab, part: Part): Promise<readonly ObservedLoadBalancer[]> {
  return lab.list((call) => part.list(call));
}

/** The number of steps that are planned for one Service. Fails if anything that the plan needs fails. */
async function planAlone(
  lab: Lab,
  member: Desired,
  listed: readonly ObservedLoadBalancer[],
): Promise<number> {
  const { loadBalancers: balancers } = lab;
  const group = groupOf(balancers, member);
  const found = listed.find((balancer) => balancer.group === group && balancer.ownership === "ours");
  const observed = await lab.run(async (call) =>
    balancers.observe === undefined ? found : balancers.observe([member], found, call),
  );
  if (observed !== undefined && "isUnknown" in observed) throw new Error("The lookup has no answer.");
  const context = contextOf(await prefetchFor(lab, [member]));
  return balancers.plan([member], observed, context).steps.length;
}
