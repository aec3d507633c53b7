import { expect, test } from "bun:test";
import { SharedListing } from "../../../src/cloud/shared-listing.ts";
import { createFreshListing } from "../../../src/controllers/service/observed/fresh-listing.ts";
import { createApply } from "../../../src/controllers/service/reconcile/apply.ts";
import { Groups } from "../../../src/controllers/service/state/groups.ts";
import { createServiceReporter } from "../../../src/controllers/service/status/service-reporter.ts";
import { milliseconds, minutes, seconds, serviceUID } from "../../../src/core/brand.ts";
import type { Service } from "../../../src/kube/objects.ts";
import { seededRandom } from "../../../src/platform/random.ts";
import { CloudError } from "../../../src/provider/errors.ts";
import { VirtualClock } from "../../../src/testing/virtual-time/virtual-clock.ts";

// What the service controller remembers between two reconciles: pending releases, pending listings, listeners and
// reported problems.

const uid = (text: string) => serviceUID(text);

test("dismissing a Service clears only its own pending release", () => {
  const groups = new Groups();
  for (const name of ["a", "b"]) groups.place(`default/${name}`, uid(name), "x");
  groups.remove("default/a");
  groups.dismiss("default/b");
  expect(groups.debtsOf("x")).toEqual([uid("a")]);
});

test("a Service that leaves a group while it completes stays pending there", () => {
  const groups = new Groups();
  for (const name of ["a", "b"]) groups.place(`default/${name}`, uid(name), "x");
  groups.remove("default/a");
  const gone = groups.debtsOf("x");
  groups.place("default/b", uid("b"), "y");
  groups.settle("x", gone);
  expect(groups.debtsOf("x")).toEqual([uid("b")]);
  expect(groups.owesElsewhere(uid("b"), "y")).toBe(true);
  expect(groups.owesElsewhere(uid("b"), "x")).toBe(false);
  expect(groups.owesElsewhere(uid("a"), "y")).toBe(false);
});

const observed = async () => {
  const clock = new VirtualClock();
  await clock.advance(seconds(1));
  const wants: number[] = [];
  const listing = {
    latest: undefined as unknown,
    failure: undefined,
    want: (since: number) => void wants.push(since),
  };
  const ports = { listing, balancers: {}, clock, settings: { acceptsAge: minutes(5) } };
  const observation = createFreshListing(ports as never, {} as never);
  observation.begin();
  const answer = (): void => {
    const now = clock.monotonic();
    listing.latest = { items: [], pages: 1, beganAt: now, endedAt: now, version: 1 };
  };
  return { clock, wants, observation, answer };
};

test("a listing read later than its maximum age still answers the request that waited for it", async () => {
  const { clock, wants, observation, answer } = await observed();
  expect(observation.find("g", [])).toBe("not yet");
  observation.ask("g");
  answer();
  await clock.advance(minutes(6));
  expect(observation.find("g", [])).toEqual({ balancer: undefined, problems: [] });
  expect(wants).toHaveLength(1);
  // The request is answered, so the next one needs a newer listing.
  expect(observation.find("g", [])).toBe("not yet");
});

test("an insufficient listing is requested again, once for all callers", async () => {
  const { clock, wants, observation, answer } = await observed();
  observation.ask("g");
  answer();
  await clock.advance(seconds(1));
  observation.changed("g");
  expect(observation.find("g", [])).toBe("not yet");
  observation.ask("g");
  observation.ask("g");
  expect(wants).toHaveLength(2);
});

test("a listener that throws affects neither the other listeners nor later listings", async () => {
  const clock = new VirtualClock();
  const reported: string[] = [];
  const errors: unknown[] = [];
  let listings = 0;
  const listing = new SharedListing<string>({
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
    listing.want(clock.monotonic(), "refresh");
    await clock.advance(milliseconds(500));
  }
  expect(listings).toBe(2);
  expect(reported).toEqual(["second", "second"]);
  expect(errors).toHaveLength(2);
});

test("the service reporter drops events without a reason", () => {
  const reported: string[] = [];
  const reporter = createServiceReporter((_, { reason }) => void reported.push(reason));
  const service = { metadata: { name: "web", namespace: "default" } } as Service;
  reporter.event(service, { type: "Normal", reason: "", message: "" });
  reporter.problems(service, [{ severity: "warning", reason: "", text: "" }], "plan");
  reporter.problems(service, [{ severity: "warning", reason: "Wrong", text: "it is wrong" }], "plan");
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
  const observation = createFreshListing(ports as never, desiredServices as never);
  expect(observation.find("g1", [web])).toEqual({ balancer: found, problems: [] } as never);
});

test("a step that the controller's own fence blocked is journalled as refused", async () => {
  const written: string[] = [];
  const apply = () => {
    throw new CloudError("unavailable", "was not sent", { operation: "POST /x", cause: "fenced" });
  };
  const journal = (_: unknown, __: string, outcome: string) => written.push(outcome);
  const applySteps = createApply({ ports: { balancers: { apply }, journal } } as never);
  const nothing = { targets: "", rest: "" };
  const work = {
    group: "g",
    members: [],
    steps: [{ do: "make" }],
    before: undefined,
    now: nothing,
    isNew: true,
  };
  const call = { signal: new AbortController().signal, urgency: "user-change" } as const;
  const failure = await applySteps.run(work, call).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(CloudError);
  expect(written).toEqual(["refused"]);
});
