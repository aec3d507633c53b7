import { expect, test } from "bun:test";
import { putEndpoints } from "../../support/put-endpoints.ts";
import { ServiceWorld } from "../../support/service-world.ts";

// Services whose targets are only Nodes with a ready endpoint, in a whole manager.

const policy = { annotations: { "fairlead.dev/target-policy": "endpoints" } };
const local = { spec: { externalTrafficPolicy: "Local" } };

const targetsOf = (w: ServiceWorld, service: string): readonly string[] => {
  const uid = w.get(service).metadata.uid;
  const balancer = w.cloud.balancers.list().find(({ labels }) => labels["owner-uid"] === uid);
  const nameOf = new Map(w.cloud.machines.list().map(({ id, name }) => [id, name]));
  return (balancer?.targets ?? []).map((id) => nameOf.get(id) ?? id).toSorted();
};

test("targets follow the Nodes with a ready endpoint, and a short flap changes nothing [F43 N12]", async () => {
  const w = new ServiceWorld({ nodes: 4 });
  await w.start();
  putEndpoints(w, "web", ["node-0", "node-2"], ["node-3"]);
  w.create("web", policy);
  await w.pass(30);
  expect(targetsOf(w, "web")).toEqual(["node-0", "node-2"]);
  w.forget();
  putEndpoints(w, "web", ["node-2"]);
  await w.pass(20);
  putEndpoints(w, "web", ["node-0", "node-2"]);
  await w.pass(60);
  expect(w.changes).toEqual([]);
  putEndpoints(w, "web", ["node-1", "node-2"]);
  await w.pass(10);
  expect(targetsOf(w, "web")).toEqual(["node-0", "node-1", "node-2"]);
  await w.pass(30);
  expect(targetsOf(w, "web")).toEqual(["node-1", "node-2"]);
  expect(w.changes).toHaveLength(2);
});

test("a Service without ready endpoints has all Nodes as targets and gets an event [F43]", async () => {
  const w = new ServiceWorld({ nodes: 3 });
  await w.start();
  putEndpoints(w, "web", ["node-1"]);
  w.create("web", policy);
  await w.pass(30);
  putEndpoints(w, "web", []);
  await w.pass(25);
  expect(targetsOf(w, "web")).toEqual(["node-1"]);
  await w.pass(30);
  expect(targetsOf(w, "web")).toEqual(["node-0", "node-1", "node-2"]);
  expect(w.events("web").filter((text) => text.includes("NoEndpoints"))).toHaveLength(1);
  putEndpoints(w, "web", ["node-2"]);
  await w.pass(60);
  expect(targetsOf(w, "web")).toEqual(["node-2"]);
});

test("a restart waits for the endpoints before it plans, and changes nothing [F43]", async () => {
  const w = new ServiceWorld({ nodes: 4 });
  await w.start();
  putEndpoints(w, "web", ["node-1"]);
  w.create("web", policy);
  await w.pass(30);
  w.crash();
  w.forget();
  await w.start();
  await w.pass(120);
  expect([w.changes, w.written]).toEqual([[], []]);
});

test("EndpointSlices are watched only while a Service needs them [F43]", async () => {
  const w = new ServiceWorld({ nodes: 2 });
  const asks = () => w.read.filter((path) => path.endsWith("/endpointslices")).length;
  await w.start();
  w.create("plain");
  await w.pass(600);
  expect(asks()).toBe(0);
  putEndpoints(w, "web", ["node-0"]);
  w.create("web", policy);
  await w.pass(30);
  expect(asks()).toBeGreaterThan(0);
  w.delete("web");
  await w.pass(30);
  w.forget();
  await w.pass(3600);
  expect(asks()).toBe(0);
  w.annotate("plain", policy.annotations);
  putEndpoints(w, "plain", ["node-1"]);
  await w.pass(30);
  expect(targetsOf(w, "plain")).toEqual(["node-1"]);
});

test("uses all Nodes as targets and reports the missing permission when EndpointSlices cannot be read [F43]", async () => {
  const w = new ServiceWorld({ nodes: 2 });
  const status = { kind: "Status", apiVersion: "v1", status: "Failure", code: 403, reason: "Forbidden" };
  w.readFault = (path) =>
    path.endsWith("/endpointslices")
      ? Response.json({ ...status, message: "no" }, { status: 403 })
      : undefined;
  await w.start();
  putEndpoints(w, "web", ["node-0"]);
  w.create("web", policy);
  await w.pass(30);
  expect(targetsOf(w, "web")).toEqual(["node-0", "node-1"]);
  expect(w.events("web").join()).toContain("EndpointSlices cannot be read, so every Node is a target: ");
  w.readFault = undefined;
  await w.pass(300);
  expect(targetsOf(w, "web")).toEqual(["node-0"]);
});

test("--load-balancer-targets=local-endpoints restricts only Services with externalTrafficPolicy Local [F43 F50]", async () => {
  const w = new ServiceWorld({ nodes: 3 });
  await w.start("--load-balancer-targets=local-endpoints");
  for (const name of ["local", "cluster", "annotated"]) putEndpoints(w, name, ["node-1"]);
  w.create("local", local);
  w.create("cluster");
  w.create("annotated", { ...local, annotations: { "fairlead.dev/target-policy": "all" } });
  await w.pass(30);
  expect(targetsOf(w, "local")).toEqual(["node-1"]);
  expect(targetsOf(w, "cluster")).toHaveLength(3);
  expect(targetsOf(w, "annotated")).toHaveLength(3);
});

test("the cloud's limit restricts the targets, which stay stable and are reported on the Service [F44 N12]", async () => {
  const w = new ServiceWorld({ nodes: 12 });
  await w.start("--config-set=target-limit=5");
  w.create("web");
  await w.pass(30);
  const before = targetsOf(w, "web");
  expect(before).toHaveLength(5);
  expect(w.events("web").join()).toContain("accepts 5 targets, and there are 12 Nodes");
  w.forget();
  const spare = Array.from({ length: 12 }, (_, index) => `node-${index}`).find(
    (name) => !before.includes(name),
  );
  w.removeNode(spare ?? "");
  await w.pass(30);
  expect(w.changes).toEqual([]);
  w.removeNode(before[0] ?? "");
  await w.pass(30);
  const after = targetsOf(w, "web");
  expect(after).toHaveLength(5);
  expect(after.filter((name) => before.includes(name))).toHaveLength(4);
});
