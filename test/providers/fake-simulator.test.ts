// The simulated cloud: its API, injected faults in virtual time, and the admin API.

import { expect, test } from "bun:test";
import { asTransport, VirtualClock } from "#ccm/testing";
import { handleAdmin } from "../../providers/fake/simulator/admin.ts";
import type { FaultKind } from "../../providers/fake/simulator/fake-cloud.ts";
import { FakeCloud, type FakeCloudOptions } from "../../providers/fake/simulator/fake-cloud.ts";
import { minutes, seconds } from "../../src/core/brand.ts";

const setUp = (options: Partial<FakeCloudOptions> = {}) => {
  const clock = new VirtualClock();
  const cloud = new FakeCloud({ clock, ...options });
  const transport = asTransport(cloud);
  for (const name of ["a", "b", "c"]) cloud.machines.add(name);
  const { signal } = new AbortController();
  const ask = (path: string, method = "GET", body?: unknown) =>
    transport(
      { method, url: `http://fake/v1${path}`, ...(body !== undefined && { body: JSON.stringify(body) }) },
      signal,
    );
  const namesAt = async (path: string): Promise<string[]> => {
    // The type of the simulator's own response.
    const { machines } = (await (await ask(path)).json()) as { machines: { name: string }[] };
    return machines.map(({ name }) => name);
  };
  return { clock, cloud, ask, namesAt, transport };
};

test("the simulated cloud returns its collections in pages, and reports their total", async () => {
  const { ask } = setUp();
  const body = (await (await ask("/machines?per_page=2&page=2")).json()) as { meta: unknown };
  expect(body.meta).toEqual({ page: 2, per_page: 2, total: 3, next_page: null });
});

test("the simulated cloud looks up by ids and by names", async () => {
  const { namesAt } = setUp();
  expect(await namesAt("/machines?ids=3,9,1")).toEqual(["c", "a"]);
  expect(await namesAt("/machines?names=b,x")).toEqual(["b"]);
});

test("the simulated cloud keeps a balancer busy while an action runs", async () => {
  const { ask, clock } = setUp({ actionTime: seconds(3) });
  await ask("/balancers", "POST", { name: "one" });
  expect((await ask("/balancers/b1", "PATCH", { targets: ["1"] })).status).toBe(423);
  await clock.advance(seconds(3));
  expect((await ask("/balancers/b1", "PATCH", { targets: ["1"] })).status).toBe(200);
  expect((await ask("/balancers", "POST", { name: "one" })).status).toBe(409);
});

test("the simulated cloud delays responses by its latency, in the time of the clock", async () => {
  const { ask, clock } = setUp({ latency: seconds(2) });
  let isDone = false;
  const asked = ask("/machines").then(() => {
    isDone = true;
  });
  await clock.advance(seconds(1));
  expect(isDone).toBe(false);
  await clock.advance(seconds(1));
  await asked;
  expect(isDone).toBe(true);
});

test("the simulated cloud rejects requests above its rate limit, which is replenished over time", async () => {
  const { ask, clock } = setUp({ requestsPerHour: 60 });
  for (let count = 0; count < 60; count++) expect((await ask("/machines")).status).toBe(200);
  const refused = await ask("/machines");
  expect([
    refused.status,
    refused.headers.get("retry-after"),
    refused.headers.get("ratelimit-remaining"),
  ]).toEqual([429, "60", "0"]);
  await clock.advance(minutes(1));
  expect((await ask("/machines")).status).toBe(200);
});

test("the simulated cloud rejects an unknown token", async () => {
  const { ask } = setUp({ token: "good" });
  expect((await ask("/machines")).status).toBe(401);
});

test("the simulated cloud fails only the matching requests [F102]", async () => {
  const { ask, cloud } = setUp();
  cloud.faults.add({ kind: "status", status: 503, operation: "GET /machines", after: 1, calls: 2 });
  const statuses: number[] = [];
  for (const path of ["/routes", "/machines", "/routes", "/machines", "/machines", "/machines"]) {
    statuses.push((await ask(path)).status);
  }
  expect(statuses).toEqual([200, 200, 200, 503, 503, 200]);
  expect(cloud.counts()).toEqual({ "GET /machines": 4, "GET /routes": 2 });
});

