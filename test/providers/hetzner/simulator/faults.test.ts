// The rate limit of the simulated Hetzner Cloud, its injected faults, what it counts, Robot, and its HTTP server.

import { expect, test } from "bun:test";
import { serveCloud } from "#ccm/testing";
import { HetznerCloud } from "../../../../providers/hetzner/simulator/index.ts";
import { milliseconds, minutes, seconds } from "../../../../src/core/brand.ts";
import { systemClock } from "../../../../src/platform/clock.ts";
import { setUp } from "./ask.ts";

test("the simulator rejects requests above 3,600 per hour, and refills one per second", async () => {
  const { ask, clock, cloud } = setUp();
  const first = await ask("/locations");
  expect([first.headers.get("ratelimit-limit"), first.headers.get("ratelimit-remaining")]).toEqual([
    "3600",
    "3599",
  ]);
  expect(Number(first.headers.get("ratelimit-reset"))).toBe(clock.now() / 1000 + 1);
  for (let count = 1; count < 3600; count++) expect((await ask("/locations")).status).toBe(200);
  const refused = await ask("/locations");
  expect([refused.status, refused.code]).toEqual([429, "rate_limit_exceeded"]);
  expect(refused.headers.get("ratelimit-remaining")).toBe("0");
  expect(Number(refused.headers.get("ratelimit-reset"))).toBe(clock.now() / 1000 + 3600);
  await clock.advance(seconds(1));
  expect((await ask("/locations")).status).toBe(200);
  expect((await ask("/locations")).status).toBe(429);
  await clock.advance(minutes(120));
  expect(cloud.rateLimit.remaining).toBe(3600);
});

test("the simulator does not count rejected tokens against the rate limit", async () => {
  const { ask, cloud } = setUp();
  cloud.tokens.add("known");
  await ask("/locations", "GET", undefined, "unknown");
  expect(cloud.rateLimit.remaining).toBe(3600);
});

test("the simulator fails only the matching requests, with the status and code", async () => {
  const { ask, cloud } = setUp();
  cloud.faults.add({ kind: "status", status: 412, operation: "GET /servers", after: 1, calls: 2 });
  const codes: (string | undefined)[] = [];
  for (const path of ["/networks", "/servers", "/servers", "/networks", "/servers", "/servers"])
    codes.push((await ask(path)).code);
  const unavailable = "resource_unavailable";
  expect(codes).toEqual([undefined, undefined, unavailable, undefined, unavailable, undefined]);
  cloud.faults.add({ kind: "status", status: 403, code: "maintenance" });
  expect((await ask("/servers")).code).toBe("maintenance");
});

test.each([
  ["reset", 0, "closed"],
  ["lost-answer", 1, "closed"],
  ["refused", 0, "refused"],
] as const)("the simulator breaks the connection with the fault %p", async (kind, networks, message) => {
  const { ask, cloud, project } = setUp();
  cloud.faults.add({ kind });
  await expect(ask("/networks", "POST", { name: "a", ip_range: "10.0.0.0/16" })).rejects.toThrow(message);
  expect(project.networks.list()).toHaveLength(networks);
});

test("the simulator can respond with an error although the request took effect", async () => {
  const { ask, cloud, project } = setUp();
  cloud.faults.add({ kind: "false-error", status: 504 });
  const answer = await ask("/networks", "POST", { name: "a", ip_range: "10.0.0.0/16" });
  expect([answer.status, answer.code, project.networks.list().length]).toEqual([504, "timeout", 1]);
});

test("the simulator can return half a body, or the page of a proxy", async () => {
  const { cloud, transport } = setUp();
  const text = async () => {
    const request = {
      method: "GET",
      url: "https://cloud/v1/locations",
      headers: { authorization: "Bearer t" },
    };
    return (await transport(request, new AbortController().signal)).text();
  };
  cloud.faults.add({ kind: "cut" });
  const half = await text();
  expect(() => JSON.parse(half)).toThrow();
  cloud.faults.add({ kind: "page" });
  expect(await text()).toBe("<html>proxy</html>");
});

