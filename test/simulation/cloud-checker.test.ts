// The checker of Services and routes can fail: a process that does what none may do is seen at once, whatever it does.

import { expect, test } from "bun:test";
import { minutes, seconds } from "../../src/core/brand.ts";
import type { Service } from "../../src/kube/objects.ts";
import { resourceNamed } from "../../src/testing/apiserver/objects/resource-table.ts";
import { unsettled } from "./settled.ts";
import { World } from "./world.ts";

const worldOf = (): World => new World({ seed: 2, nodes: 3, replicas: 0 });

const broken = (world: World): readonly number[] => [
  ...new Set(world.invariants.violations.map(({ invariant }) => invariant)),
];

/** A request to the cloud by somebody who keeps to no rule. */
const ask = (world: World, method: string, path: string, body?: unknown): void => {
  const url = `http://cloud/v1${path}`;
  world.cloud.handle({ method, path, query: new URLSearchParams(), body }, undefined);
  world.cloudInvariants.carriedOut({
    method,
    url,
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
};

const serviceOf = (world: World): Service => {
  world.people.create("web", {});
  const service = world.people.find("web");
  if (service === undefined) throw new Error("There is no Service.");
  return service;
};

const balancerFor = (uid: string) => ({
  name: "lb",
  labels: { cluster: "kubernetes", "managed-by": "fairlead", "owner-uid": uid },
});

const patchAs = (world: World, change: (service: Service) => unknown): void => {
  world.script.as("replica-0", () =>
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

test("a balancer that is made before the finalizer breaks 5", () => {
  const world = worldOf();
  ask(world, "POST", "/balancers", balancerFor(serviceOf(world).metadata.uid));
  expect(broken(world)).toEqual([5]);
});

test("a balancer that is made for a Service that is gone breaks 5", () => {
  const world = worldOf();
  ask(world, "POST", "/balancers", balancerFor("nobody"));
  expect(broken(world)).toEqual([5]);
});

test("a finalizer that leaves before the balancer breaks 5", () => {
  const world = worldOf();
  const { uid } = serviceOf(world).metadata;
  patchAs(world, (service) => withFinalizers(service, [mark]));
  ask(world, "POST", "/balancers", balancerFor(uid));
  expect(broken(world)).toEqual([]);
  patchAs(world, (service) => withFinalizers(service, []));
  expect(broken(world)).toEqual([5]);
});

test.each([
  ["DELETE", "/balancers/b1"],
  ["PATCH", "/balancers/b1"],
  ["DELETE", "/routes/r1"],
  ["DELETE", "/routes/r2"],
])("%s %s, which is not ours, breaks 7", async (method, path) => {
  const world = worldOf();
  await world.clock.advance(seconds(10));
  ask(world, method, path, { labels: {}, targets: ["7"] });
  expect(broken(world)).toEqual([7]);
});

test("a route outside the cluster's ranges breaks 8, one without our mark 7", () => {
  const labels = { cluster: "kubernetes" };
  const outside = worldOf();
  ask(outside, "POST", "/routes", { destination: "192.168.0.0/24", machine: "1", labels });
  expect(broken(outside)).toContain(8);
  const unmarked = worldOf();
  ask(unmarked, "POST", "/routes", { destination: "10.244.1.0/24", machine: "1", labels: {} });
  expect(broken(unmarked)).toContain(7);
});

test("a write that loses what others wrote on a Service breaks 4", () => {
  const world = worldOf();
  serviceOf(world);
  world.people.annotate("web", "team.example/owner", "us");
  patchAs(world, ({ metadata, ...rest }) => ({ ...rest, metadata: { ...metadata, annotations: {} } }));
  expect(broken(world)).toEqual([4]);
});

test("two changes of one balancer at once break 10", () => {
  const world = new World({ seed: 2, nodes: 1, replicas: 1 });
  const [replica] = world.replicas;
  if (replica === undefined) throw new Error("There is no replica.");
  const request = { method: "PATCH", url: "http://cloud/v1/balancers/b1", body: "{}" };
  const done = world.cloudInvariants.handedOver(replica, request);
  done("accepted");
  world.cloudInvariants.handedOver(replica, request);
  expect(broken(world)).toEqual([]);
  world.cloudInvariants.handedOver(replica, request);
  expect(broken(world)).toEqual([10]);
  world.killReplica(replica);
});

test("a world that nobody looks after is unsettled in every way that is looked for", async () => {
  const world = new World({ seed: 2, nodes: 3, replicas: 1 });
  world.people.create("web", {});
  await world.clock.advance(minutes(2));
  expect(unsettled(world)).toEqual([]);
  for (const replica of [...world.replicas]) world.killReplica(replica);
  const [, balancer] = world.cloud.balancers.list();
  const ours = world.cloud.routes.list().filter(({ destination }) => destination < "10.244.200");
  world.cloud.balancers.change(balancer?.id ?? "", { targets: [], listeners: [], algorithm: "none" });
  for (const { id } of ours.slice(0, 1)) world.cloud.routes.remove(id);
  world.people.edit("web", "no status", (one) => ({ ...one, status: { loadBalancer: {} } }), "status");
  world.people.create("mail", {});
  world.cloud.balancers.create(balancerFor("nobody"));
  await world.clock.advance(seconds(30));
  const text = unsettled(world).join("\n");
  for (const each of [
    "of nobody is left over",
    "mail has 0 balancers",
    "mail has no finalizer",
    "web has  in its status",
    "web has listeners",
    "web has the algorithm none",
    "web leads to",
    "has routes to",
  ]) {
    expect(text).toContain(each);
  }
  world.kubelets.stop();
});