test("the simulated cloud hides a machine temporarily [F102]", async () => {
  const { namesAt, cloud, clock } = setUp();
  cloud.faults.hide({ resource: "b", from: "both", milliseconds: 1000 });
  expect(await namesAt("/machines")).toEqual(["a", "c"]);
  expect(await namesAt("/machines?names=b")).toEqual([]);
  await clock.advance(seconds(1));
  expect(await namesAt("/machines")).toEqual(["a", "b", "c"]);
});

test.each([
  ["empty-list", []],
  ["short-page", ["a", "b"]],
] as const)("the simulated cloud returns an incorrect listing with the fault %p", async (kind, expected) => {
  const { namesAt, cloud } = setUp();
  cloud.faults.add({ kind });
  expect(await namesAt("/machines")).toEqual([...expected]);
});

test.each(["reset", "lost-answer"] as const satisfies FaultKind[])(
  "the simulated cloud closes the connection with the fault %p [F102]",
  async (kind) => {
    const { ask, cloud } = setUp();
    cloud.faults.add({ kind });
    await expect(ask("/routes", "POST", { destination: "10.0.0.0/24", machine: "1" })).rejects.toThrow(
      "closed",
    );
    expect(cloud.routes.list()).toHaveLength(kind === "reset" ? 0 : 1);
  },
);

test.each([
  ["false-error", 1],
  ["half-made", 0],
] as const)(
  "the simulated cloud creates a balancer although it responds with 500 with the fault %p",
  async (kind, targets) => {
    const { ask, cloud } = setUp();
    cloud.faults.add({ kind });
    expect((await ask("/balancers", "POST", { name: "lb", targets: ["1"] })).status).toBe(500);
    expect(cloud.balancers.list().map((balancer) => balancer.targets.length)).toEqual([targets]);
  },
);

test("the simulated cloud reports success for changes and deletions without making any with the fault no-effect", async () => {
  const { ask, cloud } = setUp();
  await ask("/balancers", "POST", { name: "lb", targets: ["1"] });
  const path = `/balancers/${cloud.balancers.list()[0]?.id}`;
  cloud.faults.add({ kind: "no-effect", calls: 2 });
  expect((await ask(path, "PATCH", { targets: [] })).status).toBe(200);
  expect((await ask(path, "DELETE")).status).toBe(204);
  expect(cloud.balancers.list().map(({ targets }) => targets)).toEqual([["1"]]);
});

test("the simulated cloud shows a replaced view of balancers, routes and volumes, and keeps its true state", async () => {
  const { ask, cloud } = setUp();
  await ask("/balancers", "POST", { name: "lb" });
  await ask("/routes", "POST", { destination: "10.0.0.0/24", machine: "1" });
  const total = async (path: string) =>
    ((await (await ask(path)).json()) as { meta: { total: number } }).meta.total;
  await ask("/volumes", "POST", { name: "pvc" });
  const totals = async () => [await total("/balancers"), await total("/routes"), await total("/volumes")];
  expect(await totals()).toEqual([1, 1, 1]);
  cloud.view = { balancers: () => [], routes: () => [], volumes: () => [], snapshots: () => [] };
  expect(await totals()).toEqual([0, 0, 0]);
  for (const path of ["/balancers/b1", "/volumes/v1"]) expect((await ask(path)).status).toBe(404);
  const { balancers, routes, volumes } = cloud;
  expect([balancers.list(), routes.list(), volumes.list()].map(({ length }) => length)).toEqual([1, 1, 1]);
});

test("the simulated cloud allows two balancers with the same name when names need not be unique", async () => {
  const { ask, cloud } = setUp();
  cloud.balancers.hasUniqueNames = false;
  for (const status of [201, 201]) {
    expect((await ask("/balancers", "POST", { name: "lb" })).status).toBe(status);
  }
  expect(cloud.balancers.list()).toHaveLength(2);
});