test("the simulator delays a response, and omits a response until the client gives up", async () => {
  const { ask, clock, cloud, transport } = setUp({ latency: milliseconds(100) });
  cloud.faults.add({ kind: "slow", milliseconds: 900 });
  let isDone = false;
  const slow = ask("/locations").then(() => {
    isDone = true;
  });
  await clock.advance(milliseconds(999));
  expect(isDone).toBe(false);
  await clock.advance(milliseconds(1));
  await slow;
  cloud.faults.add({ kind: "hang" });
  const controller = new AbortController();
  const hanging = transport({ method: "GET", url: "https://cloud/v1/locations" }, controller.signal);
  await clock.advance(minutes(60));
  controller.abort(new Error("gave up"));
  await expect(hanging).rejects.toThrow("gave up");
});

test("the simulator counts requests by operation, and requests that change an object", async () => {
  const { ask, askRobot, cloud, project } = setUp();
  const { id } = project.servers.add("a");
  await ask("/servers?name=a");
  await ask(`/servers/${id}`);
  await ask(`/servers/${id}/actions/poweroff`, "POST");
  await askRobot("/server");
  expect(cloud.counts()).toEqual({
    "GET /servers": 1,
    "GET /servers/{id}": 1,
    "POST /servers/{id}/actions/poweroff": 1,
    "robot GET /server": 1,
  });
  expect([cloud.mutations, cloud.seen[0]?.path]).toEqual([1, "/servers?name=a"]);
  cloud.forget();
  expect(cloud.counts()).toEqual({});
});

test("the simulator rejects a body that is not JSON", async () => {
  const { transport } = setUp();
  const request = {
    method: "POST",
    url: "https://cloud/v1/networks",
    headers: { authorization: "Bearer t" },
    body: "{",
  };
  const response = await transport(request, new AbortController().signal);
  expect([response.status, await response.json()]).toMatchObject([400, { error: { code: "json_error" } }]);
});

test("the simulator lists dedicated servers and their power in Robot", async () => {
  const { askRobot, project } = setUp();
  expect((await askRobot("/server")).code).toBe("SERVER_NOT_FOUND");
  const { number } = project.robot.add("bm-1");
  const [entry] = (await askRobot("/server")).body;
  expect(entry.server).toMatchObject({
    server_number: number,
    server_name: "bm-1",
    server_ip: "192.0.2.65",
    product: "AX41-NVMe",
    server_ipv6_net: "2001:db8:2:141::",
    dc: "FSN1-DC14",
  });
  expect((await askRobot(`/server/${number}`)).body.server.server_name).toBe("bm-1");
  const power = async () => (await askRobot(`/reset/${number}`)).body.reset.operating_status;
  expect(await power()).toBe("running");
  project.robot.change(number, { isOff: true });
  expect(await power()).toBe("shut off");
  expect((await askRobot("/server/1")).status).toBe(404);
  expect((await askRobot("/server", "robot:wrong")).status).toBe(401);
});

test("the simulator returns 403 above the rate limit of each Robot operation", async () => {
  const { askRobot, clock, project } = setUp({ robot: { requestsPerHour: 2 } });
  const { number } = project.robot.add("bm-1");
  const statuses = [];
  for (let count = 0; count < 3; count++) statuses.push((await askRobot("/server")).status);
  const limited = await askRobot("/server");
  expect([statuses, limited.code]).toEqual([[200, 200, 403], "RATE_LIMIT_EXCEEDED"]);
  expect((await askRobot(`/server/${number}`)).status).toBe(200);
  await clock.advance(minutes(60));
  expect((await askRobot("/server")).status).toBe(200);
});

test("the simulator serves the cloud and Robot over HTTP on loopback", async () => {
  const cloud = new HetznerCloud({ clock: systemClock });
  cloud.project.robot.add("bm-1");
  await using served = serveCloud(cloud, 0);
  const locations = await fetch(`${served.url}/v1/locations`, { headers: { authorization: "Bearer t" } });
  expect([locations.status, locations.headers.get("ratelimit-remaining")]).toEqual([200, "3599"]);
  const authorization = `Basic ${btoa("robot:robot")}`;
  expect((await fetch(`${served.url}/server`, { headers: { authorization } })).status).toBe(200);
});
