// The event socket reports changes of hosts and services; without it, or when it reports false changes, nothing is lost.

import { expect, test } from "bun:test";
import type { Context } from "#ccm";
import { noInputs, readSettings } from "#ccm/testing";
import { hintsIn } from "../../../providers/rancher/changes.ts";
import { rancher } from "../../../providers/rancher/index.ts";
import { config } from "../../../providers/rancher/simulator/harness.ts";
import { debugState } from "../../../src/app/endpoints/debug-pages.ts";
import { readFlags } from "../../../src/app/flags/read-flags.ts";
import { seconds } from "../../../src/core/brand.ts";
import { runsAllTests } from "../../../src/testing/breadth.ts";
import { RancherWorld } from "./rancher-world.ts";

const nodeControllers = "cloud-node,cloud-node-lifecycle";
const withoutEvents = { "events-enabled": "false" };

/** Milliseconds from the call until the condition holds. */
async function timeUntil(h: RancherWorld, condition: () => boolean, what: string): Promise<number> {
  const began = h.world.clock.monotonic();
  await h.world.until(condition, what, 3600);
  return h.world.clock.monotonic() - began;
}

const proofsOf = (h: RancherWorld, name: string): number =>
  h.world.manager.report().evidenceOfAbsence.find(({ node }) => node === name)?.proofs.length ?? 0;
const requests = (h: RancherWorld): number => h.cloud.seen.length;
const warnings = (h: RancherWorld): readonly string[] =>
  h.world.logged.filter((line) => line.startsWith("W"));
const metricsOf = (h: RancherWorld): string =>
  h.world.manager.metrics
    .text()
    .split("\n")
    .filter((line) => line.startsWith("fairlead_change"))
    .join("\n");

/** A manager with Nodes that are Ready. */
async function started(nodes: number, controllers = nodeControllers, config = {}): Promise<RancherWorld> {
  const h = new RancherWorld(nodes, config);
  for (let index = 0; index < nodes; index += 1) h.world.setReady(`node-${index}`, "True");
  await h.start(controllers);
  await h.world.pass(60);
  h.forget();
  return h;
}

/** A Node whose host exists and whose agent is lost for so long that it is checked rarely. */
async function withLostAgent(config = {}): Promise<RancherWorld> {
  const h = await started(20, nodeControllers, config);
  h.cloud.environment.hosts.change("node-1", { state: "disconnected", agentState: "disconnected" });
  h.world.setReady("node-1", "Unknown");
  await h.world.pass(601);
  return h;
}

test("begins to prove the absence of a purged host within a second, and deletes its Node after the usual proofs", async () => {
  const h = await withLostAgent();
  h.cloud.environment.hosts.purge("node-1", h.world.clock.now());
  expect(await timeUntil(h, () => proofsOf(h, "node-1") > 0, "the first proof")).toBeLessThan(1000);
  const rest = await timeUntil(h, () => h.node("node-1") === undefined, "the deletion");
  expect(rest).toBeGreaterThanOrEqual(30_000);
  expect(rest).toBeLessThan(60_000);
});

test("finds a purged host with the next check if the event socket is disabled", async () => {
  const h = await withLostAgent(withoutEvents);
  expect(h.cloud.events.opened).toBe(0);
  h.cloud.environment.hosts.purge("node-1", h.world.clock.now());
  expect(await timeUntil(h, () => proofsOf(h, "node-1") > 0, "the first proof")).toBeGreaterThan(1000);
  await h.world.until(() => h.node("node-1") === undefined, "the deletion", 600);
});

test.each([
  ["with", {}, 1],
  ["without", withoutEvents, 3600],
] as const)("updates a Node whose host changes %s events", async (_, config, within) => {
  const h = await started(3, nodeControllers, config);
  h.cloud.environment.hosts.change("node-1", { ips: ["198.51.100.7"] });
  const hasAddress = (): boolean =>
    h.node("node-1")?.status.addresses?.some(({ address }) => address === "198.51.100.7") === true;
  const time = await timeUntil(h, hasAddress, "the address");
  expect(time).toBeLessThan(within * 1000);
  if (within > 1) expect(time).toBeGreaterThan(60_000);
});

