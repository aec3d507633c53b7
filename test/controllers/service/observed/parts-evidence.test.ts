import { expect, test } from "bun:test";
import { EvidenceUpdates } from "../../../../src/controllers/service/observed/evidence-updates.ts";
import { FreshListing } from "../../../../src/controllers/service/observed/fresh-listing.ts";
import { isDeletionSeen } from "../../../../src/controllers/service/queue/relevant-change.ts";
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
  const settings = { acceptsAge: 60_000 };
  const services = { list: () => [] };
  const deps = { listing, balancers, clock: new VirtualClock(), settings, services } as never;
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

test("a listing that began in the moment of the last change is neither planned on nor a proof of absence", () => {
  const { groups, fresh, updates, state } = setUp({ near: [], far: [] });
  const uid = "web" as never;
  groups.commit(state, { kind: "tracesFound", uid, certainty: "exists", isEnding: false });
  groups.commit(state, { kind: "outdated", at: 1 });
  updates.update();
  expect(fresh.find(state, [])).toBe("not yet");
  expect(state.evidence.get(uid)?.proofs).toEqual([]);
  groups.commit(state, { kind: "outdated", at: 0.5 });
  updates.noteAgain(state);
  expect(fresh.find(state, [])).toMatchObject({ balancer: undefined });
  expect(state.evidence.get(uid)?.proofs).toHaveLength(1);
});

test("the deletion of a Service without finalizers is seen in a watch event, and not in a new list", () => {
  const before = { ...web, spec: { type: "LoadBalancer" } } as Service;
  expect([isDeletionSeen(before, {}), isDeletionSeen(before, { isFromList: true })]).toEqual([true, false]);
});
