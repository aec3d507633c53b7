// Objects that stay unchanged at a user's request, although the cloud lacks their counterpart:
// nothing will ever end their absence.

import { afterEach, expect, test } from "bun:test";
import { type DoubtWorld, names, settled } from "./doubt-world.ts";

let world: DoubtWorld | undefined;
afterEach(async () => {
  await world?.stop();
  expect(world?.unexpectedErrors ?? []).toEqual([]);
  world = undefined;
});

const paused = { "fairlead.dev/paused": "true" };

test("three paused Nodes whose machines are gone do not hold the deletion of a fourth Node", async () => {
  const w = await settled({ nodes: 10 }, ["nodes"]);
  world = w;
  for (const name of names("node", 3))
    w.changeNode(name, (node) => ({
      ...node,
      metadata: { ...node.metadata, annotations: { ...node.metadata.annotations, ...paused } },
    }));
  w.loseMachines(...names("node", 3));
  await w.pass(7200);
  w.loseMachines("node-9");
  await w.pass(7200);
  expect([w.hasNode("node-9"), w.held("nodes")]).toEqual([false, []]);
});

test("three paused Services with manually deleted load balancers do not hold the recreation of a fourth load balancer", async () => {
  const w = await settled({ services: 10 }, ["load-balancers"]);
  world = w;
  for (const name of names("web", 3)) {
    w.annotate(name, paused);
    w.cloud.balancers.remove(w.balancerOf(name).id);
  }
  await w.relist(7200);
  w.cloud.balancers.remove(w.balancerOf("web-9").id);
  await w.relist(7200);
  expect([w.owners().includes(w.get("web-9").metadata.uid), w.held("load-balancers")]).toEqual([true, []]);
});
