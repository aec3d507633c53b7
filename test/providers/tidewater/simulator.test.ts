// The simulated cloud does what api.md says, so that a provider can be written from that page alone.

import { expect, test } from "bun:test";
import { milliseconds, seconds } from "#ccm";
import { VirtualClock } from "#ccm/testing";
import { makeHarness } from "./make-harness.ts";
import { tidewater } from "./provider/index.ts";
import { TidewaterCloud, type TidewaterOptions, type ZoneName } from "./simulator/tidewater-cloud.ts";

const setUp = (options: Partial<TidewaterOptions> = {}) => {
  const clock = new VirtualClock();
  const cloud = new TidewaterCloud({ clock, ...options });
  const { signal } = new AbortController();
  const send = (method: string, path: string, body?: object, zone: ZoneName = "north") => {
    const url = `https://${zone}.tidewater.example/v3${path}`;
    const text = body && JSON.stringify(body);
    const headers = { "tidewater-key": "tide" };
    return cloud.transport({ method, url, headers, ...(text !== undefined && { body: text }) }, signal);
  };
  /** The status and, of an error, the code. */
  const refusalOf = async (method: string, path: string, body?: object) => {
    const response = await send(method, path, body);
    return `${response.status} ${((await response.json()) as { fault: { code: string } }).fault.code}`;
  };
  const read = async <T>(path: string, zone?: ZoneName) =>
    (await (await send("GET", path, undefined, zone)).json()) as T;
  const frontend = () => read<{ stamp: string; condition: string; pools: unknown[] }>("/frontends/f-1");
  const entries = async (path: string) => (await read<{ entries: unknown[] }>(path)).entries;
  /** Changes something with the current stamp, and returns the ticket after this time. */
  const change = async (method: string, path: string, body?: object, time = 4000) => {
    const stamped = path === "/frontends" ? path : `${path}?stamp=${(await frontend()).stamp}`;
    const { ticket } = (await (await send(method, stamped, body)).json()) as { ticket: string };
    await clock.advance(milliseconds(time));
    return (await read<{ tickets: unknown[] }>(`/tickets?is=${ticket}`)).tickets[0];
  };
  return { clock, cloud, send, read, refusalOf, frontend, entries, change };
};

const shop = { label: "shop", tags: { team: "web" }, class: "compact", allow: null };
const http = { protocol: "tcp", port: 80, machine_port: 30_080 };
const pools = "/frontends/f-1/pools";

test("shows a new machine to lookups at once, and in listings after the lag", async () => {
  const { clock, cloud, entries } = setUp();
  cloud.zones.north.machines.add("web-1");
  expect(await entries("/machines?label=web-1")).toHaveLength(1);
  expect(await entries("/machines?id=m-0001&id=m-0002")).toHaveLength(1);
  expect(await entries("/machines")).toEqual([]);
  await clock.advance(seconds(2));
  expect(await entries("/machines")).toHaveLength(1);
});

test("pages a listing by path, and counts all pages in its total", async () => {
  const { cloud, clock, read } = setUp({ pageSize: 2 });
  for (const label of ["a", "b", "c"]) cloud.zones.north.machines.add(label);
  await clock.advance(seconds(2));
  expect(await read("/machines")).toMatchObject({ total: 3, next: "/machines?from=2" });
  expect(await read("/machines?from=2")).toMatchObject({ entries: [{ label: "c" }], total: 3, next: null });
});

test("builds a frontend by a ticket, which names its id at the end", async () => {
  const { change, frontend, entries, refusalOf } = setUp();
  expect(await change("POST", "/frontends", shop, 3999)).toMatchObject({ phase: "running", made: null });
  expect(await frontend()).toMatchObject({ condition: "building", address: null });
  expect(await refusalOf("POST", "/frontends", shop)).toBe("409 label_taken");
  expect(await entries("/frontends?label=shop")).toHaveLength(1);
});

