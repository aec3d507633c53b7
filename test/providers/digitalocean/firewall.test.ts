// The firewall PUBLIC_ACCESS_FIREWALL_NAME: the ports that Services open on the droplets.

import { expect, test } from "bun:test";
import { resourceNamed } from "../../../src/testing/apiserver/objects/resource-table.ts";
import { DigitalOceanWorld, idAnnotation, prefix, quick, tcpPort } from "./digitalocean-world.ts";

const config = {
  region: "nyc3",
  "cluster-id": "prod",
  "firewall-name": "workers",
  "firewall-tags": "worker",
};
const everyone = { addresses: ["0.0.0.0/0", "::/0"] };
const managed = "kubernetes.digitalocean.com/firewall-managed";
const changes = ["POST /v2/firewalls", "PUT /v2/firewalls/{id}"];

function worldOf(settings: Readonly<Record<string, string>> = config) {
  const h = new DigitalOceanWorld({ nodes: 2, config: settings, ...quick });
  h.cloud.account.addTags(["worker", "other"]);
  return h;
}

const nodePort = (...ports: readonly number[]) => ({
  type: "NodePort",
  ports: ports.map((port) => ({ port, protocol: "TCP", nodePort: port })),
});
const firewalls = (h: DigitalOceanWorld) => h.cloud.account.firewalls.list();
const portsOf = (h: DigitalOceanWorld) =>
  firewalls(h).flatMap(({ inbound_rules }) =>
    inbound_rules.map(({ protocol, ports }) => `${protocol} ${ports}`),
  );
const written = (h: DigitalOceanWorld) => h.requests.filter((request) => changes.includes(request));
const reported = (h: DigitalOceanWorld) => h.world.logged.join("\n");

/** A world with `count` open node ports, from 30,000. */
async function opened(count: number, ...flags: readonly string[]) {
  const h = worldOf();
  for (let index = 0; index < count; index += 1)
    h.world.create(`s${index}`, { spec: nodePort(30_000 + index) });
  await h.start("service", ...flags);
  await h.settle();
  expect(portsOf(h)).toHaveLength(count);
  h.forget();
  return h;
}

test("opens the node ports of NodePort Services in the firewall of the settings, and closes them with the Service [F46]", async () => {
  const h = worldOf();
  await h.start();
  h.world.create("web", { spec: nodePort(30_080) });
  h.world.create("dns", {
    spec: { type: "NodePort", ports: [{ port: 53, protocol: "UDP", nodePort: 30_053 }] },
  });
  h.world.create("own", { spec: nodePort(30_081), annotations: { [managed]: "false" } });
  h.world.create("inner", { spec: { type: "ClusterIP", ports: [{ port: 80 }] } });
  await h.settle();
  expect(firewalls(h)).toMatchObject([{ name: "workers", tags: ["worker"] }]);
  expect(firewalls(h)[0]?.inbound_rules).toMatchObject([
    { protocol: "tcp", ports: "30080", sources: everyone },
    { protocol: "udp", ports: "30053", sources: everyone },
  ]);
  expect(firewalls(h)[0]?.outbound_rules.map(({ protocol }) => protocol)).toEqual(["tcp", "udp", "icmp"]);
  h.world.delete("web");
  await h.settle();
  expect(portsOf(h)).toEqual(["udp 30053"]);
});

test("opens the ports of a network load balancer to everyone, and its health check port only to the load balancer [F46]", async () => {
  const h = worldOf();
  await h.start();
  h.world.create("web", { spec: { ports: [tcpPort(30_080)] } });
  h.world.create("proxy", {
    spec: { ports: [tcpPort(30_081)] },
    annotations: { [`${prefix}type`]: "REGIONAL" },
  });
  await h.settle();
  await h.world.pass(600);
  const id = h.world.get("web").metadata.annotations?.[idAnnotation] ?? "";
  expect(firewalls(h)[0]?.inbound_rules).toMatchObject([
    { protocol: "tcp", ports: "10256", sources: { load_balancer_uids: [id] } },
    { protocol: "tcp", ports: "80", sources: everyone },
  ]);
});