test("initializes a Node that waits for its host as soon as the host is registered", async () => {
  const h = await started(3, "cloud-node");
  h.join("late");
  await h.world.pass(301);
  expect(h.uninitialized).toBe(1);
  h.cloud.environment.hosts.add("late");
  expect(await timeUntil(h, () => h.uninitialized === 0, "the Node")).toBeLessThan(1000);
});

/** Milliseconds between the activation of a load balancer, which takes this long, and its address in the Service. */
async function timeOfAddress(activation: number, config = {}): Promise<number> {
  const h = new RancherWorld(2, config);
  await h.start("service");
  h.world.create("web", { spec: { ports: [{ port: 80, protocol: "TCP", nodePort: 30_080 }] as never } });
  const isPrepared = (): boolean =>
    h.balancers[0]?.state === "inactive" &&
    h.externals.length === 2 &&
    h.externals.every(({ state }) => state === "active");
  const { services } = h.cloud.environment;
  const { time } = services;
  let activeAt = Number.NaN;
  // Only the activation takes longer, whenever the manager requests it.
  const timeOf = () => {
    if (!isPrepared()) return time;
    activeAt = h.world.clock.monotonic() + seconds(activation);
    return seconds(activation);
  };
  Object.defineProperty(services, "time", { get: timeOf });
  await h.world.until(() => h.world.addressesOf("web").length > 0, "the address", 600);
  return h.world.clock.monotonic() - activeAt;
}

test("publishes the address of a load balancer within a second of its activation, and without events with the next check", async () => {
  const activations = [303, 311, 319];
  const times = await Promise.all(activations.map((activation) => timeOfAddress(activation)));
  expect(Math.max(...times)).toBeLessThan(1000);
  const checks = await Promise.all(activations.map((activation) => timeOfAddress(activation, withoutEvents)));
  expect(Math.max(...checks)).toBeGreaterThan(5000);
});

test.if(runsAllTests)(
  "sends one request for a storm of 10,000 events, and few requests for an endless storm",
  async () => {
    const h = await started(50, `${nodeControllers},service`);
    const { hosts } = h.cloud.environment;
    const uuids = hosts.list().map(({ uuid }) => uuid);
    const storm = (round: number): void => {
      for (let index = 0; index < 10_000; index += 1) {
        const uuid = uuids[index % 60] ?? `unknown-${index}`;
        h.cloud.events.publish("host", { type: "host", uuid, state: `${round}-${index}` });
      }
    };
    storm(0);
    await h.world.pass(5);
    expect(requests(h)).toBe(1);
    const began = requests(h);
    for (let round = 1; round <= 600; round += 1) {
      h.cloud.events.publish("host", { type: "host", uuid: uuids[round % 50], state: `${round}` });
      h.cloud.events.publish("host", { type: "host", uuid: `unknown-${round}`, state: `${round}` });
      await h.world.pass(1);
    }
    // Ten immediately, four per minute, and two listings.
    expect(requests(h) - began).toBeLessThanOrEqual(10 + 40 + 2);
    expect(requests(h) - began).toBeGreaterThan(10);
  },
);

test("deletes nothing because of false events", async () => {
  const h = await started(10, `${nodeControllers},service`);
  await h.created();
  h.forget();
  const { events, environment } = h.cloud;
  const lie = (): void => {
    for (const host of environment.hosts.list())
      events.publish("host", { ...host, type: "host", state: "purged", removed: "2026-01-01T00:00:00Z" });
    for (const service of environment.services.list())
      events.publish(service.type, { ...service, state: "removed", removed: "2026-01-01T00:00:00Z" });
    for (const text of [
      "",
      "{",
      "null",
      "[]",
      '{"name":"resource.change"}',
      '{"name":"resource.change","data":7}',
    ])
      events.publishText(text);
  };
  for (const name of ["node-1", "node-2", "node-3"]) h.world.setReady(name, "Unknown");
  for (let round = 0; round < 60; round += 1) {
    lie();
    await h.world.pass(10);
  }
  expect(Array.from({ length: 10 }, (_, index) => h.node(`node-${index}`)).includes(undefined)).toBe(false);
  expect(h.changes).toEqual([]);
  expect(h.world.addressesOf("web")).toEqual(["192.0.2.1"]);
  expect(h.cloud.events.open).toBe(1);
});

