import { expect, test } from "bun:test";
import { BalancerInventory } from "../../../../src/cloud/inventory/balancers.ts";
import { maxWaitInWorker } from "../../../../src/cloud/urgency.ts";
import { showFailure } from "../../../../src/controllers/service/reconcile/failure.ts";
import { reconcileService } from "../../../../src/controllers/service/reconcile/reconcile.ts";
import { servesWithoutClass } from "../../../../src/controllers/service/served-classes.ts";
import { ServiceRecords } from "../../../../src/controllers/service/state/service-records.ts";
import { minutes, serviceUID } from "../../../../src/core/brand.ts";
import type { Service } from "../../../../src/kube/objects.ts";
import type { Call } from "../../../../src/provider/call.ts";
import { CloudError } from "../../../../src/provider/errors.ts";
import { settled, waiting } from "../../../../src/runtime/workers.ts";
import { VirtualClock } from "../../../../src/testing/virtual-time/virtual-clock.ts";
import { refused } from "../../../support/scripted-balancers.ts";
import { scriptedWorld } from "../../../support/scripted-world.ts";
import { lbFinalizer, ServiceWorld } from "../../../support/service-world.ts";

// Faults that a reconcile of the service controller must prevent: work that starts twice, and events that are too frequent or
// too early.

const uid = serviceUID("web");
const { signal } = new AbortController();

const serviceAt = (name: string, ingress: readonly { readonly ip: string }[] = []) =>
  ({
    metadata: { name, namespace: "default", uid: name, resourceVersion: "1" },
    spec: { type: "LoadBalancer" },
    status: { loadBalancer: { ingress } },
  }) as Service;

const reconciler = (stages: Parameters<typeof reconcileService>[3]) => {
  const records = new ServiceRecords();
  const state = records.manage(serviceAt("web"));
  const deps = {
    controller: { services: { get: () => undefined }, removals: { endHold: () => undefined } },
    records,
    doubt: { isHolding: false },
    nodeSyncLatency: { end: () => undefined },
  };
  return { state, reconcile: () => reconcileService(deps as never, uid, signal, stages) };
};

test("a reconcile does not wait in its worker for the cloud's rate limit", async () => {
  const calls: Call[] = [];
  const { reconcile } = reconciler(async ({ call }) => {
    calls.push(call);
    return settled;
  });
  await reconcile();
  expect(calls).toMatchObject([{ urgency: "user-change", maxWait: maxWaitInWorker }]);
});

test("does not report an error from the leadership fence on any Service", async () => {
  const error = new CloudError("unavailable", "was not sent", { operation: "POST /x", cause: "fenced" });
  const { state, reconcile } = reconciler(() => Promise.reject(error));
  expect(await reconcile().catch((thrown: unknown) => thrown)).toBe(error);
  expect(state.progress.failures).toBe(0);
});

test("requests a failed listing of an earlier leadership session again, without reporting it", () => {
  const clock = new VirtualClock();
  const wants: number[] = [];
  const listing = {
    latest: undefined,
    failure: undefined as { readonly error: unknown; readonly at: number } | undefined,
    request: (since: number) => void wants.push(since),
  };
  const options = { listing, clock, acceptsAge: minutes(5) } as never;
  new BalancerInventory(options).request(uid);
  listing.failure = { error: new Error("the cloud was away"), at: clock.monotonic() };
  expect(new BalancerInventory(options).request(uid)).toBe(waiting);
  expect(wants).toHaveLength(2);
});

test("a completed operation is followed by a newer listing, so that nothing is created twice", async () => {
  const { w, script } = scriptedWorld((one) => {
    one.operationLimit = 10;
  });
  await w.start();
  for (const name of ["a", "b"]) w.create(name);
  await w.pass(0.5);
  // The listing for one of the Services does not show the load balancer yet that is being created for the other.
  script.outcomes.set("operation-2", "done");
  await w.pass(1);
  script.outcomes.set("operation-1", "done");
  await w.pass(30);
  expect([script.applied.length, script.things.size]).toEqual([2, 2]);
});

