// How many requests DigitalOcean's manager sends in common situations.

import { expect, test } from "bun:test";
import { runsAllTests } from "../../../src/testing/breadth.ts";
import { DigitalOceanWorld, tcpPort } from "./digitalocean-world.ts";

const nodeControllers = "cloud-node,cloud-node-lifecycle";

test.if(runsAllTests)("initializes 1,000 Nodes of DigitalOcean with at most 8 requests [F9]", async () => {
  const h = new DigitalOceanWorld();
  for (let index = 0; index < 1000; index += 1) h.joinNode(`node-${index}`);
  await h.start(nodeControllers);
  await h.world.until(() => h.uninitialized === 0, "all Nodes", 60);
  expect(h.requests.length).toBeLessThanOrEqual(8);
});

test.if(runsAllTests)(
  "creates 200 load balancers of DigitalOcean with at most 230 requests, adds a Node with one change each, restarts with at most 10 and no change, and deletes them without a 429 [F9 F51]",
  async () => {
    const h = new DigitalOceanWorld({ nodes: 10 });
    await h.start(`${nodeControllers},service`);
    const names = Array.from({ length: 200 }, (_, index) => `s${index}`);
    for (const [index, name] of names.entries()) {
      h.world.create(name, { spec: { ports: [tcpPort(30_000 + index)] } });
    }
    await h.world.until(() => names.every((name) => h.world.addressesOf(name).length > 0), "all addresses");
    expect(h.requests.length).toBeLessThanOrEqual(230);
    expect(h.changes).toEqual(names.map(() => "POST /v2/load_balancers"));
    await h.world.pass(300);
    h.forget();
    h.addNode("more");
    await h.world.pass(300);
    expect(h.changes).toEqual(names.map(() => "POST /v2/load_balancers/{id}/droplets"));
    expect(h.requests.length).toBeLessThanOrEqual(225);
    h.forget();
    await h.world.stop();
    await h.start(`${nodeControllers},service`);
    await h.world.pass(60);
    expect(h.changes).toEqual([]);
    expect(h.requests.length).toBeLessThanOrEqual(10);
    h.forget();
    for (const name of names) h.world.delete(name);
    await h.world.until(() => names.every((name) => h.world.find(name) === undefined), "all gone", 600);
    expect(h.changes).toEqual(names.map(() => "DELETE /v2/load_balancers/{id}"));
    expect(h.requests.length).toBeLessThanOrEqual(420);
    expect(h.cloud.seen.filter(({ status }) => status === 429)).toEqual([]);
  },
);
