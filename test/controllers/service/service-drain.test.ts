import { expect, test } from "bun:test";
import { departuresOf } from "../../../src/controllers/service/targets/candidate-targets.ts";
import { nodeName } from "../../../src/core/brand.ts";
import type { Node } from "../../../src/kube/objects.ts";
import { scriptedWorld } from "../../support/scripted-world.ts";
import { ServiceWorld } from "../../support/service-world.ts";

// A leaving Node first drains as a target without new connections, and is removed when its drain time is over.

const tenMinutes = "--load-balancer-target-drain=10m";
const autoscaler = "ToBeDeletedByClusterAutoscaler";

const shown = (w: ServiceWorld) => {
  const [balancer] = w.cloud.balancers.list();
  return [balancer?.targets.length, balancer?.draining.length];
};

const taint = (w: ServiceWorld, name: string): void =>
  w.changeNode(name, (node) => ({
    ...node,
    spec: {
      ...node.spec,
      taints: [{ key: autoscaler, value: String(Math.floor(w.clock.now() / 1000)), effect: "NoSchedule" }],
    },
  }));

const exclude = (w: ServiceWorld, name: string): void =>
  w.changeNode(name, (node) => ({
    ...node,
    metadata: {
      ...node.metadata,
      labels: { ...node.metadata.labels, "node.kubernetes.io/exclude-from-external-load-balancers": "true" },
    },
  }));

const settled = async (...flags: readonly string[]): Promise<ServiceWorld> => {
  const w = new ServiceWorld({ nodes: 3 });
  await w.start(...flags);
  w.create("web");
  await w.pass(30);
  w.forget();
  return w;
};

test.each([
  ["tainted by the autoscaler", taint],
  ["excluded", exclude],
] as const)(
  "a Node that is %s drains for the configured time and is then removed [F55]",
  async (_, leave) => {
    const w = await settled(tenMinutes);
    leave(w, "node-1");
    await w.pass(30);
    expect(shown(w)).toEqual([2, 1]);
    await w.pass(540);
    expect(shown(w)).toEqual([2, 1]);
    await w.pass(60);
    expect(shown(w)).toEqual([2, 0]);
    expect(w.changes).toHaveLength(2);
    await w.pass(7200);
    expect(w.changes).toHaveLength(2);
  },
);

test("a leaving Node is removed immediately without a drain time [F55]", async () => {
  const w = await settled();
  taint(w, "node-1");
  await w.pass(10);
  expect(shown(w)).toEqual([2, 0]);
  expect(w.changes).toHaveLength(1);
});

test("a Service sets the drain time of its own targets [F55]", async () => {
  const w = await settled(tenMinutes);
  w.annotate("web", { "fairlead.dev/target-drain": "1m" });
  await w.pass(10);
  taint(w, "node-1");
  await w.pass(40);
  expect(shown(w)).toEqual([2, 1]);
  await w.pass(30);
  expect(shown(w)).toEqual([2, 0]);
});

test("a restart continues a drain, and does not repeat a finished drain [F55]", async () => {
  const w = await settled(tenMinutes);
  taint(w, "node-1");
  await w.pass(300);
  w.crash();
  w.forget();
  await w.start(tenMinutes);
  await w.pass(60);
  expect([shown(w), w.changes]).toEqual([[2, 1], []]);
  await w.pass(260);
  expect(shown(w)).toEqual([2, 0]);
  exclude(w, "node-2");
  await w.pass(700);
  expect(shown(w)).toEqual([1, 0]);
  w.crash();
  w.forget();
  await w.start(tenMinutes);
  await w.pass(60);
  expect([shown(w), w.changes]).toEqual([[1, 0], []]);
});

test("a Node whose removal is cancelled becomes a target again, and a deleted Node stops draining [F55]", async () => {
  const w = await settled(tenMinutes);
  taint(w, "node-1");
  taint(w, "node-2");
  await w.pass(60);
  expect(shown(w)).toEqual([1, 2]);
  w.changeNode("node-1", (node) => ({ ...node, spec: { ...node.spec, taints: [] } }));
  w.removeNode("node-2");
  await w.pass(30);
  expect(shown(w)).toEqual([2, 0]);
});

test("a Service that requests a drain gets a warning when the cloud cannot drain, and is provisioned anyway [F55 F54]", async () => {
  const { w } = scriptedWorld();
  await w.start("--load-balancer-target-drain=10m");
  w.create("asks", { annotations: { "fairlead.dev/target-drain": "1m" } });
  w.create("later");
  w.create("without", { annotations: { "fairlead.dev/target-drain": "0s" } });
  await w.pass(30);
  w.annotate("later", { "fairlead.dev/target-drain": "1m" });
  await w.pass(30);
  const reported = (name: string) => w.events(name).filter((text) => text.includes("DrainUnsupported"));
  expect(reported("asks")).toEqual([
    "Warning DrainUnsupported fairlead.dev/target-drain has no effect: this cloud cannot drain targets, so leaving Nodes are removed immediately. Remove the annotation.",
  ]);
  expect([reported("later").length, reported("without").length]).toEqual([1, 0]);
  expect(w.get("asks").status.conditions).toMatchObject([
    { type: "CloudWarning", reason: "DrainUnsupported" },
  ]);
  expect(w.get("asks").status.loadBalancer?.ingress).toHaveLength(1);
});

const node = (
  name: string,
  change: Partial<Node["metadata"]>,
  taints: Node["spec"]["taints"] = [],
): Node => ({
  metadata: { name, uid: name, resourceVersion: "1", ...change },
  spec: { taints },
  status: {},
});

test("departuresOf reads from the Node when its departure began, never later than now [F55]", () => {
  const at = Date.parse("2026-01-01T00:10:00Z");
  const deleted = node("deleted", { deletionTimestamp: "2026-01-01T00:05:00Z" });
  const ahead = node("ahead", { deletionTimestamp: "2026-01-01T00:20:00Z" });
  const tainted = node("tainted", {}, [
    { key: autoscaler, value: String(at / 1000 - 60), effect: "NoSchedule" },
  ]);
  const odd = node("odd", {}, [{ key: autoscaler, value: "soon", effect: "NoSchedule" }]);
  const all = [deleted, ahead, tainted, odd, node("stays", {})];
  const departures = departuresOf(all, new Map([[nodeName("odd"), at - 5]]), () => false, at);
  expect([...departures].map(([name, since]) => [name, since - at])).toEqual([
    ["deleted", -300_000],
    ["ahead", 0],
    ["tainted", -60_000],
    ["odd", -5],
  ] as never);
});
