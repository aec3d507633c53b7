import { describe, expect, test } from "bun:test";
import {
  type Observation,
  observationOf,
  type Parts,
} from "../../../../src/cloud/inventory/balancer-observation.ts";
import { BalancerInventory } from "../../../../src/cloud/inventory/balancers.ts";
import { EvidenceUpdates } from "../../../../src/controllers/service/observe/evidence-updates.ts";
import { findBalancer } from "../../../../src/controllers/service/reconcile/find-balancer.ts";
import { servesWithoutClass } from "../../../../src/controllers/service/served-classes.ts";
import { ServiceRecords } from "../../../../src/controllers/service/state/service-records.ts";
import { isDeletionSeen } from "../../../../src/controllers/service/triggers/relevant-change.ts";
import { milliseconds, minutes, serviceUID } from "../../../../src/core/brand.ts";
import type { Service } from "../../../../src/kube/objects.ts";
import type { ObservedLoadBalancer } from "../../../../src/provider/load-balancers.ts";
import { VirtualClock } from "../../../../src/testing/virtual-time/virtual-clock.ts";

const web = {
  metadata: { name: "web", namespace: "default", uid: "web" },
  spec: { type: "LoadBalancer" },
  status: {},
} as Service;
const uid = serviceUID("web");
const minute = minutes(1);
const balancer = { name: "web", owners: [uid], ownership: "ours", state: "ready" } as const;
const shown = { ...balancer, shallow: true } as const;
const age = { beganAt: 0, isRecent: true, isFresh: true };
const inDepth = { ...balancer, targets: 2 };

/** The listing began at 0. */
function setUp(items: readonly ObservedLoadBalancer[] = [shown]) {
  const clock = new VirtualClock();
  const latest = { items, beganAt: 0, endedAt: 0, pages: 1, version: 1 };
  const listing = { latest, failure: undefined, request: () => undefined };
  const inventory = new BalancerInventory({ listing, clock, acceptsAge: milliseconds(5 * minute) });
  const records = new ServiceRecords();
  const state = records.manage(web);
  const controller = { balancers: {}, services: { list: () => [] }, clock };
  const context = { controller, desiredServices: { of: () => ({ desired: {} }) }, inventory, state };
  const find = (needs: Parts = [], { isGone = false } = {}) =>
    findBalancer({ ...context, service: isGone ? undefined : web } as never, needs);
  /** The parts that are reread: undefined if a listing is needed, or everything that it lacks. */
  const again = (needs: Parts = []) => {
    const found = find(needs);
    if (found === "unknown") return found;
    return found.again === undefined ? "wholly" : { parts: found.again.parts, read: found.again.read };
  };
  const observe = (changes: Partial<Observation> = {}) =>
    state.noteObservation({
      ...observationOf({ listed: shown, balancer: inDepth }, age, () => 0),
      ...changes,
    });
  const change = (failed?: "update") => {
    const plan = {
      observed: balancer,
      duplicates: [],
      steps: [{ do: "set", restsOn: ["targets"] }],
      isLeaving: false,
    };
    state.beginChange("update", plan);
    state.noteChangeSent(plan, clock.monotonic(), failed);
  };
  const relist = () => {
    listing.latest = { ...latest, beganAt: clock.monotonic(), version: listing.latest.version + 1 };
  };
  const wait = async (time: number) => clock.advance(milliseconds(time));
  return { clock, listing, inventory, records, state, find, again, observe, change, relist, wait };
}

type World = ReturnType<typeof setUp>;

test("uses a listing that began at the moment of the last change neither for a plan nor as a proof of absence", async () => {
  const { clock, listing, inventory, records, state, find, relist, wait } = setUp([]);
  const updates = new EvidenceUpdates({ listing, clock } as never, records, inventory);
  await wait(1);
  relist();
  state.evidence.expect("exists", 0);
  state.outdate(1);
  updates.update();
  expect(find()).toBe("unknown");
  expect(state.evidence.proofs).toEqual([]);
  state.outdate(0.5);
  updates.noteAgain(state);
  expect(find()).toMatchObject({ balancer: undefined });
  expect(state.evidence.proofs).toHaveLength(1);
});

test("a watch event reveals the deletion of a Service without finalizers, but a new list does not", () => {
  expect([
    isDeletionSeen(web, {}, servesWithoutClass),
    isDeletionSeen(web, { isFromList: true }, servesWithoutClass),
  ]).toEqual([true, false]);
});

test("a rejected target that is due, and a creation with an unknown outcome, need a listing that began later", async () => {
  const h = setUp();
  const target = { node: "node-1", addresses: [], internalIPs: [] } as never;
  h.state.noteRefusal(target, "no", 0);
  await h.wait(minute - 1);
  expect(h.again()).toBe("wholly");
  await h.wait(1);
  expect(h.again()).toBe("unknown");
  h.relist();
  expect(h.again()).toBe("wholly");
  h.state.noteStepFailed({ id: "a", what: "a", variant: "a", at: h.clock.monotonic() });
  await h.wait(minute);
  expect(h.again()).toBe("unknown");
  h.relist();
  expect(h.again()).toBe("wholly");
});

