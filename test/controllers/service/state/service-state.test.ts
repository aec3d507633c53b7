import { expect, test } from "bun:test";
import { BalancerInventory } from "../../../../src/cloud/inventory/balancers.ts";
import { SharedListing } from "../../../../src/cloud/inventory/shared-listing.ts";
import { executeSteps } from "../../../../src/controllers/service/reconcile/apply.ts";
import { findBalancer } from "../../../../src/controllers/service/reconcile/find-balancer.ts";
import { servesWithoutClass } from "../../../../src/controllers/service/served-classes.ts";
import { ServiceRecords } from "../../../../src/controllers/service/state/service-records.ts";
import { createServiceReporter } from "../../../../src/controllers/service/status/service-reporter.ts";
import { milliseconds, minutes, seconds } from "../../../../src/core/brand.ts";
import type { Service } from "../../../../src/kube/objects.ts";
import { seededRandom } from "../../../../src/platform/random.ts";
import { CloudError } from "../../../../src/provider/errors.ts";
import { runsAllTests } from "../../../../src/testing/breadth.ts";
import { VirtualClock } from "../../../../src/testing/virtual-time/virtual-clock.ts";
import { ServiceWorld } from "../../../support/service-world.ts";
import { TrackedCollections } from "../../../support/tracked-collections.ts";

// What the service controller remembers between two reconciles: records of Services, pending listings, listeners and
// reported problems.

const serviceAt = (name: string) =>
  ({ metadata: { name, namespace: "default", uid: name }, spec: { type: "LoadBalancer" } }) as Service;

test("knows without reading every Service whether a Service selects targets by label", () => {
  const records = new ServiceRecords();
  const [first, second] = [records.manage(serviceAt("a")), records.manage(serviceAt("b"))];
  expect(records.hasTargetSelector).toBe(false);
  const read = (state: typeof first, rules: object): void =>
    records.noteRead(state.uid, { lastTargetRules: rules } as never, { isServed: true });
  for (const state of [first, second]) read(state, { policy: "all", selector: () => true });
  Object.defineProperty(first, "key", { get: () => expect.unreachable("read on each change of a Node") });
  records.dismiss(second.uid);
  records.end(second.uid);
  expect(records.hasTargetSelector).toBe(true);
  read(first, { policy: "all" });
  expect(records.hasTargetSelector).toBe(false);
});

const observed = async () => {
  const clock = new VirtualClock();
  await clock.advance(seconds(1));
  const wants: number[] = [];
  const listing = {
    latest: undefined as unknown,
    failure: undefined,
    request: (since: number) => void wants.push(since),
  };
  const inventory = new BalancerInventory({ listing, clock, acceptsAge: minutes(5) } as never);
  inventory.expire();
  await clock.advance(seconds(1));
  const service = serviceAt("web");
  const state = new ServiceRecords().manage(service);
  const find = () =>
    findBalancer({ controller: { balancers: {}, clock }, inventory, service, state } as never);
  const answer = (): void => {
    const now = clock.monotonic();
    listing.latest = { items: [], pages: 1, beganAt: now, endedAt: now, version: 1 };
  };
  return { clock, wants, inventory, find, state, answer };
};

test.if(runsAllTests)("a manager keeps no record of Services that are gone", async () => {
  const tracked = new TrackedCollections();
  try {
    const w = new ServiceWorld();
    await w.start();
    for (const name of ["a", "b"])
      w.create(name, { annotations: { "fairlead.dev/target-policy": "endpoints" } });
    await w.pass(30);
    expect(Object.keys(await tracked.sizes()).join()).toContain("service/state/");
    w.delete("a");
    w.editSpec("b", { type: "ClusterIP" });
    await w.pass(60);
    expect([w.owners(), await tracked.leaks("service/state/")]).toEqual([[], []]);
    await w.stop();
  } finally {
    tracked.restore();
  }
});