test("opens the socket through the proxy of the environment", async () => {
  const opened: (string | undefined)[] = [];
  const h = new RancherWorld(
    1,
    {},
    { environment: { HTTP_PROXY: "proxy.example:3128", NO_PROXY: "other.example" } },
  );
  h.onSocket = ({ proxy }) => opened.push(proxy);
  await h.start(nodeControllers);
  await h.world.pass(5);
  expect(opened).toEqual(["http://proxy.example:3128"]);
});

test("opens a broken socket again and lists everything again", async () => {
  const h = await started(3);
  await h.world.pass(60);
  h.cloud.events.break();
  h.forget();
  h.cloud.environment.hosts.change("node-1", { ips: ["198.51.100.7"] });
  await h.world.pass(5);
  expect([h.cloud.events.opened, h.cloud.events.open]).toEqual([2, 1]);
  const seen = h.cloud.seen.map(({ operation }) => operation);
  expect(seen.toSorted()).toEqual(["GET /externalServices", "GET /hosts", "GET /loadBalancerServices"]);
  expect(h.node("node-1")?.status.addresses?.map(({ address }) => address)).toContain("198.51.100.7");
});

test("reports once that the event socket is rejected, retries with backoff, and reports the recovery", async () => {
  const h = new RancherWorld(3);
  h.cloud.events.refusesWith = 404;
  await h.start(nodeControllers);
  await h.world.pass(3600);
  const about = (text: string): readonly string[] => h.world.logged.filter((line) => line.includes(text));
  expect(warnings(h)).toHaveLength(1);
  expect(warnings(h)[0]).toContain(
    "The cloud does not report its changes: GET /subscribe failed: The server refused the WebSocket (404). Fairlead finds them with the next listing, and tries to connect again.",
  );
  expect(warnings(h)[0]).not.toContain("s3cret");
  expect(metricsOf(h)).toContain("fairlead_change_stream_open 0");
  const state = debugState(h.world.manager.report());
  expect(state.changes?.failure).toContain("refused the WebSocket (404)");
  h.cloud.events.refusesWith = undefined;
  await h.world.until(() => h.cloud.events.open === 1, "the socket", 301);
  await h.world.pass(1);
  expect(about("The cloud reports its changes again")).toHaveLength(1);
  expect(metricsOf(h)).toContain("fairlead_change_stream_open 1");
});

test("reopens a silent socket", async () => {
  const h = await started(3);
  await h.world.pass(60);
  h.cloud.events.isSilent = true;
  await h.world.pass(55);
  expect(h.cloud.events.opened).toBe(1);
  h.cloud.events.isSilent = false;
  h.cloud.events.publish("host", {});
  await h.world.pass(61);
  expect(h.cloud.events.opened).toBe(1);
  h.cloud.events.isSilent = true;
  await h.world.pass(61);
  h.cloud.events.isSilent = false;
  await h.world.pass(5);
  expect([h.cloud.events.opened, h.cloud.events.open]).toEqual([2, 1]);
  expect(warnings(h).join("\n")).toContain("the cloud sent nothing for 1m");
});

test("reopens a socket that was always silent at growing intervals, and reports the silence once", async () => {
  const h = new RancherWorld(3);
  h.cloud.events.isSilent = true;
  await h.start(nodeControllers);
  await h.world.pass(120);
  h.forget();
  await h.world.pass(3600);
  expect(warnings(h)).toHaveLength(1);
  expect(warnings(h)[0]).toContain("the cloud sent nothing for 1m");
  expect(metricsOf(h)).toContain("fairlead_change_stream_open 0");
  expect(h.cloud.events.opened).toBeLessThan(30);
  // The usual listings of an hour.
  expect(h.cloud.counts()["GET /externalServices"]).toBeLessThanOrEqual(3);
});

