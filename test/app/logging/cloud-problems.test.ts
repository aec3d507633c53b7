import { afterEach, expect, test } from "bun:test";
import { asTransport } from "#ccm/testing";
import { CloudProblems } from "../../../src/app/logging/connection-problems.ts";
import { openAccount } from "../../../src/cloud/account.ts";
import { minutes, seconds } from "../../../src/core/brand.ts";
import { jsonApi } from "../../../src/kit/json-api.ts";
import { seededRandom } from "../../../src/platform/random.ts";
import type { Transport } from "../../../src/platform/transport.ts";
import { CloudError } from "../../../src/provider/errors.ts";
import { createLog } from "../../../src/telemetry/log.ts";
import { VirtualClock } from "../../../src/testing/virtual-time/virtual-clock.ts";
import { ServiceWorld } from "../../support/service-world.ts";

let world: ServiceWorld | undefined;
afterEach(async () => {
  await world?.stop();
});

const textOf = (line: string): string => line.slice(line.indexOf("] ") + 2, -1);

/** The runtime's own wording. */
const refused = () =>
  Promise.reject(
    Object.assign(new Error("Unable to connect. Is the computer able to access the url?"), {
      code: "ConnectionRefused",
    }),
  );

test("logs an unreachable cloud once with its address for all Services, and records one event per Service [F54]", async () => {
  let isAway = true;
  let toCloud: Transport = refused;
  const w = new ServiceWorld({
    cloud: () => (request, signal) => (isAway ? refused() : toCloud(request, signal)),
  });
  world = w;
  toCloud = asTransport(w.cloud);
  const names = Array.from({ length: 10 }, (_, index) => `web-${index}`);
  for (const name of names) w.create(name);
  await w.start("--configure-cloud-routes=false");
  await w.pass(120);
  const expected =
    "failed: The cloud API at 127.0.0.1:8620 cannot be reached (ConnectionRefused). Check the endpoint setting, DNS, firewall and proxy. Fairlead will retry.";
  const [memory, ...said] = w.logged.map(textOf);
  expect(memory).toStartWith("Without --leader-elect");
  expect(said).toEqual([expect.stringContaining(`${expected} account="fake"`)]);
  expect(said.join()).not.toContain("Unable to connect");
  for (const name of names) {
    expect(w.events(name).some((event) => event.includes("SyncLoadBalancerFailed"))).toBe(true);
    expect(w.events(name).join()).toContain(expected);
    expect(w.events(name).length).toBeLessThan(4);
  }
  isAway = false;
  await w.pass(300);
  const later = w.logged.map(textOf).slice(said.length + 1);
  expect(later[0]).toMatch(/^The cloud is reachable again account="fake" afterSeconds=\d+$/);
  expect(later.filter((line) => line.startsWith("Ensured load balancer"))).toHaveLength(10);
});

test("a cloud error about one Service names that Service", async () => {
  const w = new ServiceWorld({
    cloud: () => async (request) =>
      request.method === "POST"
        ? new Response('{"message":"no such type"}', { status: 422 })
        : new Response('{"balancers":[],"machines":[]}'),
  });
  world = w;
  w.create("web");
  await w.start("--configure-cloud-routes=false");
  await w.pass(30);
  expect(w.logged.join("")).toContain('service="default/web" reason="SyncLoadBalancerFailed"');
});

const setUp = () => {
  const clock = new VirtualClock();
  const lines: string[] = [];
  const log = createLog({ format: "text", verbosity: 0, clock, write: (line) => lines.push(textOf(line)) });
  const problems = new CloudProblems(log, clock);
  const call = { account: "a", operation: "GET /x", mutates: false, durationMs: 1 };
  return {
    clock,
    lines,
    problems,
    call,
    fails: (failure: string, account = "a") =>
      problems.record({
        ...call,
        account,
        failure,
        message: `it is ${failure}`,
        ...(failure === "unauthorized" && { status: 401 }),
      }),
    answers: (status = 200) =>
      problems.record({ ...call, status, ...(status >= 400 && { failure: "not-found", message: "no" }) }),
  };
};

test("logs a lasting failure per account, and again after five minutes even if its message changes", async () => {
  const { clock, lines, fails } = setUp();
  for (const failure of ["unavailable", "deadline", "breaker"]) fails(failure);
  fails("unavailable", "b");
  expect(lines).toEqual(['it is unavailable account="a"', 'it is unavailable account="b"']);
  await clock.advance(minutes(5));
  fails("breaker");
  expect(lines.slice(2)).toEqual(['it is breaker account="a" forSeconds=300']);
});

