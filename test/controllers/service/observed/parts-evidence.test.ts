import { expect, test } from "bun:test";
import { EvidenceUpdates } from "../../../../src/controllers/service/observed/evidence-updates.ts";
import { FreshListing } from "../../../../src/controllers/service/observed/fresh-listing.ts";
import { GroupStates } from "../../../../src/controllers/service/state/group-states.ts";
import { ServiceStates } from "../../../../src/controllers/service/state/service-states.ts";
import type { Service } from "../../../../src/kube/objects.ts";
import { VirtualClock } from "../../../../src/testing/virtual-time/virtual-clock.ts";

// What one of two parts of a cloud proves about a group, without a reconcile of it.

const web = { metadata: { name: "web", namespace: "default", uid: "web" } } as Service;
const shown = { group: "web", name: "b1", owners: ["web"], ownership: "ours", state: "ready" };

function setUp(listed: Readonly<Record<"near" | "far", readonly object[]>>) {
  const parts = Object.entries(listed).map(([name, items]) => ({
    name,
    listing: { latest: { items, beganAt: 1, endedAt: 1, pages: 1, version: 1 }, failure: undefined },
  }));
  const listing = { parts, latest: { items: Object.values(listed).flat() } };
  const balancers = { partOf: () => "near" };
  const deps = { listing, balancers, clock: new VirtualClock() } as never;
  const groups = new GroupStates(new ServiceStates());
  const fresh = new FreshListing(deps, groups, { of: () => ({ desired: {} }) } as never);
  return { groups, fresh, updates: new EvidenceUpdates(deps, groups, fresh.index), state: groups.of("web") };
}

test("remembers the part that listed a load balancer, also when it no longer lists it", () => {
  const { updates, state } = setUp({ near: [shown], far: [] });
  updates.update();
  expect([...state.evidence.places.with([])]).toEqual(["near"]);
});

test("a lookup proves an absence only in the part that the provider names, or that lists the load balancer", () => {
  const { fresh, groups, state } = setUp({ near: [], far: [shown] });
  groups.commit(state, { kind: "partsChosen", parts: new Set(["near"]) });
  expect(fresh.isLookupDefinite(state, [web], undefined)).toBe(true);
  expect(fresh.isLookupDefinite(state, [web], shown as never)).toBe(false);
  groups.commit(state, { kind: "partsChosen", parts: new Set(["near", "far"]) });
  expect(fresh.isLookupDefinite(state, [web], undefined)).toBe(false);
  groups.commit(state, { kind: "partsChosen", parts: new Set(["far"]) });
  expect(fresh.isLookupDefinite(state, [], shown as never)).toBe(true);
  expect(fresh.isLookupDefinite(state, [], undefined)).toBe(false);
});