test("removes members, pools and the frontend only in this order", async () => {
  const { cloud, change, frontend, refusalOf, clock, entries } = setUp();
  const { address } = cloud.zones.north.machines.add("web-1");
  expect(await change("POST", "/frontends", shop)).toMatchObject({ phase: "settled", made: "f-1" });
  expect(await change("POST", pools, http)).toMatchObject({ made: "p-2" });
  expect(await frontend()).toMatchObject({ condition: "bare" });
  await change("PUT", `${pools}/p-2/members`, { members: [address] });
  expect(await frontend()).toMatchObject({ condition: "serving", pools: [{ members: [address] }] });
  const stamp = async () => `stamp=${(await frontend()).stamp}`;
  expect(await refusalOf("DELETE", `/frontends/f-1?${await stamp()}`)).toBe("409 in_use");
  expect(await refusalOf("DELETE", `${pools}/p-2?${await stamp()}`)).toBe("409 in_use");
  await change("PUT", `${pools}/p-2/members`, { members: [] });
  await change("DELETE", `${pools}/p-2`);
  await change("DELETE", "/frontends/f-1", undefined, 3000);
  expect(await refusalOf("GET", "/frontends/f-1")).toBe("404 no_such_frontend");
  expect(await entries("/frontends")).toHaveLength(1);
  await clock.advance(seconds(2));
  expect(await entries("/frontends")).toEqual([]);
});

test("refuses a change with an old stamp, and every change while a ticket runs", async () => {
  const { change, frontend, refusalOf, send } = setUp();
  await change("POST", "/frontends", shop);
  const { stamp } = await frontend();
  expect(await refusalOf("POST", pools, http)).toBe("409 stale_stamp");
  expect((await send("POST", `${pools}?stamp=${stamp}`, http)).status).toBe(202);
  expect(await refusalOf("POST", `${pools}?stamp=${(await frontend()).stamp}`, http)).toBe("409 busy");
});

test("rejects single members, and too many of them as a whole", async () => {
  const { cloud, change, frontend, refusalOf } = setUp();
  const [good, linked, bad, far] = (["north", "east", "north", "isle"] as const).map(
    (zone) => cloud.zones[zone].machines.add("web").address,
  );
  cloud.zones.north.machines.quarantined.add(bad ?? "");
  await change("POST", "/frontends", shop);
  await change("POST", pools, http);
  const members = [good, linked, bad, far];
  const ticket = await change("PUT", `${pools}/p-2/members`, { members });
  expect(ticket).toMatchObject({
    phase: "settled",
    rejected: [
      { address: bad, code: "quarantined" },
      { address: far, code: "no_path" },
    ],
  });
  expect(await frontend()).toMatchObject({ pools: [{ members: [good, linked] }] });
  const path = `${pools}/p-2/members?stamp=${(await frontend()).stamp}`;
  expect(await refusalOf("PUT", path, { members: [...members, "10.20.0.9"] })).toBe("422 bad_members");
});

test("leaves a broken frontend when its ticket fails", async () => {
  const { cloud, change, frontend, refusalOf } = setUp();
  cloud.faults.add({ kind: "fail-ticket", operation: "POST /frontends" });
  expect(await change("POST", "/frontends", shop)).toMatchObject({
    phase: "failed",
    fault: { code: "no_capacity" },
  });
  const { condition, stamp } = await frontend();
  expect(condition).toBe("broken");
  expect(await refusalOf("POST", `${pools}?stamp=${stamp}`, http)).toBe("409 broken");
  await change("DELETE", "/frontends/f-1");
  expect(await refusalOf("GET", "/frontends/f-1")).toBe("404 no_such_frontend");
});