test("a paused Service gets no further events or writes while its operation cannot be checked", async () => {
  const { w, script } = scriptedWorld((one) => {
    one.operationLimit = 10;
  });
  await w.start();
  w.create("web");
  await w.pass(5);
  w.annotate("web", { "fairlead.dev/paused": "true" });
  await w.pass(5);
  const before = w.events("web");
  w.forget();
  script.checkRefusal = refused("checks are refused");
  await w.pass(600);
  expect([w.events("web"), w.written]).toEqual([before, []]);
});

test("announces a change once, even if it takes many reconciles", async () => {
  const { w } = scriptedWorld((one) => {
    one.neverSettles = true;
  });
  await w.start();
  w.create("web");
  await w.pass(60);
  const begun = w.server.store
    .list("events", "default")
    .filter(({ reason }) => reason === "EnsuringLoadBalancer");
  expect(begun.map(({ count }) => count)).toEqual([1]);
});

test("a deleted Service that waits for a foreign finalizer loses its load balancer although Fairlead's finalizer was removed manually", async () => {
  const { w, script } = scriptedWorld();
  await w.start();
  w.create("web", { finalizers: ["example.com/other"] });
  await w.pass(30);
  expect(w.get("web").metadata.finalizers).toContain(lbFinalizer);
  w.crash();
  w.edit("web", ({ metadata, ...rest }) => ({
    ...rest,
    metadata: { ...metadata, finalizers: ["example.com/other"] },
  }));
  w.delete("web");
  await w.start();
  await w.pass(600);
  expect([script.things.size, w.find("web")?.metadata.finalizers]).toEqual([0, ["example.com/other"]]);
});

test("a deleted Service gets an event with the reason while load balancers cannot be listed", async () => {
  const w = new ServiceWorld();
  await w.start();
  w.create("goes");
  w.create("stays");
  await w.pass(30);
  w.cloud.faults.add({ operation: "GET /balancers", kind: "status", status: 500, calls: 100_000 });
  w.delete("goes");
  await w.pass(600);
  const conditionsOf = (name: string) => (w.get(name).status.conditions ?? []).map(({ type }) => type);
  expect([conditionsOf("goes"), conditionsOf("stays")]).toEqual([["CloudReady"], []]);
});

test("a load balancer that cannot be changed does not affect the node sync metric of other load balancers", async () => {
  const w = new ServiceWorld({ nodes: 2 });
  await w.start();
  w.create("web");
  await w.pass(30);
  w.cloud.faults.add({ operation: "PATCH /balancers/{id}", kind: "status", status: 503, calls: 100_000 });
  w.addNode("late");
  await w.pass(30);
  expect(w.manager.metrics.text()).toMatch(/^service_controller_nodesync_latency_seconds_count 1$/m);
});

test("a failed listing sets a condition on a Service without an address, but not on a Service with an address", async () => {
  const error = refused("no listing", "unavailable");
  const stored = {
    "default/new": serviceAt("new"),
    "default/served": serviceAt("served", [{ ip: "192.0.2.1" }]),
  };
  const records = new ServiceRecords();
  const states = Object.values(stored).map((service) => records.manage(service));
  const failure = { error, since: -60_000 };
  const listing: { failure: unknown } = { failure };
  const written: string[] = [];
  const patch = async ({ metadata }: { readonly metadata: { readonly name: string } }) => {
    written.push(metadata.name);
    listing.failure = undefined;
  };
  const services = { get: (key: keyof typeof stored) => stored[key] };
  const deps = {
    controller: {
      services,
      classes: servesWithoutClass,
      listing,
      writes: { patch },
      clock: new VirtualClock(),
    },
    desiredServices: { problemsOf: () => [] },
  };
  for (const state of states) {
    listing.failure = failure;
    const context = { ...deps, state, call: { signal } };
    for (let attempt = 0; attempt < 3; attempt += 1) await showFailure(context as never, error);
  }
  expect(written).toEqual(["new"]);
});
