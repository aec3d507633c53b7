// Listings of the simulated Hetzner Cloud: pages, filters, order, lies, and authentication.

import { expect, test } from "bun:test";
import { seconds } from "../../../../src/core/brand.ts";
import { namesIn, setUp } from "./ask.ts";

function withServers(count: number) {
  const world = setUp();
  for (let index = 0; index < count; index++)
    world.project.servers.add(`node-${index}`, { labels: index % 2 === 0 ? { pool: "even" } : {} });
  return world;
}

test("the simulator returns pages with 25 entries by default and at most 50", async () => {
  const { ask } = withServers(120);
  const first = await ask("/servers");
  expect(first.body.servers).toHaveLength(25);
  expect(first.body.meta.pagination).toEqual({
    page: 1,
    per_page: 25,
    previous_page: null,
    next_page: 2,
    last_page: 5,
    total_entries: 120,
  });
  const last = await ask("/servers?page=3&per_page=500");
  expect(last.body.servers).toHaveLength(20);
  expect(last.body.meta.pagination).toEqual({
    page: 3,
    per_page: 50,
    previous_page: 2,
    next_page: null,
    last_page: 3,
    total_entries: 120,
  });
  expect((await ask("/servers?page=0")).code).toBe("invalid_input");
});

test("the simulator returns an empty page beyond the last page", async () => {
  const { ask } = withServers(3);
  const { body } = await ask("/servers?page=9");
  expect([body.servers, body.meta.pagination.next_page, body.meta.pagination.total_entries]).toEqual([
    [],
    null,
    3,
  ]);
});

test("the simulator filters by name and label selector, and rejects other parameters", async () => {
  const { ask } = withServers(6);
  expect(namesIn((await ask("/servers?name=node-3")).body.servers)).toEqual(["node-3"]);
  expect((await ask("/servers?status=off")).code).toBe("invalid_input");
  expect(namesIn((await ask("/servers?label_selector=!pool")).body.servers)).toEqual([
    "node-1",
    "node-3",
    "node-5",
  ]);
});

test.each([
  ["a==1", ["x"]],
  ["a=1,b", []],
  ["a!=1", ["y", "z"]],
  ["b", ["y"]],
  ["!b,!a", ["z"]],
  ["example.com/uid==3", ["z"]],
])("the simulator selects servers by the labels %p", async (selector, expected) => {
  const { ask, project } = setUp();
  project.servers.add("x", { labels: { a: "1" } });
  project.servers.add("y", { labels: { a: "2", b: "" } });
  project.servers.add("z", { labels: { "example.com/uid": "3" } });
  const { body } = await ask(`/servers?label_selector=${encodeURIComponent(selector)}`);
  expect(namesIn(body.servers)).toEqual([...expected]);
});

test.each(["a=b=c", "a in (1,2)", "", "-a", "a==b c"])(
  "the simulator rejects the label selector %p",
  async (selector) => {
    const { ask } = setUp();
    const { status, code } = await ask(`/servers?label_selector=${encodeURIComponent(selector)}`);
    expect([status, code]).toEqual([422, "invalid_input"]);
  },
);

test.each([
  ["empty-list", [], 0],
  ["short-page", ["a", "b"], 3],
  ["duplicate", ["a", "a", "b"], 3],
  ["shift", ["b", "c"], 2],
] as const)("the simulator returns an incorrect page with the fault %p", async (kind, expected, total) => {
  const { ask, cloud, project } = setUp();
  for (const name of ["a", "b", "c"]) project.servers.add(name);
  cloud.faults.add({ kind, operation: "GET /servers", after: 1 });
  expect(namesIn((await ask("/servers")).body.servers)).toEqual(["a", "b", "c"]);
  const { body } = await ask("/servers");
  expect(namesIn(body.servers)).toEqual([...expected]);
  expect(body.meta.pagination.total_entries).toBe(total);
  expect(namesIn((await ask("/servers")).body.servers)).toEqual(["a", "b", "c"]);
});

test("the simulator shows an older state in lagging listings, and the current state by id", async () => {
  const { ask, clock, project } = setUp();
  const { id } = project.servers.add("a");
  project.servers.lag = seconds(5);
  project.servers.add("b");
  project.servers.remove(id);
  const listed = async () => namesIn((await ask("/servers")).body.servers);
  expect(await listed()).toEqual(["a"]);
  expect((await ask(`/servers/${id}`)).status).toBe(404);
  await clock.advance(seconds(5));
  expect(await listed()).toEqual(["b"]);
});

test.each([
  ["listings", [], 200],
  ["lookups", ["a"], 404],
  ["both", [], 404],
] as const)("the simulator hides a server from %p temporarily", async (from, names, status) => {
  const { ask, clock, cloud, project } = setUp();
  const { id } = project.servers.add("a");
  cloud.faults.hide({ resource: "a", from, milliseconds: 1000 });
  expect(namesIn((await ask("/servers")).body.servers)).toEqual([...names]);
  expect((await ask(`/servers/${id}`)).status).toBe(status);
  await clock.advance(seconds(1));
  expect(namesIn((await ask("/servers")).body.servers)).toEqual(["a"]);
  expect((await ask(`/servers/${id}`)).status).toBe(200);
});

test("the simulator lists the offers of the cloud", async () => {
  const { ask } = setUp();
  const { locations } = (await ask("/locations?name=fsn1")).body;
  expect([namesIn(locations), locations[0].network_zone]).toEqual([["fsn1"], "eu-central"]);
  expect(namesIn((await ask("/load_balancer_types")).body.load_balancer_types)).toEqual([
    "lb11",
    "lb21",
    "lb31",
  ]);
  expect((await ask("/server_types/114")).body.server_type.name).toBe("cx23");
  expect((await ask("/locations/99")).code).toBe("not_found");
});

test("the simulator rejects unknown tokens, and changes with a read-only token", async () => {
  const { ask, cloud } = setUp();
  expect((await ask("/servers", "GET", undefined, "any")).status).toBe(200);
  cloud.tokens.add("old");
  cloud.tokens.add("new");
  cloud.tokens.add("viewer", "read");
  for (const token of ["old", "new", "viewer"])
    expect((await ask("/servers", "GET", undefined, token)).status).toBe(200);
  cloud.tokens.revoke("old");
  const refused = await ask("/servers", "GET", undefined, "old");
  expect([refused.status, refused.code]).toEqual([401, "unauthorized"]);
  const changed = await ask("/networks", "POST", {}, "viewer");
  expect([changed.status, changed.code]).toEqual([403, "forbidden"]);
  cloud.readonlyCode = "token_readonly";
  const earlier = await ask("/networks", "POST", {}, "viewer");
  expect([earlier.status, earlier.code]).toEqual([401, "token_readonly"]);
});

test("the simulator gives 5,000 servers addresses in one network, and lists them in pages", async () => {
  const { ask, project } = setUp();
  const { id: network } = project.networks.add("net");
  for (let index = 0; index < 5000; index++)
    project.servers.add(`node-${index}`, { networks: [{ network }] });
  const { body } = await ask("/servers?per_page=50&page=100");
  expect(body.servers.at(-1).private_net[0].ip).toBe("10.0.19.137");
  expect((await ask(`/networks/${network}`)).body.network.servers).toHaveLength(5000);
});
