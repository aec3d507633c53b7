import { expect, test } from "bun:test";
import { SharedListing } from "../../../../src/cloud/shared-listing.ts";
import { problemEvent } from "../../../../src/controllers/reporter.ts";
import { FreshListing } from "../../../../src/controllers/service/observed/fresh-listing.ts";
import { executeSteps } from "../../../../src/controllers/service/reconcile/apply-steps.ts";
import { GroupStates } from "../../../../src/controllers/service/state/group-states.ts";
import { ServiceStates } from "../../../../src/controllers/service/state/service-states.ts";
import { createServiceReporter } from "../../../../src/controllers/service/status/service-reporter.ts";
import { milliseconds, minutes, seconds, serviceUID } from "../../../../src/core/brand.ts";
import type { Service } from "../../../../src/kube/objects.ts";
import { seededRandom } from "../../../../src/platform/random.ts";
import { CloudError } from "../../../../src/provider/errors.ts";
import { VirtualClock } from "../../../../src/testing/virtual-time/virtual-clock.ts";
import { ServiceWorld } from "../../../support/service-world.ts";
import { TrackedCollections } from "../../../support/tracked-collections.ts";

// What the service controller remembers between two reconciles: pending releases, pending listings, listeners and
// reported problems.

const uid = (text: string) => serviceUID(text);
const serviceAt = (name: string) =>
  ({ metadata: { name: "web", namespace: "default", uid: name }, spec: { type: "LoadBalancer" } }) as Service;

test("whether a Service selects targets by label is known without reading every Service", () => {
  const states = new ServiceStates();
  const [first, second] = [states.create("default/a", uid("a")), states.create("default/b", uid("b"))];
  expect(states.hasTargetSelector).toBe(false);
  const read = (state: typeof first, rules: object): void =>
    states.noteRead(state, { lastTargetRules: rules, isServed: true } as never);
  for (const state of [first, second]) read(state, { policy: "all", selector: () => true });
  Object.defineProperty(first, "key", { get: () => expect.unreachable("read on each change of a Node") });
  states.drop(second, false);
  expect(states.hasTargetSelector).toBe(true);
  read(first, { policy: "all" });
  expect(states.hasTargetSelector).toBe(false);
});

test("dismissing a Service clears only its own pending release", () => {
  const groups = new GroupStates(new ServiceStates());
  for (const name of ["a", "b"]) groups.assign(`default/${name}`, uid(name), "x");
  groups.remove("default/a");
  groups.dismiss("default/b");
  expect(groups.pendingReleasesOf("x")).toEqual([uid("a")]);
});