test("the simulated cloud hangs until the client gives up [F102]", async () => {
  const { cloud, transport } = setUp();
  cloud.faults.add({ kind: "hang" });
  const controller = new AbortController();
  const asked = transport({ method: "GET", url: "http://fake/v1/machines" }, controller.signal);
  controller.abort(new Error("enough"));
  await expect(asked).rejects.toThrow("enough");
});

test("the admin API changes the simulated cloud", async () => {
  const { cloud } = setUp();
  const send = (method: string, path: string, body?: unknown) =>
    handleAdmin(cloud, { method, path, query: new URLSearchParams(), body });
  expect(send("GET", "/machines")).toBeUndefined();
  send("POST", "/admin/machines/add", { count: 2, prefix: "n" });
  expect(send("POST", "/admin/machines/stop", { machines: ["n3", "1"] })?.body).toEqual({ changed: 2 });
  send("POST", "/admin/machines/terminate", { machines: ["b"] });
  send("POST", "/admin/machines/remove", { machines: ["c"] });
  const resize = { machines: ["n3", "b"], type: "large-4" };
  expect(send("POST", "/admin/machines/resize", resize)?.body).toEqual({ changed: 2 });
  expect(cloud.machines.list().map(({ name, status, type }) => `${name} ${status} ${type}`)).toEqual([
    "a stopped small-2",
    "b terminating large-4",
    "n3 stopped large-4",
    "n4 running small-2",
  ]);
  expect(send("POST", "/admin/machines/explode", {})?.status).toBe(404);
  send("POST", "/admin/reset");
  expect(cloud.machines.list()).toEqual([]);
});

const invalidRequests: readonly (readonly [string, string, unknown, number, string])[] = [
  ["POST", "/admin/machines/add", undefined, 400, 'expects {"machines": ["name", …]} or {"count": 3'],
  ["POST", "/admin/machines/add", { count: "3" }, 400, 'got {"count":"3"}'],
  [
    "POST",
    "/admin/machines/stop",
    { name: "a" },
    400,
    'expects {"machines": ["id or name", …]}; got {"name":"a"}',
  ],
  ["POST", "/admin/machines/resize", { machines: ["a"] }, 400, '"type": "large-4"}'],
  ["POST", "/admin/machines/resize", { machines: ["missing"], type: "x" }, 404, "id or name missing"],
  ["POST", "/admin/machines/stop", { machines: ["missing"] }, 404, "no machine has the id or name missing"],
  ["POST", "/admin/machines/remove", { machines: [] }, 400, 'got {"machines":[]}'],
  ["POST", "/admin/faults", { kind: "stats" }, 400, "one of status, page, refused, reset, lost-answer"],
  ["POST", "/admin/faults", { kind: "hang", call: 2 }, 400, '"calls"'],
  ["POST", "/admin/lies", { machine: "a" }, 400, '"milliseconds": 60000'],
  ["PATCH", "/admin/pace", [], 400, '{"latency": milliseconds}'],
  ["POST", "/admin/machines/explode", {}, 404, "docs/fake-cloud.md"],
];
test.each(invalidRequests)(
  "the admin API rejects %s %s with %j and changes nothing",
  (method, path, body, status, text) => {
    const { cloud } = setUp();
    const before = JSON.stringify(cloud.machines.list());
    const answer = handleAdmin(cloud, { method, path, query: new URLSearchParams(), body });
    expect(answer?.status).toBe(status);
    expect(answer?.body).toMatchObject({ error: { message: expect.stringContaining(text) } });
    expect(JSON.stringify(cloud.machines.list())).toBe(before);
  },
);

test("the response for several machines lists unknown machines separately", () => {
  const { cloud } = setUp();
  const body = { machines: ["a", "missing"] };
  const request = { method: "POST", path: "/admin/machines/stop", query: new URLSearchParams(), body };
  expect(handleAdmin(cloud, request)?.body).toEqual({ changed: 1, unknown: ["missing"] });
});
