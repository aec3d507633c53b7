import { describe, expect, test } from "bun:test";
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

describe("what was observed around a change", () => {
  const minute = 60_000;
  const balancer = { group: "web", name: "web", owners: [], ownership: "ours", state: "ready" } as const;

  function setUp() {
    const clock = new VirtualClock();
    const latest = { items: [balancer], beganAt: 0, endedAt: 0, pages: 1, version: 1 };
    const listing = { latest, failure: undefined, request: () => undefined };
    const deps = { listing, balancers: { rereadsListed: true }, clock, settings: { acceptsAge: 5 * minute } };
    const groups = new GroupStates(new ServiceStates());
    const fresh = new FreshListing(deps as never, groups, { of: () => ({ desired: {} }) } as never);
    const state = groups.of("web");
    const change = (failed?: "update") => {
      const kept = { balancer, listedAt: listing.latest.beganAt, outdated: ["targets"] };
      const began = { change: "update", steps: 1, isCreation: false, kept } as const;
      groups.commit(state, { kind: "changeBegan", ...began });
      groups.commit(state, { kind: "changeSent", at: clock.monotonic(), failed });
    };
    return { clock, listing, groups, fresh, state, change };
  }
  const wait = async ({ clock }: ReturnType<typeof setUp>, time: number) => clock.advance(time as never);

  test("is read again in place of a listing, until it is five minutes old", async () => {
    const h = setUp();
    await wait(h, 2 * minute);
    h.change();
    expect(h.fresh.find(h.state, [])).toMatchObject({ balancer: { ...balancer, outdated: ["targets"] } });
    await wait(h, 3 * minute + 1);
    expect(h.fresh.find(h.state, [])).toBe("not yet");
  });

  test("gives way to a listing that began after the change", async () => {
    const h = setUp();
    await wait(h, minute);
    h.change();
    const beganAt = h.clock.monotonic() + 1;
    h.listing.latest = { ...h.listing.latest, beganAt, version: 2 };
    expect(h.fresh.find(h.state, [])).toMatchObject({ balancer, beganAt });
  });

  test.each([
    ["the change failed", (h: ReturnType<typeof setUp>) => h.change("update")],
    ["another replica may have led", (h: ReturnType<typeof setUp>) => h.fresh.expire()],
    [
      "the plan waits for the cloud",
      (h: ReturnType<typeof setUp>) =>
        h.groups.commit(h.state, { kind: "outdated", at: h.clock.monotonic() }),
    ],
    ["a newer listing is requested", (h: ReturnType<typeof setUp>) => void h.fresh.request(h.state)],
  ])("is not used when %s", async (_, happens) => {
    const h = setUp();
    await wait(h, minute);
    h.change();
    happens(h);
    expect(h.fresh.find(h.state, [])).toBe("not yet");
  });

  test("is read again with all that the listing shows when a user has changed the Service", async () => {
    const h = setUp();
    h.change();
    h.fresh.noteEdit(h.state);
    expect(h.fresh.find(h.state, [])).toMatchObject({ balancer: { outdated: ["targets"] } });
    await wait(h, minute);
    h.fresh.noteEdit(h.state);
    expect(h.fresh.find(h.state, [])).toMatchObject({ balancer: { outdated: ["targets", "listed"] } });
  });
});
