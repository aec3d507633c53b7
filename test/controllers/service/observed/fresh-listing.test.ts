import { expect, test } from "bun:test";
import { EvidenceUpdates } from "../../../../src/controllers/service/observed/evidence-updates.ts";
import { FreshListing } from "../../../../src/controllers/service/observed/fresh-listing.ts";
import { isDeletionSeen } from "../../../../src/controllers/service/queue/relevant-change.ts";
import { GroupStates } from "../../../../src/controllers/service/state/group-states.ts";
import { ServiceStates } from "../../../../src/controllers/service/state/service-states.ts";
import type { Service } from "../../../../src/kube/objects.ts";
import { VirtualClock } from "../../../../src/testing/virtual-time/virtual-clock.ts";

test("a listing that began in the moment of the last change is neither planned on nor a proof of absence", () => {
  const listing = {
    latest: { items: [], beganAt: 1, endedAt: 1, pages: 1, version: 1 },
    failure: undefined,
  };
  const settings = { acceptsAge: 60_000 };
  const services = { list: () => [] };
  const deps = { listing, balancers: {}, clock: new VirtualClock(), settings, services } as never;
  const groups = new GroupStates(new ServiceStates());
  const fresh = new FreshListing(deps, groups, { of: () => ({ desired: {} }) } as never);
  const updates = new EvidenceUpdates(deps, groups, fresh.index);
  const state = groups.of("web");
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
  const before = {
    metadata: { name: "web", namespace: "default", uid: "web" },
    spec: { type: "LoadBalancer" },
  } as Service;
  expect([isDeletionSeen(before, {}), isDeletionSeen(before, { isFromList: true })]).toEqual([true, false]);
});
