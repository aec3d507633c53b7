// How many requests Hetzner's manager sends in common situations.

import { expect, test } from "bun:test";
import { milliseconds } from "../../../src/core/brand.ts";
import { HetznerWorld } from "./hetzner-world.ts";

const nodeControllers = "cloud-node,cloud-node-lifecycle";
const isChange = (operation: string): boolean => !operation.startsWith("GET ");

test("initializes 1,000 Nodes with at most 25 requests [F9]", async () => {
  const h = new HetznerWorld();
  for (let index = 0; index < 1000; index += 1) h.joinNode(`node-${index}`);
  await h.start(nodeControllers);
  await h.world.until(() => h.uninitialized === 0, "all Nodes", 60);
  expect(h.requests.length).toBeLessThanOrEqual(25);
}, 60_000);

test("creates 200 load balancers with at most 230 requests, adds a Node with one change each, and restarts without one [F9 F51]", async () => {
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
}, 60_000);

test("ten Nodes per second for two minutes stay within the limit of 3,600 requests per hour [F71 F9]", async () => {
  const h = new HetznerWorld({ latency: milliseconds(20) });
  await h.start(nodeControllers);
  for (let index = 0; index < 1200; index += 1) {
    h.joinNode(`node-${index}`);
    await h.world.pass(0.1);
  }
  await h.world.until(() => h.uninitialized === 0, "all Nodes", 60);
  const lookups = h.cloud.seen.filter(({ path }) => path.includes("name=") || /^\/servers\/\d/.test(path));
  expect(lookups.length).toBeLessThanOrEqual(1200);
  expect(h.requests.length).toBeLessThanOrEqual(1300);
  expect(h.cloud.seen.filter(({ status }) => status === 429)).toEqual([]);
}, 60_000);