describe("an observation made with a change", () => {
  test("after a change, rereads the load balancer instead of listing, and rereads its mark after five minutes", async () => {
    const h = setUp();
    h.observe();
    await h.wait(2 * minute);
    h.change();
    expect(h.again()).toEqual({ parts: ["targets"], read: ["targets", "all", "listing"] });
    await h.wait(3 * minute + 1);
    expect(h.again()).toEqual({ parts: ["targets", "mark"], read: ["targets", "mark"] });
    expect(h.again(["listing"])).toBe("unknown");
  });

  test("completely rereads a load balancer whose observation is an hour old", async () => {
    const h = setUp();
    h.observe();
    h.change();
    await h.wait(61 * minute);
    expect(h.again()).toMatchObject({ parts: ["targets", "all", "mark"] });
  });

  test("requests no second listing when the requested listing is old by the time the Service is reconciled", async () => {
    const h = setUp();
    h.observe();
    await h.wait(minute);
    h.inventory.request(uid);
    h.relist();
    await h.wait(6 * minute);
    expect([h.again(["listing"]), h.again(["listing"])]).toEqual(["wholly", "wholly"]);
    h.inventory.endRequest(uid);
    expect(h.again(["listing"])).toBe("unknown");
  });

  test("an observation made with a change yields to a listing that began after the change", async () => {
    const h = setUp();
    h.observe();
    await h.wait(minute);
    h.change();
    await h.wait(1);
    h.relist();
    expect(h.find()).toMatchObject({ listed: shown, age: { isFresh: true } });
    expect(h.again(["all"])).toBe("wholly");
  });

  test.each([
    ["the change failed", (h: World) => h.change("update")],
    ["the cloud may have changed any load balancer", (h: World) => h.inventory.expire()],
    ["the plan waits for the cloud", (h: World) => h.state.outdate(h.clock.monotonic())],
    ["a newer listing is requested", (h: World) => void h.inventory.request(uid)],
  ])("is not used when %s", async (_, happens) => {
    const h = setUp();
    h.observe();
    await h.wait(minute);
    h.change();
    happens(h);
    expect(h.find()).toBe("unknown");
  });
});

describe("a deep observation of a load balancer", () => {
  async function old(changes: Partial<Observation> = {}): Promise<World> {
    const h = setUp();
    h.observe(changes);
    await h.wait(10 * minute);
    return h;
  }

  test("a deep observation serves a plan while the listing is old, and after a new listing", async () => {
    const h = await old();
    expect(h.again()).toEqual({ parts: [], read: [] });
    h.relist();
    expect(h.again()).toEqual({ parts: [], read: ["listing"] });
  });

  test("rereads the parts that steps depend on before the steps, with the mark if the listing is old", async () => {
    const h = await old();
    expect(h.again(["targets"])).toEqual({ parts: ["targets", "mark"], read: ["targets", "mark"] });
    expect(h.again(["all"])).toMatchObject({ parts: ["all", "mark"] });
    h.relist();
    expect(h.again(["targets"])).toEqual({ parts: ["targets"], read: ["targets", "listing"] });
    expect(h.again(["all"])).toBe("wholly");
  });

  test("completely rereads a load balancer when a user has changed the Service, unless the listing is newer", async () => {
    const h = await old();
    h.state.noteEdit(h.clock.monotonic());
    expect(h.again()).toMatchObject({ parts: ["all", "mark"] });
    h.relist();
    expect(h.again()).toMatchObject({ parts: ["all"] });
    await h.wait(1);
    h.relist();
    expect(h.again()).toBe("wholly");
  });

  test("a read that began before an edit is repeated, even if it ended after the edit", async () => {
    const h = await old();
    const edited = h.clock.monotonic();
    h.state.noteEdit(edited);
    h.observe({ readAt: edited - 1 });
    expect(h.again()).toMatchObject({ parts: ["all", "mark"] });
    h.observe({ readAt: edited });
    expect(h.again()).toMatchObject({ parts: [] });
  });

  test.each([
    ["an hour has passed", async (h: World) => h.wait(60 * minute)],
    ["the cloud may have changed any load balancer", (h: World) => h.inventory.expire()],
    ["the provider reads no parts", (h: World) => h.observe({ balancer: undefined })],
  ])("an observation does not serve a plan when %s", async (_, happens) => {
    const h = await old();
    await happens(h);
    await h.wait(1);
    h.relist();
    expect(h.again()).toBe("wholly");
  });

  test("an observation does not serve the plan of a Service that is gone, or that has two load balancers", async () => {
    const h = await old();
    expect([h.again(), h.find([], { isGone: true })]).toEqual([{ parts: [], read: [] }, "unknown"]);
    const { listing } = h;
    listing.latest = { ...listing.latest, items: [shown, { ...shown, name: "web-2" }] };
    expect(h.find()).toBe("unknown");
  });

  test("a Service is no longer settled when its observation is an hour old", async () => {
    const h = setUp();
    h.observe();
    await h.wait(50 * minute);
    h.state.noteRest(h.clock.monotonic());
    h.relist();
    const isAtRest = () => h.inventory.isAtRest(uid, h.state.session.observation);
    expect(isAtRest()).toBe(true);
    await h.wait(10 * minute);
    expect(isAtRest()).toBe(false);
  });
});
