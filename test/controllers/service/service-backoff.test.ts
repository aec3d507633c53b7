import { expect, test } from "bun:test";
import { asTransport } from "#ccm/testing";
import type { Transport } from "../../../src/platform/transport.ts";
import { ServiceWorld } from "../../support/service-world.ts";

// The backoff of a load balancer after a failure, and what ends it.

const algorithm = "balancer.fake.example/algorithm";

/** The cloud returns this response to changes of load balancers while it is set. */
const setUp = async () => {
  const refusal: { answer?: () => Response } = {};
  let toCloud: Transport | undefined;
  const w = new ServiceWorld({
    cloud: () => async (request, signal) => {
      const { answer } = refusal;
      if (answer !== undefined && request.method === "PATCH") return answer();
      toCloud ??= asTransport(w.cloud);
      return toCloud(request, signal);
    },
  });
  await w.start();
  w.create("web");
  await w.pass(30);
  return { w, refusal };
};

const targets = (w: ServiceWorld) => w.cloud.balancers.list()[0]?.targets.length;

const quota = () => new Response('{"error":{"message":"no quota"}}', { status: 402 });
const maintenance = () =>
  new Response('{"error":{"message":"maintenance"}}', { status: 503, headers: { "retry-after": "21600" } });

test.each([
  ["a quota error", quota],
  ["a 503 with a Retry-After of six hours", maintenance],
])("a joining Node becomes a target immediately after the user has fixed %s", async (_, answer) => {
  const { w, refusal } = await setUp();
  refusal.answer = answer;
  w.annotate("web", { [algorithm]: "least-connections" });
  await w.pass(900);
  delete refusal.answer;
  w.annotate("web", { [algorithm]: "round-robin" });
  w.editSpec("web", { ports: [{ port: 81, protocol: "TCP" }] });
  await w.until(() => w.cloud.balancers.list()[0]?.listeners[0]?.port === 81, "the change", 5);
  await w.pass(30);
  w.addNode("late");
  await w.pass(10);
  expect(targets(w)).toBe(4);
});

test("the next failure after a success starts with the shortest backoff", async () => {
  const { w, refusal } = await setUp();
  refusal.answer = quota;
  w.annotate("web", { [algorithm]: "least-connections" });
  await w.pass(7200);
  delete refusal.answer;
  w.annotate("web", { [algorithm]: "round-robin" });
  await w.pass(30);
  w.editSpec("web", { ports: [{ port: 81, protocol: "TCP" }] });
  await w.pass(30);
  refusal.answer = quota;
  w.annotate("web", { [algorithm]: "least-connections" });
  await w.pass(5);
  delete refusal.answer;
  // At most one minute.
  await w.pass(60);
  expect(w.cloud.balancers.list()[0]?.algorithm).toBe("least-connections");
});

/** The seconds between the attempts to create the load balancer. */
const gapsBetweenAttempts = async (retryAfter: string, within: number) => {
  const attempts: number[] = [];
  const w = new ServiceWorld({
    cloud: () => async (request, signal) => {
      if (request.method !== "POST") return asTransport(w.cloud)(request, signal);
      attempts.push(w.clock.monotonic());
      return new Response('{"error":{"message":"later"}}', {
        status: 503,
        headers: { "retry-after": retryAfter },
      });
    },
  });
  await w.start();
  w.create("web");
  await w.pass(within);
  return attempts.slice(1).map((at, index) => Math.floor((at - (attempts[index] ?? 0)) / 1000));
};

test("retries a change at the time that the cloud requests, even after many failures", async () => {
  expect(await gapsBetweenAttempts("2", 20)).toEqual(Array.from({ length: 9 }, () => 2));
});

test("retries a change after at most 15 minutes, even with a longer Retry-After", async () => {
  expect(await gapsBetweenAttempts("21600", 2000)).toEqual([900, 900]);
});

test("20 load balancers that the cloud fails to delete delay neither other Services nor their targets", async () => {
  const broken = new Set<string>();
  const w = new ServiceWorld({
    cloud: () => async (request, signal) =>
      request.method === "DELETE" && broken.has(request.url.split("/").at(-1) ?? "")
        ? new Response('{"error":{"message":"internal"}}', { status: 500 })
        : asTransport(w.cloud)(request, signal),
  });
  await w.start();
  const names = Array.from({ length: 20 }, (_, index) => `broken-${index}`);
  for (const name of [...names, "healthy", "leaving"]) w.create(name);
  await w.pass(60);
  const owners = new Set<string | undefined>(names.map((name) => w.get(name).metadata.uid));
  for (const { id, labels } of w.cloud.balancers.list()) if (owners.has(labels["owner-uid"])) broken.add(id);
  for (const name of names) w.delete(name);
  await w.pass(0.2);
  w.create("late");
  w.delete("leaving");
  w.addNode("node-3");
  await w.pass(1.5);
  expect(w.addressesOf("late")).toHaveLength(1);
  expect(w.find("leaving")).toBeUndefined();
  const { uid } = w.get("healthy").metadata;
  const healthy = w.cloud.balancers.list().find(({ labels }) => labels["owner-uid"] === uid);
  expect(healthy?.targets).toHaveLength(4);
});

test("a 429 for new load balancers does not delay the targets of existing load balancers", async () => {
  const w = new ServiceWorld({
    cloud: () => async (request, signal) =>
      request.method === "POST" && w.cloud.balancers.list().length > 0
        ? new Response('{"error":{"message":"slow down"}}', {
            status: 429,
            headers: { "retry-after": "100" },
          })
        : asTransport(w.cloud)(request, signal),
  });
  await w.start();
  w.create("healthy");
  await w.pass(30);
  for (let index = 0; index < 200; index += 1) w.create(`new-${index}`);
  await w.pass(5);
  w.addNode("node-3");
  await w.pass(5);
  expect(targets(w)).toBe(4);
});
