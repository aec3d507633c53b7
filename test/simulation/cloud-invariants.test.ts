// Tests that the invariants about Services and routes can fail: each forbidden change is detected.

import { expect, test } from "bun:test";
import { minutes, seconds } from "../../src/core/brand.ts";
import type { Service } from "../../src/kube/objects.ts";
import { resourceNamed } from "../../src/testing/apiserver/objects/resource-table.ts";
import { findDeviations } from "./node-deviations.ts";
import { World } from "./world.ts";

const worldOf = (): World => new World({ seed: 2, nodes: 3, replicas: 0 });

const violated = (world: World): readonly number[] => [
  ...new Set(world.invariants.violations.map(({ invariant }) => invariant)),
];

/** Sends a request to the cloud that Fairlead would not send. */
const send = (world: World, method: string, path: string, body?: unknown): void => {
  const url = `http://cloud/v1${path}`;
  world.cloud.handle({ method, path, query: new URLSearchParams(), body }, undefined);
  world.cloudInvariants.cloudHandled({
    method,
    url,
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
};

const serviceOf = (world: World): Service => {
  world.users.create("web", {});
  const service = world.users.find("web");
  if (service === undefined) throw new Error("The Service was not created.");
  return service;
};

const balancerFor = (uid: string) => ({
  name: "lb",
  labels: { cluster: "kubernetes", "managed-by": "fairlead", "owner-uid": uid },
});

const patchAs = (world: World, change: (service: Service) => unknown): void => {
  world.history.asWriter("replica-0", () =>
    world.server.objects.patch(
      resourceNamed("services"),
      "default",
      "web",
      "",
      (now) => change(now as never) as never,
    ),
  );
};

const withFinalizers = ({ metadata, ...rest }: Service, finalizers: readonly string[]) => ({
  ...rest,
  metadata: { ...metadata, finalizers },
});

const mark = "service.kubernetes.io/load-balancer-cleanup";

test("creating a load balancer before the finalizer violates invariant 5", () => {
  const world = worldOf();
  send(world, "POST", "/balancers", balancerFor(serviceOf(world).metadata.uid));
  expect(violated(world)).toEqual([5]);
});

test("creating a load balancer for a deleted Service violates invariant 5", () => {
  const world = worldOf();
  send(world, "POST", "/balancers", balancerFor("no-such-service"));
  expect(violated(world)).toEqual([5]);
});

test("removing the finalizer before the load balancer violates invariant 5", () => {
  const world = worldOf();
  const { uid } = serviceOf(world).metadata;
  patchAs(world, (service) => withFinalizers(service, [mark]));
  send(world, "POST", "/balancers", balancerFor(uid));
  expect(violated(world)).toEqual([]);
  patchAs(world, (service) => withFinalizers(service, []));
  expect(violated(world)).toEqual([5]);
});

test.each([
  ["DELETE", "/balancers/b1"],
  ["PATCH", "/balancers/b1"],
  ["DELETE", "/routes/r1"],
  ["DELETE", "/routes/r2"],
])("%s %s without the cluster's marks violates invariant 7", async (method, path) => {
  const world = worldOf();
  await world.clock.advance(seconds(10));
  send(world, method, path, { labels: {}, targets: ["7"] });
  expect(violated(world)).toEqual([7]);
});

test("creating a route outside the cluster CIDR violates invariant 8, and creating a route without marks invariant 7", () => {
  const labels = { cluster: "kubernetes" };
  const outside = worldOf();
  send(outside, "POST", "/routes", { destination: "192.168.0.0/24", machine: "1", labels });
  expect(violated(outside)).toContain(8);
  const unmarked = worldOf();
  send(unmarked, "POST", "/routes", { destination: "10.244.1.0/24", machine: "1", labels: {} });
  expect(violated(unmarked)).toContain(7);
});

test("removing another client's annotation from a Service violates invariant 4", () => {
  const world = worldOf();
  serviceOf(world);
  world.users.annotate("web", "team.example/owner", "us");
  patchAs(world, ({ metadata, ...rest }) => ({ ...rest, metadata: { ...metadata, annotations: {} } }));
  expect(violated(world)).toEqual([4]);
});

test("two changes of one load balancer in flight violate invariant 10", () => {
  const world = new World({ seed: 2, nodes: 1, replicas: 1 });
  const [replica] = world.replicas;
  if (replica === undefined) throw new Error("There is no replica.");
  const request = { method: "PATCH", url: "http://cloud/v1/balancers/b1", body: "{}" };
  const done = world.cloudInvariants.requestSent(replica, request);
  done("accepted");
  world.cloudInvariants.requestSent(replica, request);
  expect(violated(world)).toEqual([]);
  world.cloudInvariants.requestSent(replica, request);
  expect(violated(world)).toEqual([10]);
  world.killReplica(replica);
});

test("findDeviations finds every kind of deviation when no replica runs", async () => {
  const world = new World({ seed: 2, nodes: 3, replicas: 1 });
  world.users.create("web", {});
  await world.clock.advance(minutes(2));
  expect(findDeviations(world)).toEqual([]);
  for (const replica of [...world.replicas]) world.killReplica(replica);
  const [, balancer] = world.cloud.balancers.list();
  const managed = world.cloud.routes.list().filter(({ destination }) => destination < "10.244.200");
  world.cloud.balancers.change(balancer?.id ?? "", { targets: [], listeners: [], algorithm: "none" });
  for (const { id } of managed.slice(0, 1)) world.cloud.routes.remove(id);
  world.users.edit("web", "no status", (one) => ({ ...one, status: { loadBalancer: {} } }), "status");
  world.users.create("mail", {});
  world.cloud.balancers.create(balancerFor("no-such-service"));
  await world.clock.advance(seconds(30));
  const text = findDeviations(world).join("\n");
  for (const each of [
    "of no-such-service is left over",
    "mail has 0 balancers",
    "mail has no finalizer",
    "web has the address  in its status",
    "web has listeners",
    "web has the algorithm none",
    "web has targets",
    "has routes to",
  ]) {
    expect(text).toContain(each);
  }
  world.kubelets.stop();
});
