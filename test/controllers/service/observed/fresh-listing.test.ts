import { describe, expect, test } from "bun:test";
import { EvidenceUpdates } from "../../../../src/controllers/service/observed/evidence-updates.ts";
import { FreshListing } from "../../../../src/controllers/service/observed/fresh-listing.ts";
import { isDeletionSeen } from "../../../../src/controllers/service/queue/relevant-change.ts";
import { ServiceRecords } from "../../../../src/controllers/service/state/service-records.ts";
import { serviceUID } from "../../../../src/core/brand.ts";
import type { Service } from "../../../../src/kube/objects.ts";
import { VirtualClock } from "../../../../src/testing/virtual-time/virtual-clock.ts";

const web = {
  metadata: { name: "web", namespace: "default", uid: "web" },
  spec: { type: "LoadBalancer" },
  status: {},
} as Service;
const uid = serviceUID("web");

test("a listing that began in the moment of the last change is neither planned on nor a proof of absence", () => {
  const listing = {
    latest: { items: [], beganAt: 1, endedAt: 1, pages: 1, version: 1 },
    failure: undefined,
  };
  const settings = { acceptsAge: 60_000 };
  const services = { list: () => [] };
  const deps = { listing, balancers: {}, clock: new VirtualClock(), settings, services } as never;
  const records = new ServiceRecords();
  const fresh = new FreshListing(deps, { of: () => ({ desired: {} }) } as never);
  const updates = new EvidenceUpdates(deps, records, fresh.index);
  const state = records.manage(web);
  state.noteTraces("exists", false, 0);
  state.outdate(1);
  updates.update();
  expect(fresh.find(state, web)).toBe("not yet");
  expect(state.evidence.known?.proofs).toEqual([]);
  state.outdate(0.5);
  updates.noteAgain(state);
  expect(fresh.find(state, web)).toMatchObject({ balancer: undefined });
  expect(state.evidence.known?.proofs).toHaveLength(1);
});

test("the deletion of a Service without finalizers is seen in a watch event, and not in a new list", () => {
  expect([isDeletionSeen(web, {}), isDeletionSeen(web, { isFromList: true })]).toEqual([true, false]);
});

describe("what was observed around a change", () => {
  const minute = 60_000;
  const balancer = { name: "web", owners: [uid], ownership: "ours", state: "ready" } as const;

  function setUp() {
    const clock = new VirtualClock();
    const latest = { items: [balancer], beganAt: 0, endedAt: 0, pages: 1, version: 1 };
    const listing = { latest, failure: undefined, request: () => undefined };
    const deps = {
      listing,
      balancers: { recall: () => undefined },
      clock,
      settings: { acceptsAge: 5 * minute },
    };
    const records = new ServiceRecords();
    const fresh = new FreshListing(deps as never, { of: () => ({ desired: {} }) } as never);
    const state = records.manage(web);
    const change = (failed?: "update") => {
      const { beganAt } = listing.latest;
      const times = {
        listedAt: beganAt,
        markedAt: beganAt,
        readAt: beganAt,
        recalledUntil: beganAt + 60 * minute,
      };
      state.noteObservation(beganAt, { balancer, ...times, outdated: [] });
      const step = { do: "set", outdates: ["targets"] };
      const plan = { observed: balancer, duplicates: [], steps: [step], isLeaving: false };
      state.beginChange("update", plan);
      state.noteChangeSent(plan, clock.monotonic(), failed);
    };
    return { clock, listing, fresh, state, change };
  }
  const wait = async ({ clock }: ReturnType<typeof setUp>, time: number) => clock.advance(time as never);

  test("is read again in place of a listing, and with its mark once that is five minutes old", async () => {
    const h = setUp();
    await wait(h, 2 * minute);
    h.change();
    const known = { balancer: { ...balancer, outdated: ["targets"] }, read: "after listing" };
    expect(h.fresh.find(h.state, web)).toMatchObject(known);
    await wait(h, 3 * minute + 1);
    const old = { balancer: { ...balancer, outdated: ["targets", "mark"] }, read: ["targets"] };
    expect(h.fresh.find(h.state, web)).toMatchObject(old);
    expect(h.fresh.find(h.state, web, "after listing")).toBe("not yet");
  });

  test("is read again completely when the last reading in depth was an hour ago", async () => {
    const h = setUp();
    h.change();
    await wait(h, 61 * minute);
    const old = { balancer: { ...balancer, outdated: ["targets", "listed", "mark"] }, read: "all" };
    expect(h.fresh.find(h.state, web)).toMatchObject(old);
  });

  test("waits for no second listing when the requested one is old before the Service is reconciled", async () => {
    const h = setUp();
    await wait(h, minute);
    h.state.setListingRequest(h.clock.monotonic());
    h.listing.latest = { ...h.listing.latest, beganAt: h.clock.monotonic(), version: 2 };
    await wait(h, 6 * minute);
    expect(h.fresh.find(h.state, web)).toMatchObject({ read: "after listing" });
    expect(h.fresh.find(h.state, web, "after listing")).toMatchObject({ read: "after listing" });
    h.fresh.endRequest(h.state);
    expect(h.fresh.find(h.state, web, "after listing")).toBe("not yet");
  });

  test("gives way to a listing that began after the change", async () => {
    const h = setUp();
    await wait(h, minute);
    h.change();
    const beganAt = h.clock.monotonic() + 1;
    h.listing.latest = { ...h.listing.latest, beganAt, version: 2 };
    expect(h.fresh.find(h.state, web)).toMatchObject({ balancer, beganAt });
  });

  test.each([
    ["the change failed", (h: ReturnType<typeof setUp>) => h.change("update")],
    ["another replica may have led", (h: ReturnType<typeof setUp>) => h.fresh.expire()],
    ["the plan waits for the cloud", (h: ReturnType<typeof setUp>) => h.state.outdate(h.clock.monotonic())],
    ["a newer listing is requested", (h: ReturnType<typeof setUp>) => void h.fresh.request(h.state)],
  ])("is not used when %s", async (_, happens) => {
    const h = setUp();
    await wait(h, minute);
    h.change();
    happens(h);
    expect(h.fresh.find(h.state, web)).toBe("not yet");
  });

  test("is read again with all that the listing shows when a user has changed the Service", async () => {
    const h = setUp();
    h.change();
    h.fresh.noteEdit(h.state);
    expect(h.fresh.find(h.state, web)).toMatchObject({ balancer: { outdated: ["targets"] } });
    await wait(h, minute);
    h.fresh.noteEdit(h.state);
    expect(h.fresh.find(h.state, web)).toMatchObject({ balancer: { outdated: ["targets", "listed"] } });
  });
});