test("only the leader opens the event socket, and the next leader opens another socket", async () => {
  const h = new RancherWorld(3);
  await h.start(nodeControllers, "--leader-elect=true");
  await h.world.pass(60);
  expect(h.cloud.events.open).toBe(1);
  h.world.holdLease("another-replica");
  await h.world.pass(8);
  expect([h.cloud.events.opened, h.cloud.events.open]).toEqual([1, 0]);
  expect(metricsOf(h)).not.toMatch(/stream_open \d/);
  h.world.holdLease("");
  await h.world.until(() => h.cloud.events.open === 1, "the socket", 60);
  await h.world.stop();
  expect(h.cloud.events.open).toBe(0);
});

test("a reload with another credential closes the event socket, and opens a socket with the new credential", async () => {
  const h = new RancherWorld(3);
  await h.start(nodeControllers);
  await h.world.pass(60);
  h.cloud.revokeKeys();
  h.cloud.addKey("access", "other");
  const apply = h.world.manager.prepareReload({
    settings: readFlags(h.flags(nodeControllers, { "secret-key": "other" })),
    affectsControllers: true,
  });
  await Promise.race([apply(), h.world.pass(10)]);
  await h.world.pass(10);
  expect([h.cloud.events.opened, h.cloud.events.open]).toEqual([2, 1]);
});

test.each([
  ["http://rancher-1/v2-beta/projects/1a5/events", "http://rancher.example:8080/v2-beta/projects/1a5/events"],
  [undefined, "http://rancher.example:8080/v2-beta/projects/1a5/subscribe"],
])("opens the socket at the link of the schema (%s)", async (link, url) => {
  const opened: string[] = [];
  const answers: readonly Response[] = [
    Response.json({
      type: "project",
      links: { schemas: "http://rancher:8080/v2-beta/projects/1a5/schemas" },
    }),
    Response.json({
      type: "collection",
      data: [
        { id: "host", links: { collection: "http://rancher:8080/v2-beta/projects/1a5/hosts" } },
        ...(link === undefined ? [] : [{ id: "subscribe", links: { collection: link } }]),
      ],
    }),
  ];
  let next = 0;
  const context = {
    inputs: noInputs,
    mark: { cluster: "test", owner: "fairlead" },
    account: () => ({
      transport: (_: unknown, __: unknown, read: (response: Response) => unknown) =>
        read(answers[next++] ?? new Response()),
      messages: async function* (request: { readonly url: string }) {
        opened.push(request.url);
        yield* [];
      },
    }),
  };
  const { values } = readSettings(rancher.config, config, { what: "setting" });
  const { changes } = rancher.connect(values, context as unknown as Context);
  const call = { signal: new AbortController().signal, urgency: "refresh" } as const;
  for await (const _ of changes?.follow(call) ?? []) break;
  expect(opened).toEqual([`${url}?eventNames=resource.change`]);
});

test("ignores pings, events about other objects, and invalid messages", () => {
  const message = (resource: unknown, resourceType = "host"): string =>
    JSON.stringify({ name: "resource.change", resourceType, data: { resource } });
  const nothing = ["", "x", "7", "null", '{"name":"ping"}', message(null), message({}), message({ uuid: 7 })];
  for (const text of [...nothing, message({ id: "1i1" }, "container")]) expect(hintsIn(text)).toEqual([]);
  const host = { uuid: "u1", id: "1h1", state: "active", agentState: "active", info: { load: 1 } };
  const [first] = hintsIn(message(host));
  expect(first).toMatchObject({ of: "instance", source: "hosts", key: "u1" });
  expect(hintsIn(message({ ...host, info: { load: 2 } }))[0]).toEqual(first);
  expect(hintsIn(message({ ...host, state: "disconnected" }))[0]).not.toEqual(first);
});