test("changes the firewall once for many Services, and not for events that open nothing [F46]", async () => {
  const h = await opened(1);
  for (let index = 1; index < 40; index += 1) h.world.create(`s${index}`, { spec: nodePort(30_000 + index) });
  await h.world.pass(10);
  expect(portsOf(h)).toHaveLength(40);
  expect(written(h)).toEqual(["PUT /v2/firewalls/{id}"]);
  h.forget();
  h.world.edit("s1", (service) => ({ ...service, spec: { ...service.spec, selector: { app: "x" } } }));
  await h.world.pass(200);
  expect(h.requests.filter((request) => request.includes("firewalls"))).toEqual([]);
  await h.world.pass(3600);
  expect(written(h)).toEqual([]);
  expect(h.requests.filter((request) => request.includes("firewalls")).length).toBeLessThanOrEqual(13);
});

test("leaves a firewall unchanged after a restart, and never changes the Go manager's firewall [F46]", async () => {
  const h = worldOf();
  h.world.create("web", { spec: nodePort(30_080) });
  const all = (protocol: "tcp" | "udp") => ({ protocol, ports: "all", destinations: everyone });
  h.cloud.account.firewalls.put({
    id: "f-1",
    name: "workers",
    tags: ["worker"],
    droplet_ids: [],
    status: "succeeded",
    created_at: "",
    inbound_rules: [{ protocol: "tcp", ports: "30080", sources: everyone }],
    outbound_rules: [all("tcp"), all("udp"), { protocol: "icmp", ports: "", destinations: everyone }],
  } as never);
  for (let start = 0; start < 2; start += 1) {
    await h.start();
    await h.world.pass(900);
    await h.world.stop();
  }
  expect(h.changes).toEqual([]);
});

test("leaves a firewall of the same name with other tags unchanged, and reports the firewall [F46]", async () => {
  const h = worldOf();
  const foreign = { name: "workers", tags: ["other"], droplet_ids: [], status: "succeeded", created_at: "" };
  h.cloud.account.firewalls.put({ ...foreign, id: "f-1", inbound_rules: [], outbound_rules: [] } as never);
  const before = firewalls(h);
  await h.start();
  h.world.create("web", { spec: nodePort(30_080) });
  await h.world.pass(3600);
  h.world.delete("web");
  await h.world.pass(3600);
  expect([firewalls(h), h.changes]).toEqual([before, []]);
  expect(reported(h)).toContain(
    'The firewall workers (f-1) has the tags ["other"], and PUBLIC_ACCESS_FIREWALL_TAGS is ["worker"], so it may belong to another cluster. It is not changed: no port is opened or closed.',
  );
  expect(reported(h).split("f-1")).toHaveLength(2);
});

test("creates the firewall again after a rename, and leaves the renamed firewall unchanged [F46]", async () => {
  const h = await opened(1);
  const [before] = firewalls(h);
  if (before === undefined) throw new Error("No firewall.");
  h.cloud.account.firewalls.put({ ...before, name: "renamed" });
  await h.world.pass(600);
  expect(firewalls(h).map(({ name }) => name)).toEqual(["renamed", "workers"]);
  expect(written(h)).toEqual(["POST /v2/firewalls"]);
});

test("creates one firewall when the response to its creation is lost [F46]", async () => {
  const h = worldOf();
  h.world.create("web", { spec: nodePort(30_080) });
  h.world.onCrossing = (what, when) => {
    if (what === "POST /v2/firewalls" && when === "after") h.world.crash();
  };
  await h.start();
  await h.world.pass(60);
  h.world.onCrossing = undefined;
  await h.start();
  await h.settle();
  expect(portsOf(h)).toEqual(["tcp 30080"]);
  expect(written(h)).toEqual(["POST /v2/firewalls"]);
});