test("changes a route table by a ticket with its stamp, and shows the old one for a while", async () => {
  const { cloud, clock, read, send, refusalOf } = setUp();
  cloud.zones.north.machines.add("web-1");
  const entry = { to: "10.244.1.0/24", hop: "10.20.0.1", note: "shop" };
  const { stamp } = await read<{ stamp: string }>("/table");
  const far = { ...entry, hop: "10.21.0.1" };
  expect(await refusalOf("POST", "/table/changes", { stamp, drop: [], add: [far] })).toBe("422 bad_hop");
  expect((await send("POST", "/table/changes", { stamp, drop: [], add: [entry] })).status).toBe(202);
  expect(await refusalOf("POST", "/table/changes", { stamp, drop: [], add: [] })).toBe("409 busy");
  await clock.advance(seconds(1));
  expect(await read("/table")).toMatchObject({ stamp, entries: [] });
  expect(await refusalOf("POST", "/table/changes", { stamp, drop: [], add: [] })).toBe("409 stale_stamp");
  await clock.advance(seconds(2));
  expect(await read("/table")).toMatchObject({ entries: [entry] });
  expect(await read("/table", "east")).toMatchObject({ entries: [] });
});

test("refuses requests when the units of a zone are spent, and says when enough are back", async () => {
  const { clock, send } = setUp({ units: { max: 10, perSecond: 20 } });
  expect((await send("POST", "/frontends", shop)).headers.get("tidewater-units-left")).toBe("0");
  const refused = await send("GET", "/machines");
  const { headers } = refused;
  const names = ["max", "left", "full-ms"].map((name) => headers.get(`tidewater-units-${name}`));
  expect([refused.status, ...names, headers.get("tidewater-pause-ms")]).toEqual([
    403,
    "10",
    "0",
    "500",
    "200",
  ]);
  expect((await send("GET", "/machines", undefined, "east")).status).toBe(200);
  await clock.advance(milliseconds(200));
  expect((await send("GET", "/machines")).status).toBe(200);
});

test("applies faults to one zone, and counts requests", async () => {
  const { cloud, send } = setUp();
  cloud.faults.add({ kind: "status", zone: "east" });
  expect((await send("GET", "/machines")).status).toBe(200);
  expect((await send("GET", "/machines", undefined, "east")).status).toBe(502);
  cloud.faults.add({ kind: "lost-answer" });
  await expect(send("POST", "/frontends", shop)).rejects.toThrow("closed");
  expect(cloud.zones.north.frontends.find("shop")).toHaveLength(1);
  expect(cloud.seen.map(({ zone, operation }) => `${zone} ${operation}`)).toEqual([
    "north GET /machines",
    "east GET /machines",
    "north POST /frontends",
  ]);
});

test("gives the conformance suites machines that listings show, targets, and a state without ids", async () => {
  const harness = makeHarness({
    definition: tidewater,
    config: { key: "tide" },
    targetOf: (zone, { id, address }) => ({ source: zone, key: id, address }),
  });
  const simulated = harness.simulate(new VirtualClock());
  const get = async (zone: ZoneName, path: string) => {
    const url = `https://${zone}.tidewater.example/v3${path}`;
    const headers = { "tidewater-key": "tide" };
    const request = { method: "GET", url, headers };
    return (await (await simulated.transport(request, new AbortController().signal)).json()) as {
      entries: { id: string; address: string }[];
      next: string | null;
    };
  };
  for (const { source, key, addresses: [address] = [] } of harness.targets?.(simulated) ?? []) {
    const { entries } = await get(source as ZoneName, "/machines");
    expect(entries).toContainEqual(expect.objectContaining({ id: key, address }));
  }
  for (let count = 3; count < 7; count++) simulated.addMachine(`node-${count}`);
  let requests = 0;
  for (const zone of ["north", "east", "isle"] as const) {
    for (let path: string | null = "/machines"; path !== null; requests++)
      path = (await get(zone, path)).next;
  }
  expect([requests, harness.listingRequests(7), harness.listingRequests(0)]).toEqual([4, 4, 3]);
  const before = simulated.state();
  simulated.shortenNextBalancerPage?.();
  expect((await get("north", "/frontends")).entries).toEqual([]);
  expect(simulated.state()).toEqual(before);
  simulated.disturbRoutes?.();
  expect(simulated.state()).not.toEqual(before);
});