test("logs an intermittent failure at most every 30 s, and its end only if its start was logged", async () => {
  const { clock, lines, fails, answers } = setUp();
  for (let attempt = 0; attempt < 6; attempt += 1) {
    fails("unavailable");
    answers(404);
    await clock.advance(seconds(6));
  }
  expect(lines).toHaveLength(4);
  expect(lines.filter((line) => line.startsWith("The cloud is reachable again"))).toHaveLength(2);
});

test("logs rejected credentials once, and their recovery only after a successful call", () => {
  const { lines, fails, answers } = setUp();
  fails("unauthorized");
  answers(404);
  fails("unauthorized");
  expect(lines).toEqual(['it is unauthorized account="a"']);
  answers();
  expect(lines.at(-1)).toStartWith("The cloud accepts the credentials again");
});

const renewing = (renewal: () => Response, lives: number) => {
  const { clock, lines, problems } = setUp();
  const revoked = new Set<string | undefined>();
  let fetched = 0;
  const { transport } = openAccount<string>(
    {
      name: "a",
      fetch: (unsigned, call) => {
        const request = {
          method: "POST",
          url: "https://cloud/token",
          operation: "POST /token",
          mutates: false,
        };
        return unsigned(request, call, async (response) => {
          if (!response.ok)
            throw new CloudError("unauthorized", "no token", { operation: "POST /token", status: 401 });
          return { value: `token-${++fetched}`, goodUntil: { in: seconds(lives) } };
        });
      },
      sign: (request, token) => ({ ...request, headers: { authorization: token } }),
    },
    {
      transport: async ({ url, headers }) => {
        if (url.endsWith("/token")) return fetched === 0 ? new Response("{}") : renewal();
        return new Response("{}", { status: revoked.has(headers?.["authorization"]) ? 401 : 200 });
      },
      clock,
      random: { ...seededRandom(1), fraction: () => 1 },
      mayMutate: () => true,
      report: (report) => problems.record(report),
      signal: new AbortController().signal,
    },
  );
  const api = jsonApi({ base: "https://cloud", transport });
  const send = () => {
    const call = { signal: new AbortController().signal, urgency: "refresh" } as const;
    return api.call({ operation: "GET /x", method: "GET", path: "/x" }, call).then(
      () => "fine",
      (error: Error) => error.message,
    );
  };
  return { clock, lines, send, revoked };
};

test("logs a rejected renewal once while calls succeed with the old credential, until a new credential is issued", async () => {
  let isRefused = true;
  const { clock, lines, send } = renewing(() => new Response("{}", { status: isRefused ? 401 : 200 }), 3600);
  await send();
  await clock.advance(minutes(50));
  for (let attempt = 0; attempt < 8; attempt += 1) {
    expect(await send()).toBe("fine");
    await clock.advance(seconds(31));
  }
  expect(lines).toEqual(['no token account="a"']);
  isRefused = false;
  await send();
  await clock.advance(seconds(1));
  await send();
  expect(lines.slice(1)).toEqual(['The cloud issues credentials again account="a" afterSeconds=248']);
});

test("does not log a rejected credential that is replaced", async () => {
  const { lines, send, revoked } = renewing(() => new Response("{}"), 3600);
  await send();
  revoked.add("token-1");
  expect(await Promise.all([send(), send(), send()])).toEqual(["fine", "fine", "fine"]);
  expect(lines).toEqual([]);
});

test("logs only failures that concern the account", () => {
  const { lines, fails } = setUp();
  for (const failure of ["aborted", "fenced", "unexpected", "quota", "rate-limited"]) fails(failure);
  expect(lines).toEqual([]);
});

test("the recovery of an account ends backoffs only if the problem lasted", async () => {
  const clock = new VirtualClock();
  const log = createLog({ format: "text", verbosity: 0, clock, write: () => undefined });
  let recoveries = 0;
  const problems = new CloudProblems(log, clock, () => {
    recoveries += 1;
  });
  const call = { account: "main", operation: "GET /x", mutates: false, durationMs: 1 } as const;
  for (const [lasts, expected] of [
    [1, 0],
    [30, 1],
  ] as const) {
    problems.record({ ...call, failure: "unavailable", message: "no response" });
    await clock.advance(seconds(lasts));
    problems.record({ ...call, status: 200 });
    problems.record({ ...call, status: 200 });
    expect(recoveries).toBe(expected);
  }
});