test("keeps droplets that users have added to the firewall [F46]", async () => {
  const h = await opened(1);
  const [before] = firewalls(h);
  if (before === undefined) throw new Error("No firewall.");
  const droplet_ids = h.cloud.account.droplets.list().map(({ id }) => id);
  h.cloud.account.firewalls.put({ ...before, droplet_ids });
  h.world.create("more", { spec: nodePort(30_500) });
  await h.settle();
  expect(firewalls(h)).toMatchObject([{ droplet_ids }]);
  expect(portsOf(h)).toHaveLength(2);
});

test.each<readonly [string, Readonly<Record<string, string>>]>([
  ["paused", { "fairlead.dev/paused": "true" }],
  ["not readable, because of an invalid annotation", { [managed]: "nope" }],
])("opens and closes no port for a Service that is %s [F46]", async (_, annotations) => {
  const h = await opened(1);
  h.world.annotate("s0", annotations);
  h.world.create("new", { spec: nodePort(30_500), annotations });
  await h.settle();
  await h.world.pass(600);
  expect(portsOf(h)).toEqual(["tcp 30000"]);
  if (Object.hasOwn(annotations, managed))
    expect(h.world.events("new").join()).toContain(`${managed} must be true or false`);
});

/** A world with a network load balancer that forwards port 80. */
async function serving() {
  const h = worldOf();
  await h.start();
  h.world.create("web", { spec: { ports: [tcpPort(30_080)] } });
  await h.settle();
  await h.world.pass(600);
  expect(portsOf(h)).toEqual(["tcp 10256", "tcp 80"]);
  return h;
}

test.each<readonly [string, Readonly<Record<string, string>>]>([
  ["a different type, which an existing load balancer cannot get", { [`${prefix}type`]: "REGIONAL" }],
  ["another network, which an existing load balancer cannot get", { [`${prefix}network`]: "INTERNAL" }],
  ["a contradiction and another port", { [`${prefix}sticky-sessions-type`]: "cookies" }],
  ["a pause and another port", { "fairlead.dev/paused": "true" }],
])("keeps the ports open that a load balancer forwards after %s [F46]", async (what, annotations) => {
  const h = await serving();
  h.world.annotate("web", annotations);
  if (what.endsWith("port"))
    h.world.edit("web", (service) => ({
      ...service,
      spec: { ...service.spec, ports: [{ ...tcpPort(30_080), port: 8080 }] },
    }));
  await h.world.pass(1800);
  expect(h.cloud.account.balancers.list()).toMatchObject([{ forwarding_rules: [{ entry_port: 80 }] }]);
  expect(portsOf(h)).toContain("tcp 80");
  expect(portsOf(h)).toContain("tcp 10256");
});

test("closes the ports of a load balancer after its Service is deleted [F46]", async () => {
  const h = await serving();
  h.world.delete("web");
  await h.world.pass(900);
  expect(portsOf(h)).toEqual([]);
});

test("never uses a load balancer in a firewall rule if only an annotation names the load balancer [F46]", async () => {
  const h = worldOf();
  await h.start();
  h.world.create("web", {
    spec: { ports: [tcpPort(30_080)] },
    annotations: { [idAnnotation]: "not-a-uuid", "fairlead.dev/paused": "true" },
  });
  h.world.create("other", { spec: nodePort(30_081) });
  await h.world.pass(900);
  expect(portsOf(h)).toEqual(["tcp 30081"]);
});

test("opens the port of a new Service while the closing of other ports is on hold [F46]", async () => {
  const h = await opened(20);
  await h.world.stop();
  for (const service of h.world.services().slice(0, 15))
    h.world.server.store.remove(resourceNamed("services"), service as never);
  await h.start();
  h.world.create("new", { spec: nodePort(31_000) });
  await h.world.pass(900);
  expect(portsOf(h)).toHaveLength(21);
  expect(portsOf(h)).toContain("tcp 31000");
  expect(reported(h)).toContain("no port is closed; new ones are opened");
});

