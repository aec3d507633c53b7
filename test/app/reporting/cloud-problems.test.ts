import { afterEach, expect, test } from "bun:test";
import { asTransport } from "../../../providers/fake/simulator/transport.ts";
import { CloudProblems } from "../../../src/app/reporting/cloud-problems.ts";
import { minutes, seconds } from "../../../src/core/brand.ts";
import type { Transport } from "../../../src/platform/transport.ts";
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

test("an unreachable cloud is one log line with its address for all Services, and one event per Service [F54]", async () => {
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
    fails: (failure: string, account = "a") =>
      problems.record({ ...call, account, failure, message: `it is ${failure}` }),
    answers: (status = 200) =>
      problems.record({ ...call, status, ...(status >= 400 && { failure: "not-found", message: "no" }) }),
  };
};

test("a lasting failure is logged per account, and again after five minutes even when its message changes", async () => {
  const { clock, lines, fails } = setUp();
  for (const failure of ["unavailable", "deadline", "breaker"]) fails(failure);
  fails("unavailable", "b");
  expect(lines).toEqual(['it is unavailable account="a"', 'it is unavailable account="b"']);
  await clock.advance(minutes(5));
  fails("breaker");
  expect(lines.slice(2)).toEqual(['it is breaker account="a" forSeconds=300']);
});

test("an intermittent failure is logged at most every half minute, and its end only after a logged start", async () => {
  const { clock, lines, fails, answers } = setUp();
  for (let attempt = 0; attempt < 6; attempt += 1) {
    fails("unavailable");
    answers(404);
    await clock.advance(seconds(6));
  }
  expect(lines).toHaveLength(4);
  expect(lines.filter((line) => line.startsWith("The cloud is reachable again"))).toHaveLength(2);
});

test("rejected credentials are logged once and end only with a successful call", () => {
  const { lines, fails, answers } = setUp();
  fails("unauthorized");
  answers(404);
  fails("unauthorized");
  expect(lines).toEqual(['it is unauthorized account="a"']);
  answers();
  expect(lines.at(-1)).toStartWith("The cloud accepts the credentials again");
});

test("failures that do not concern the account are not logged here", () => {
  const { lines, fails } = setUp();
  for (const failure of ["aborted", "fenced", "unexpected", "quota", "rate-limited"]) fails(failure);
  expect(lines).toEqual([]);
});