test("a Service that leaves a group while it completes stays pending there", () => {
  const groups = new GroupStates(new ServiceStates());
  for (const name of ["a", "b"]) groups.assign(`default/${name}`, uid(name), "x");
  groups.remove("default/a");
  const gone = groups.pendingReleasesOf("x");
  groups.assign("default/b", uid("b"), "y");
  groups.noteReleased("x", gone);
  expect(groups.pendingReleasesOf("x")).toEqual([uid("b")]);
  expect(groups.isReleasePendingElsewhere(uid("b"), "y")).toBe(true);
  expect(groups.isReleasePendingElsewhere(uid("b"), "x")).toBe(false);
  expect(groups.isReleasePendingElsewhere(uid("a"), "y")).toBe(false);
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
  const ports = {
    listing,
    balancers: {},
    clock,
    settings: { acceptsAge: minutes(5) },
  };
  const groups = new GroupStates(new ServiceStates());
  const observation = new FreshListing(ports as never, {} as never);
  observation.expire();
  await clock.advance(seconds(1));
  const group = groups.of("g");
  const answer = (): void => {
    const now = clock.monotonic();
    listing.latest = { items: [], pages: 1, beganAt: now, endedAt: now, version: 1 };
  };
  return { clock, wants, observation, groups, group, answer };
};

test("the records of a Service and its group are dropped once the Service is gone and released", () => {
  const services = new ServiceStates();
  const groups = new GroupStates(services);
  const store = { get: () => undefined };
  const web = serviceAt("web");
  Object.assign(services.of(web), { onDelete: "on hold", releasedName: "lb-1", lastRanges: [] });
  groups.assign("default/web", uid("web"), "x");
  groups.dropServices([uid("web")], store);
  expect(services.all).toHaveLength(1);
  groups.remove("default/web");
  groups.dropServices([uid("web")], store);
  // Only what the release needs is left.
  expect(services.all).toMatchObject([
    { onDelete: "on hold", releasedName: "lb-1", lastRanges: undefined, group: undefined },
  ]);
  groups.of("x").outdate(1);
  groups.drop("x");
  expect(groups.all).toMatchObject([{ changedAt: 1, pendingReleases: new Set([uid("web")]) }]);
  groups.noteReleased("x", [uid("web")]);
  groups.dropServices([uid("web")], store);
  groups.drop("x");
  expect([services.all, groups.all]).toEqual([[], []]);
});

test("the record of an existing Service is not dropped", () => {
  const services = new ServiceStates();
  const groups = new GroupStates(services);
  const web = serviceAt("web");
  services.of(web);
  groups.dropServices([uid("web")], { get: () => web });
  expect(services.all).toHaveLength(1);
  groups.dropServices([uid("web")], { get: () => serviceAt("another") });
  expect(services.all).toEqual([]);
});

test("the record of a Service with a load balancer in an unknown group is kept until the group is found", () => {
  const services = new ServiceStates();
  const groups = new GroupStates(services);
  const web = { ...serviceAt("web"), status: {}, spec: { type: "ClusterIP" } } as Service;
  services.of(web).setLeftovers(true);
  groups.dropServices([uid("web")], { get: () => web });
  expect(services.all).toHaveLength(1);
  services.of(web).setLeftovers(false);
  groups.dropServices([uid("web")], { get: () => web });
  expect(services.all).toEqual([]);
});

test("a manager keeps no record of Services and groups that are gone", async () => {
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

test("a listing read later than its maximum age still answers the request that waited for it", async () => {
  const { clock, wants, observation, group, answer } = await observed();
  expect(observation.find(group, [])).toBe("not yet");
  observation.request(group);
  answer();
  await clock.advance(minutes(6));
  expect(observation.find(group, [])).toMatchObject({ balancer: undefined, beganAt: 2000 });
  expect(wants).toHaveLength(1);
  // The group was reconciled with the answer, so the next plan needs a newer listing.
  observation.endRequest(group);
  expect(observation.find(group, [])).toBe("not yet");
});

test("an insufficient listing is requested again, once for all callers", async () => {
  const { clock, wants, observation, group, answer } = await observed();
  observation.request(group);
  answer();
  await clock.advance(seconds(1));
  group.outdate(clock.monotonic());
  expect(observation.find(group, [])).toBe("not yet");
  observation.request(group);
  observation.request(group);
  expect(wants).toHaveLength(2);
});

test("a listener that throws affects neither the other listeners nor later listings", async () => {
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
  const reporter = createServiceReporter((_, { reason }) => void reported.push(reason), new ServiceStates());
  const service = { metadata: { name: "web", namespace: "default", uid: "1" } } as Service;
  reporter.publish(service, { type: "Normal", reason: "", message: "" });
  reporter.report(service, "plan", [problemEvent({ severity: "warning", reason: "", text: "" })]);
  reporter.report(service, "plan", [
    problemEvent({ severity: "warning", reason: "Wrong", text: "it is wrong" }),
  ]);
  expect(reported).toEqual(["Wrong"]);
});

test("a Service without a group does not prevent another one from adopting a load balancer", async () => {
  const clock = new VirtualClock();
  const [web, broken] = ["web", "broken"].map(
    (name) => ({ metadata: { name, namespace: "a" }, spec: { type: "LoadBalancer" } }) as Service,
  );
  if (web === undefined || broken === undefined) throw new Error("Two were made.");
  const found = { group: "g", ownership: "unmarked", owners: [] };
  const listing = { latest: { items: [found], pages: 1, beganAt: 1, endedAt: 1, version: 1 } };
  const ports = {
    listing,
    services: { list: () => [web, broken] },
    balancers: { adopts: () => true },
    clock,
    settings: { acceptsAge: minutes(5) },
  };
  const desiredServices = {
    of: (service: Service) => {
      if (service === broken) throw new TypeError("no group");
      return { desired: {} };
    },
  };
  const groups = new GroupStates(new ServiceStates());
  const observation = new FreshListing(ports as never, desiredServices as never);
  expect(observation.find(groups.of("g1"), [web])).toMatchObject({ balancer: found, problems: [] } as never);
});

test("a step that the leadership fence blocked is journalled as refused", async () => {
  const written: string[] = [];
  const apply = () => {
    throw new CloudError("unavailable", "was not sent", { operation: "POST /x", cause: "fenced" });
  };
  const journal = ({ outcome }: { outcome: string }) => written.push(outcome);
  const plan = { members: [], serving: [], leaving: [], duplicates: [], steps: [{ do: "make" }] };
  const call = { signal: new AbortController().signal, urgency: "user-change" } as const;
  const groupStates = new GroupStates(new ServiceStates());
  const context = { group: "g", services: [], state: groupStates.of("g"), call };
  const deps = { groupStates, controller: { balancers: { apply }, journal } };
  const failure = await executeSteps({ ...deps, ...context } as never, plan as never, {
    change: "ensure",
    isNew: true,
    why: "",
  }).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(CloudError);
  expect(written).toEqual(["refused"]);
});