test("holds the closing of 30 ports although every Service has changed, because no change gave up a port [F46]", async () => {
  const h = await opened(20);
  for (const { metadata } of h.world.services()) h.world.annotate(metadata.name, { note: "x" });
  const [before] = firewalls(h);
  if (before === undefined) throw new Error("No firewall.");
  const more = Array.from({ length: 30 }, (_, index) => ({
    protocol: "tcp" as const,
    ports: String(20_000 + index),
    sources: everyone,
  }));
  h.cloud.account.firewalls.put({ ...before, inbound_rules: [...before.inbound_rules, ...more] } as never);
  await h.world.pass(900);
  expect(portsOf(h)).toHaveLength(50);
  expect(reported(h)).toContain("30 of the 50 ports");
});

test("reports in observe mode which ports a change of the firewall would open and close [F46]", async () => {
  const h = await opened(1);
  await h.world.stop();
  await h.start("service", "--mode=observe");
  h.world.create("more", { spec: nodePort(30_500) });
  h.world.delete("s0");
  await h.settle();
  expect(reported(h)).toContain("opens tcp 30500 from 0.0.0.0/0 ::/0, closes tcp 30000 from 0.0.0.0/0 ::/0");
});

test("holds the ports of a cluster that seems to be empty until the limit is lifted [F46]", async () => {
  const h = await opened(20);
  await h.world.stop();
  for (const service of h.world.services())
    h.world.server.store.remove(resourceNamed("services"), service as never);
  await h.start();
  await h.world.pass(900);
  expect(portsOf(h)).toHaveLength(20);
  expect(reported(h)).toContain(
    "20 of the 20 ports that the firewall of the Nodes opens belong to no Service",
  );
  await h.world.stop();
  await h.start("service", "--removal-limit=off");
  await h.world.pass(900);
  expect(portsOf(h)).toEqual([]);
});

test("closes the ports of many Services that were deleted while the manager ran [F46]", async () => {
  const h = await opened(20);
  for (const { metadata } of h.world.services()) h.world.delete(metadata.name);
  await h.settle();
  expect(portsOf(h)).toEqual([]);
  expect(written(h)).toEqual(["PUT /v2/firewalls/{id}"]);
});

test("reports an outage of the API once, and opens the ports after it [F46]", async () => {
  const h = await opened(1);
  h.cloud.faults.add({ kind: "status", status: 503, calls: Number.POSITIVE_INFINITY });
  h.world.create("more", { spec: nodePort(30_500) });
  await h.world.pass(600);
  expect(portsOf(h)).toHaveLength(1);
  expect(reported(h)).toContain("The firewall of the Nodes stays as it is: ");
  h.cloud.faults.clear();
  await h.world.pass(600);
  expect(portsOf(h)).toEqual(["tcp 30000", "tcp 30500"]);
});

test("closes the port of a health check that a load balancer no longer uses [F46]", async () => {
  const h = await serving();
  h.world.editSpec("web", { externalTrafficPolicy: "Local", healthCheckNodePort: 31_234 });
  await h.world.pass(900);
  expect(portsOf(h)).toEqual(["tcp 31234", "tcp 80"]);
});

test("closes the ports of Services that were deleted while another replica led [F46]", async () => {
  const h = await opened(12, "--leader-elect=true");
  for (let time = 0; time < 60; time += 5) {
    h.world.holdLease("other");
    await h.world.pass(5);
    if (time === 30) for (let index = 0; index < 10; index += 1) h.world.delete(`s${index}`);
  }
  expect(portsOf(h)).toHaveLength(12);
  h.world.holdLease("");
  await h.world.until(() => h.world.manager.leads(), "it to lead");
  await h.settle();
  expect(portsOf(h)).toEqual(["tcp 30010", "tcp 30011"]);
  expect(reported(h)).not.toContain("FirewallChangeHeld");
});