test("a listing that is read later than its maximum age still answers the request that waited for it", async () => {
  const { clock, wants, inventory, find, state, answer } = await observed();
  expect(find()).toBe("unknown");
  inventory.request(state.uid);
  answer();
  await clock.advance(minutes(6));
  expect(find()).toMatchObject({ balancer: undefined, age: { beganAt: 2000 } });
  expect(wants).toHaveLength(1);
  // The Service was reconciled with the answer, so the next plan needs a newer listing.
  inventory.endRequest(state.uid);
  expect(find()).toBe("unknown");
});

test("requests an insufficient listing again, once for all callers", async () => {
  const { clock, wants, inventory, find, state, answer } = await observed();
  inventory.request(state.uid);
  answer();
  await clock.advance(seconds(1));
  state.outdate(clock.monotonic());
  expect(find()).toBe("unknown");
  inventory.request(state.uid);
  inventory.request(state.uid);
  expect(wants).toHaveLength(2);
});

test("a listener that throws affects neither other listeners nor later listings", async () => {
  const clock = new VirtualClock();
  const reported: string[] = [];
  const errors: unknown[] = [];
  let listings = 0;
  const listing = new SharedListing<string>({
    keyOf: (name) => name,
    list: async function* () {
      listings += 1;
      yield [];
    },
    clock,
    random: seededRandom(1),
    signal: new AbortController().signal,
    onListenerError: (error) => errors.push(error),
  });
  listing.subscribe(() => {
    throw new TypeError("boom");
  });
  listing.subscribe(() => void reported.push("second"));
  for (let time = 0; time < 2; time += 1) {
    listing.request(clock.monotonic(), "refresh");
    await clock.advance(milliseconds(500));
  }
  expect(listings).toBe(2);
  expect(reported).toEqual(["second", "second"]);
  expect(errors).toHaveLength(2);
});

test("the reporter of Services drops events without a reason", () => {
  const reported: string[] = [];
  const reporter = createServiceReporter((_, { reason }) => void reported.push(reason), new ServiceRecords());
  const service = { metadata: { name: "web", namespace: "default", uid: "1" } } as Service;
  reporter.publish(service, { severity: "notice", reason: "", text: "" });
  reporter.report(service, "plan", [{ severity: "warning", reason: "", text: "" }]);
  reporter.report(service, "plan", [{ severity: "warning", reason: "Wrong", text: "it is wrong" }]);
  expect(reported).toEqual(["Wrong"]);
});

test("a Service that cannot be read does not prevent another Service from adopting a load balancer", async () => {
  const clock = new VirtualClock();
  const [web, broken] = [serviceAt("web"), serviceAt("broken")];
  const found = { name: "b1", ownership: "unmarked", owners: [] };
  const listing = { latest: { items: [found], pages: 1, beganAt: 1, endedAt: 1, version: 1 } };
  const services = { list: () => [web, broken] };
  const controller = { services, classes: servesWithoutClass, balancers: { adopts: () => true }, clock };
  const inventory = new BalancerInventory({ listing, clock, acceptsAge: minutes(5) } as never);
  const desiredServices = {
    of: (service: Service) => {
      if (service === broken) throw new TypeError("unreadable");
      return { desired: {} };
    },
  };
  const state = new ServiceRecords().manage(web);
  const context = { controller, desiredServices, inventory, service: web, state };
  expect(findBalancer(context as never)).toMatchObject({ balancer: found, problems: [] } as never);
});

test("the journal records a step that the leadership fence blocked as refused", async () => {
  const written: string[] = [];
  const apply = () => {
    throw new CloudError("unavailable", "was not sent", { operation: "POST /x", cause: "fenced" });
  };
  const journal = ({ outcome }: { outcome: string }) => written.push(outcome);
  const plan = { isLeaving: false, duplicates: [], steps: [{ do: "make" }] };
  const call = { signal: new AbortController().signal, urgency: "user-change" } as const;
  const context = { state: new ServiceRecords().manage(serviceAt("web")), call };
  const deps = { controller: { balancers: { apply }, journal, clock: new VirtualClock() } };
  const failure = await executeSteps({ ...deps, ...context } as never, plan as never, {
    change: "ensure",
    isNew: true,
    why: "",
  }).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(CloudError);
  expect(written).toEqual(["refused"]);
});
