import { afterEach, expect, test } from "bun:test";
import type { KubeObject } from "../../src/testing/apiserver/objects/kube-object.ts";
import { resourceNamed } from "../../src/testing/apiserver/objects/resource-table.ts";
import { runsAllTests } from "../../src/testing/breadth.ts";
import { toNode } from "../support/api-server-nodes.ts";
import { ServiceWorld } from "../support/service-world.ts";

// The setting answer-any-node with a whole manager: every Node gets an invented machine, without requests to a cloud.

const uninitialized = {
  key: "node.cloudprovider.kubernetes.io/uninitialized",
  value: "true",
  effect: "NoSchedule",
} as const;

let world: ServiceWorld | undefined;
afterEach(async () => {
  await world?.stop();
});

const start = (w: ServiceWorld, ...flags: readonly string[]) =>
  w.start("--controllers=cloud-node,cloud-node-lifecycle", "--config-set=answer-any-node=true", ...flags);

const join = (w: ServiceWorld, name: string) =>
  w.server.store.put(
    resourceNamed("nodes"),
    toNode({ name, createdAt: w.clock.now(), spec: { taints: [uninitialized] } }) as unknown as KubeObject,
  );

const nodeOf = (w: ServiceWorld, name: string) => w.server.store.get("nodes", undefined, name);
const isInitialized = (w: ServiceWorld, name: string): boolean => {
  const { providerID, taints = [] } = (nodeOf(w, name)?.spec ?? {}) as Record<string, unknown>;
  return providerID === `fake://any-${name}` && (taints as readonly unknown[]).length === 0;
};

test.if(runsAllTests)(
  "answer-any-node initializes every Node that joins, before and after the first listing [F100]",
  async () => {
    const w = new ServiceWorld({ nodes: 0 });
    world = w;
    const names = Array.from({ length: 120 }, (_, index) => `worker-${index}`);
    for (const name of names.slice(0, 60)) join(w, name);
    await start(w);
    for (const name of names.slice(60)) join(w, name);
    await w.until(() => names.every((name) => isInitialized(w, name)), "all Nodes to be initialized", 60);
    await w.pass(600);
    join(w, "late");
    await w.until(() => isInitialized(w, "late"), "the last Node to be initialized", 5);
    expect(w.cloud.seen).toEqual([]);
  },
);

test("answer-any-node keeps the Nodes that an earlier process initialized when they become NotReady", async () => {
  const w = new ServiceWorld({ nodes: 0, providerIDOf: (name) => `fake://any-${name}` });
  world = w;
  w.addNode("worker-1");
  w.changeNode("worker-1", (node) => ({
    ...node,
    status: { ...node.status, conditions: [{ type: "Ready", status: "Unknown" }] },
  }));
  await start(w, "--compatibility=upstream");
  await w.pass(1200);
  expect(nodeOf(w, "worker-1")).toBeDefined();
});
