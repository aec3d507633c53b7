// Which Nodes are described without querying the inventory, because nothing is recorded about them. They must be settled.

import { afterEach, expect, test } from "bun:test";
import { isPlainlySettled } from "../../../src/inspect/explain/describe-node.ts";
import { Describer } from "../../../src/inspect/explain/describe-object.ts";
import { briefly } from "../../../src/inspect/explain/description.ts";
import type { KubeObject } from "../../../src/testing/apiserver/objects/kube-object.ts";
import { resourceNamed } from "../../../src/testing/apiserver/objects/resource-table.ts";
import { toNode } from "../../support/api-server-nodes.ts";
import { uninitialized } from "../../support/node-controllers.ts";
import { ServiceWorld } from "../../support/service-world.ts";

let world: ServiceWorld | undefined;
afterEach(() => world?.stop());

const ready = { conditions: [{ type: "Ready", status: "True" }] };
const condition = (type: string, status: string) => ({
  conditions: [...ready.conditions, { type, status, reason: "Test", message: "Test." }],
});
const outOfService = { key: "node.kubernetes.io/out-of-service", effect: "NoExecute" };
const shutdown = { key: "node.cloudprovider.kubernetes.io/shutdown", effect: "NoSchedule" };

/** The controllers record something about each of these Nodes, or change it. */
const unusual: readonly Parameters<typeof toNode>[0][] = [
  { name: "lost", spec: { taints: [uninitialized] }, status: ready },
  { name: "foreign", spec: { providerID: "other://1" }, status: ready },
  { name: "not-ready", spec: { providerID: "fake://1" }, status: { conditions: [] } },
  { name: "gone", spec: { providerID: "fake://999" }, status: { conditions: [] } },
];

const own: readonly Parameters<typeof toNode>[0][] = [
  { name: "out-of-service", spec: { taints: [outOfService] }, status: ready },
  { name: "shut-down", spec: { taints: [shutdown] }, status: ready },
  { name: "with-problem", status: condition("CloudReady", "False") },
  { name: "without-route", status: condition("NetworkUnavailable", "True") },
  { name: "leaving", status: ready, deletionTimestamp: "2026-01-01T00:00:00Z" },
  { name: "not-ready", status: { conditions: [] } },
  { name: "joining", spec: { taints: [uninitialized] }, status: ready },
  { name: "paused", status: ready, annotations: { "fairlead.dev/paused": "true" } },
];

test.each(own)("the Node object is enough to recognize a Node that is not plain: $name", (draft) => {
  expect(isPlainlySettled(toNode(draft))).toBe(false);
  expect(isPlainlySettled(toNode({ name: "settled", status: ready }))).toBe(true);
});

test("every plain Node is settled, and an unusual Node is not plain", async () => {
  const w = new ServiceWorld({ nodes: 3 });
  world = w;
  await w.start("--controllers=cloud-node,cloud-node-lifecycle", "--node-deletion=off");
  for (const name of ["node-0", "node-1", "node-2"]) w.setReady(name, "True");
  for (const draft of unusual)
    w.server.store.put(resourceNamed("nodes"), toNode(draft) as unknown as KubeObject);
  await w.pass(30);
  const describer = new Describer(w.manager);
  const all = w.manager.nodes.list();
  expect(all).toHaveLength(3 + unusual.length);
  const plain = all.filter((node) => describer.isPlain(node));
  expect(plain.map(({ metadata }) => metadata.name as string)).toEqual(["node-0", "node-1", "node-2"]);
  expect(plain.map((node) => briefly(describer.node(node)).state)).toEqual(["settled", "settled", "settled"]);
});

test("no Node is plain while the cloud has a problem that concerns all Nodes", async () => {
  const w = new ServiceWorld({
    nodes: 1,
    cloud: () => () => Promise.resolve(new Response("{}", { status: 503 })),
  });
  world = w;
  await w.start("--controllers=cloud-node");
  w.setReady("node-0", "True");
  await w.pass(5);
  const describer = new Describer(w.manager);
  const [node] = w.manager.nodes.list();
  if (node === undefined) throw new Error("The Node is missing.");
  expect(describer.isPlain(node)).toBe(false);
  expect(briefly(describer.node(node)).state).toBe("problem");
});