describe("what was read in depth", () => {
  const minute = 60_000;
  const balancer = { name: "web", owners: [uid], ownership: "ours", state: "ready" } as const;
  const shown = { ...balancer, shallow: true } as const;
  const inDepth = { ...balancer, targets: 2 };

  async function setUp({ since = 10 * minute, kept = {} } = {}) {
    const clock = new VirtualClock();
    const latest = { items: [shown], beganAt: 0, endedAt: 0, pages: 1, version: 1 };
    const listing = { latest, failure: undefined, request: () => undefined };
    const balancers = { recall: (_: unknown, __: unknown, before: object) => before };
    const deps = { listing, balancers, clock, settings: { acceptsAge: 5 * minute } };
    const records = new ServiceRecords();
    const fresh = new FreshListing(deps as never, { of: () => ({ desired: {} }) } as never);
    const state = records.manage(web);
    const times = { listedAt: 0, markedAt: 0, readAt: 0, recalledUntil: 60 * minute };
    state.noteObservation(0, { balancer: inDepth, ...times, outdated: [], ...kept });
    await clock.advance(since as never);
    const relist = () => {
      listing.latest = { ...latest, beganAt: clock.monotonic(), version: listing.latest.version + 1 };
    };
    return { clock, records, fresh, state, relist, balancers };
  }

  const recalled = { balancer: inDepth, read: [] };

  test("is recalled while the listing is old, and after a new one", async () => {
    const h = await setUp();
    expect(h.fresh.find(h.state, web)).toMatchObject(recalled);
    h.relist();
    expect(h.fresh.find(h.state, web)).toMatchObject(recalled);
  });

  test("is read again before steps: what they change, with the mark if the listing is old", async () => {
    const h = await setUp();
    const old = { balancer: { ...inDepth, outdated: ["targets", "mark"] }, read: ["targets"] };
    expect(h.fresh.find(h.state, web, ["targets"])).toMatchObject(old);
    expect(h.fresh.find(h.state, web, "all")).toMatchObject({ balancer: { outdated: ["listed", "mark"] } });
    h.relist();
    const listed = { balancer: { ...inDepth, outdated: ["targets"] }, read: ["targets"] };
    expect(h.fresh.find(h.state, web, ["targets"])).toMatchObject(listed);
    expect(h.fresh.find(h.state, web, "all")).toMatchObject({ balancer: shown, read: "after listing" });
  });

  type World = Awaited<ReturnType<typeof setUp>>;
  test.each([
    ["an hour has passed", async ({ clock }: World) => clock.advance((60 * minute) as never)],
    ["another account may answer", ({ fresh }: World) => fresh.expire()],
    ["a user has changed the Service", ({ fresh, state }: World) => fresh.noteEdit(state)],
    [
      "the listing shows a change",
      ({ balancers }: World) => {
        balancers.recall = () => undefined as never;
      },
    ],
    ["the Service is gone", ({ records }: World) => records.leave("default/web")],
    ["there are two of them", ({ state }: World) => state.noteDuplicates([balancer])],
  ])("is not recalled when %s", async (_, happens) => {
    const h = await setUp();
    await happens(h);
    await h.clock.advance(1 as never);
    h.relist();
    expect(h.fresh.find(h.state, web)).toMatchObject({ balancer: shown, read: "after listing" });
  });

  test("is not recalled after a change that has not been read again", async () => {
    const h = await setUp({ kept: { outdated: ["targets"] } });
    h.relist();
    expect(h.fresh.find(h.state, web)).toMatchObject({ balancer: shown, read: "after listing" });
  });

  test("ends the rest of its Service when it is an hour old", async () => {
    const h = await setUp({ since: 50 * minute });
    h.state.noteRest({ listed: shown, since: h.clock.monotonic() });
    h.relist();
    expect(h.fresh.isAtRest(h.state)).toBe(true);
    await h.clock.advance((10 * minute) as never);
    expect(h.fresh.isAtRest(h.state)).toBe(false);
  });
});
