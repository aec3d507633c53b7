// How many requests Hetzner's manager sends in common situations.

import { expect, test } from "bun:test";
import { milliseconds } from "../../../src/core/brand.ts";
import { runsAllTests } from "../../../src/testing/breadth.ts";
import { HetznerWorld } from "./hetzner-world.ts";

const nodeControllers = "cloud-node,cloud-node-lifecycle";
const isChange = (operation: string): boolean => !operation.startsWith("GET ");

test.if(runsAllTests)("initializes 1,000 Nodes with at most 25 requests [F9]", async () => {
  const h = new HetznerWorld();
  for (let index = 0; index < 1000; index += 1) h.joinNode(`node-${index}`);
  await h.start(nodeControllers);
  await h.world.until(() => h.uninitialized === 0, "all Nodes", 60);
  expect(h.requests.length).toBeLessThanOrEqual(25);
});

test.if(runsAllTests)(
  "creates 200 load balancers with at most 230 requests, adds a Node with one change each, sends no change after a restart, and deletes each with one change and a lookup [F9 F51]",
  async () => {
    const h = new HetznerWorld({ nodes: 10 });
    await h.start(`${nodeControllers},service`);
    const names = Array.from({ length: 200 }, (_, index) => `s${index}`);
    for (const [index, name] of names.entries()) {
      h.world.create(name, { spec: { ports: [{ port: 80, protocol: "TCP", nodePort: 30_000 + index }] } });
    }
    await h.world.until(() => names.every((name) => h.world.addressesOf(name).length > 0), "all addresses");
    expect(h.requests.length).toBeLessThanOrEqual(230);
    await h.world.pass(30);
    h.forget();
    h.addNode("more");
    await h.world.pass(60);
    expect(h.requests.filter(isChange)).toEqual(
      names.map(() => "POST /load_balancers/{id}/actions/add_target"),
    );
    expect(h.requests.length).toBeLessThanOrEqual(225);
    h.forget();
    await h.world.stop();
    await h.start(`${nodeControllers},service`);
    await h.world.pass(60);
    expect(h.requests.filter(isChange)).toEqual([]);
    expect(h.requests.length).toBeLessThanOrEqual(30);
    h.forget();
    for (const name of names) h.world.delete(name);
    await h.world.until(() => h.world.services().length === 0, "all deletions");
    await h.world.pass(60);
    expect(h.requests.filter(isChange)).toEqual(names.map(() => "DELETE /load_balancers/{id}"));
    expect(h.requests.length).toBeLessThanOrEqual(425);
  },
);

async function withReadyNodes(): Promise<HetznerWorld> {
  const h = new HetznerWorld({ nodes: 1000 });
  for (let index = 0; index < 1000; index += 1) h.world.setReady(`node-${index}`, "True");
  await h.start(nodeControllers);
  await h.world.pass(600);
  h.forget();
  return h;
}

test.if(runsAllTests)(
  "lists the servers of 1,000 Nodes at most twice in an hour in which nothing changes [F9 S8]",
  async () => {
    const h = await withReadyNodes();
    await h.world.pass(3600);
    expect(h.cloud.counts()["GET /servers"]).toBeLessThanOrEqual(40);
    expect(h.requests.length).toBeLessThanOrEqual(45);
  },
);

test.if(runsAllTests)(
  "sends at most 25 requests in a minute in which 100 of 1,000 Nodes become NotReady, and then 4 per minute [F24 S8]",
  async () => {
    const h = await withReadyNodes();
    for (let index = 0; index < 100; index += 1) h.world.setReady(`node-${index}`, "Unknown");
    await h.world.pass(60);
    expect(h.requests).toContain("GET /servers");
    expect(h.requests.length).toBeLessThanOrEqual(25);
    h.forget();
    await h.world.pass(3600);
    // The limit, plus the listings of an idle hour.
    expect(h.requests.length).toBeLessThanOrEqual(60 * 4 + 45);
    expect(h.nodes()).toHaveLength(1000);
  },
);

test.if(runsAllTests)(
  "stays within the limit of 3,600 requests per hour while ten Nodes per second join [F71 F9]",
  async () => {
    const h = new HetznerWorld({ latency: milliseconds(20) });
    await h.start(nodeControllers);
    const joining = runsAllTests ? 1200 : 300;
    for (let index = 0; index < joining; index += 1) {
      h.joinNode(`node-${index}`);
      await h.world.pass(0.1);
    }
    await h.world.until(() => h.uninitialized === 0, "all Nodes", 60);
    const lookups = h.cloud.seen.filter(({ path }) => path.includes("name=") || /^\/servers\/\d/.test(path));
    expect(lookups.length).toBeLessThanOrEqual(joining);
    expect(h.requests.length).toBeLessThanOrEqual(joining + 100);
    expect(h.cloud.seen.filter(({ status }) => status === 429)).toEqual([]);
  },
);
