// What happens to Nodes and load balancers when Hetzner's API misbehaves.

import { expect, test } from "bun:test";
import { ownerLabel } from "../../../providers/hetzner/marks.ts";
import { seededRandom } from "../../../src/platform/random.ts";
import { runsAllTests } from "../../../src/testing/breadth.ts";
import { HetznerWorld } from "./hetzner-world.ts";

const isChange = (operation: string): boolean => !operation.startsWith("GET ");
const nodeControllers = "cloud-node,cloud-node-lifecycle";
const ports = (nodePort: number) => ({ spec: { ports: [{ port: 80, protocol: "TCP", nodePort }] } });
const named = (event: string) => (text: string) => text.includes(event);

test("loses nothing in a storm of 429s, and sends changes of users first when the limit refills [F71]", async () => {
  const h = new HetznerWorld({ nodes: 3 });
  await h.start(`${nodeControllers},service`);
  await h.world.pass(30);
  h.forget();
  h.cloud.rateLimit.drain();
  for (let index = 0; index < 5; index += 1) h.joinNode(`late-${index}`);
  for (let index = 0; index < 5; index += 1) h.world.create(`s${index}`, ports(30_000 + index));
  await h.world.until(() => h.world.addressesOf("s4").length > 0, "the last address", 300);
  await h.world.until(() => h.uninitialized === 0, "all Nodes", 300);
  expect(h.cloud.project.balancers.list()).toHaveLength(5);
  expect(h.nodes()).toHaveLength(8);
});

test.each(["fails", "hangs", "vanishes"] as const)(
  "reports and retries an action that %s until the load balancer has the desired state [F51]",
  async (outcome) => {
    const h = new HetznerWorld({ nodes: 2 });
    const { actions, balancers } = h.cloud.project;
    await h.start("service");
    h.world.create("web", ports(30_000));
    await h.world.until(() => h.world.addressesOf("web").length > 0, "the address");
    actions.plan({ outcome, command: "add_target", error: { code: "server_error", message: "no capacity" } });
    h.forget();
    h.addNode("more");
    await h.world.pass(20);
    if (outcome === "fails") expect(h.world.events("web").some(named("no capacity"))).toBe(true);
    if (outcome === "hangs") expect(h.world.events("web").some(named("add target"))).toBe(true);
    if (outcome !== "hangs") {
      await h.world.until(() => balancers.list()[0]?.targets.length === 3, "the third target", 120);
    }
    expect(h.requests.filter(isChange).length).toBeLessThanOrEqual(3);
    expect(balancers.list()).toHaveLength(1);
  },
);

test("treats a server that was rebuilt under the same name as a new instance [F21]", async () => {
  const h = new HetznerWorld({ nodes: 1 });
  await h.start(nodeControllers, "--absence-confirmation=10s", "--removal-limit=off");
  await h.world.pass(30);
  const before = h.node("node-0").spec.providerID;
  h.cloud.project.servers.rebuild("node-0");
  h.world.setReady("node-0", "False");
  await h.world.until(() => h.nodes().length === 0, "the deletion of the Node", 300);
  h.joinRebuilt("node-0");
  await h.world.until(() => h.uninitialized === 0, "the Node", 60);
  expect(h.node("node-0").spec.providerID).not.toBe(before as string);
});

test("two clusters in one project never change the load balancers of each other [N6 F56]", async () => {
  const h = new HetznerWorld({ nodes: 2 });
  const { balancers } = h.cloud.project;
  const other = balancers.add("other-cluster", {
    labels: { [ownerLabel]: "11111111-2222-4333-8444-555555555555" },
  });
  await h.start("service");
  h.world.create("web", {
    ...ports(30_000),
    annotations: { "load-balancer.hetzner.cloud/name": "other-cluster" },
  });
  await h.world.pass(3600);
  expect(balancers.existing(other.id)).toEqual(other);
  expect(h.world.events("web").some(named("other-cluster"))).toBe(true);
  h.world.delete("web");
  await h.world.pass(3600);
  expect(balancers.list()).toEqual([other]);
  expect(h.world.logged.join("")).not.toContain("Orphaned");
});

test("deletes no Node when listings are empty, short or shifted [F23]", async () => {
  for (const kind of ["empty-list", "short-page", "shift", "status", "cut"] as const) {
    const h = new HetznerWorld({ nodes: 120 });
    await h.start(nodeControllers);
    h.cloud.faults.add({ kind, operation: "GET /servers", calls: 1000 });
    for (let index = 0; index < 120; index += 1) h.world.setReady(`node-${index}`, "False");
    await h.world.pass(600);
    expect({ kind, left: h.nodes().length }).toEqual({ kind, left: 120 });
  }
});

test("never touches load balancers, certificates and routes of another cluster while its own Services come and go [F56 F60]", async () => {
  const random = seededRandom(7);
  const h = new HetznerWorld({ nodes: 3, hasNetwork: true, requestsPerHour: 100_000 });
  const { balancers, certificates, networks } = h.cloud.project;
  const others = Array.from({ length: 8 }, (_, index) =>
    balancers.add(`other-${index}`, {
      labels: { [ownerLabel]: `11111111-2222-4333-8444-00000000000${index}` },
    }),
  );
  const certificate = certificates.add("other", {
    labels: { [ownerLabel]: "11111111-2222-4333-8444-000000000000" },
  });
  const foreign = { destination: "10.99.0.0/24", gateway: "10.0.0.77" };
  networks.change(h.networkID, { routes: [foreign] });
  await h.start("cloud-node,service,route", "--cluster-cidr=10.244.0.0/16", "--removal-limit=off");
  const alive: string[] = [];
  for (let turn = 0; turn < 60; turn += 1) {
    const choice = random.fraction();
    const victim = alive[Math.floor(random.fraction() * alive.length)];
    if (choice < 0.5) {
      const name = `s${turn}`;
      const annotation: Record<string, string> =
        choice < 0.1 ? { "load-balancer.hetzner.cloud/name": `other-${turn % 8}` } : {};
      h.world.create(name, { ...ports(30_000 + turn), annotations: annotation });
      alive.push(name);
    } else if (choice < 0.8 && victim !== undefined) {
      h.world.delete(victim);
      alive.splice(alive.indexOf(victim), 1);
    } else if (choice < 0.9) {
      h.world.crash();
      await h.start("cloud-node,service,route", "--cluster-cidr=10.244.0.0/16", "--removal-limit=off");
    } else h.cloud.faults.add({ kind: "lost-answer", operation: "POST /load_balancers" });
    await h.world.pass(1 + random.fraction() * 20);
    for (const other of others) expect(balancers.get(other.id)).toEqual(other);
    expect(certificates.get(certificate.id)).toEqual(certificate);
    expect(networks.existing(h.networkID).routes).toContainEqual(foreign);
  }
});

test("reports no error for a deleted server on load balancers that had it as a target [F26]", async () => {
  const h = new HetznerWorld({ nodes: 4 });
  await h.start(`${nodeControllers},service`, "--absence-confirmation=10s", "--removal-limit=off");
  h.world.create("web", ports(30_000));
  await h.world.until(() => h.world.addressesOf("web").length > 0, "the address");
  h.cloud.project.servers.remove("node-3");
  h.world.setReady("node-3", "False");
  await h.world.until(() => h.nodes().length === 3, "the deletion of the Node", 300);
  await h.world.pass(120);
  expect(h.cloud.project.balancers.list()[0]?.targets).toHaveLength(3);
  expect(
    h.world.events("web").filter((text) => text.startsWith("Warning") && !text.includes("Type")),
  ).toEqual([]);
});

test("only the Services with certificates wait while certificates cannot be listed, and they share the retries [F51]", async () => {
  const h = new HetznerWorld({ nodes: 2 });
  const { balancers, certificates } = h.cloud.project;
  certificates.add("shop");
  await h.start("service");
  const annotations = {
    "load-balancer.hetzner.cloud/protocol": "https",
    "load-balancer.hetzner.cloud/http-certificates": "shop",
  };
  h.world.create("leaving", { ...ports(30_100), annotations });
  await h.world.until(() => h.world.addressesOf("leaving").length > 0, "the first address");
  h.cloud.faults.add({ kind: "status", status: 503, operation: "GET /certificates", calls: 1000 });
  h.forget();
  for (let index = 0; index < 10; index += 1) {
    h.world.create(`plain-${index}`, ports(30_000 + index));
    h.world.create(`secure-${index}`, { ...ports(30_200 + index), annotations });
  }
  h.world.delete("leaving");
  await h.world.pass(15);
  expect(balancers.list().filter(({ services }) => services.length === 1)).toHaveLength(10);
  expect(h.world.services().map(({ metadata }) => metadata.name)).not.toContain("leaving");
  expect(h.world.addressesOf("plain-9")).not.toEqual([]);
  expect(h.world.get("plain-0").status.conditions ?? []).toEqual([]);
  expect(h.requests.filter((operation) => operation === "GET /certificates").length).toBeLessThanOrEqual(6);
  h.cloud.faults.clear();
  await h.world.until(() => balancers.list().length === 20, "the last load balancer", 600);
});

test("one listing replaces a removal request for each load balancer that had a deleted server as a target [F26]", async () => {
  const h = new HetznerWorld({ nodes: 4 });
  await h.start(`${nodeControllers},service`, "--absence-confirmation=10s");
  for (let index = 0; index < 10; index += 1) h.world.create(`s${index}`, ports(30_000 + index));
  await h.world.until(() => h.world.addressesOf("s9").length > 0, "the last address");
  await h.world.pass(60);
  h.forget();
  h.cloud.project.servers.remove("node-3");
  h.world.setReady("node-3", "False");
  await h.world.until(() => h.nodes().length === 3, "the deletion of the Node", 300);
  await h.world.pass(60);
  expect(h.requests.filter(isChange)).toEqual([]);
  expect(h.requests.filter((operation) => operation === "GET /load_balancers")).toHaveLength(1);
  h.world.removeNode("node-2");
  await h.world.pass(60);
  expect(h.requests.filter(isChange)).toEqual(
    Array(10).fill("POST /load_balancers/{id}/actions/remove_target"),
  );
});

test.if(runsAllTests)(
  "a minute of 503s costs no more requests than with the Go manager, and all targets follow [F51]",
  async () => {
    const h = new HetznerWorld({ nodes: 2 });
    for (const name of ["node-0", "node-1"]) h.world.setReady(name, "True");
    await h.start(`${nodeControllers},service`);
    for (let index = 0; index < 31; index += 1) h.world.create(`s${index}`, ports(30_000 + index));
    await h.world.pass(60);
    h.forget();
    h.cloud.faults.add({ kind: "status", status: 503, calls: 100_000 });
    h.addNode("late");
    h.world.setReady("late", "True");
    await h.world.pass(60);
    expect(h.requests.length).toBeLessThanOrEqual(47);
    h.cloud.faults.clear();
    const hasAll = () => h.cloud.project.balancers.list().every(({ targets }) => targets.length === 3);
    await h.world.until(hasAll, "all targets", 300);
  },
);

test("writes the status twice when two stages of a reconcile report an error, and neither write is rejected", async () => {
  const h = new HetznerWorld({ nodes: 2 });
  await h.start("service");
  h.world.create("web", ports(30_000));
  await h.world.until(() => h.world.addressesOf("web").length > 0, "the address");
  h.forget();
  const annotations = { "algorithm-type": "fastest", "use-private-ip": "true" };
  const prefixed = Object.entries(annotations).map(([name, value]) => [
    `load-balancer.hetzner.cloud/${name}`,
    value,
  ]);
  h.world.annotate("web", Object.fromEntries(prefixed));
  await h.world.pass(60);
  expect(h.world.written.filter((what) => what.endsWith("/web/status"))).toHaveLength(2);
  const [ready] = h.world.get("web").status.conditions ?? [];
  expect(ready?.message).toContain("must be one of round_robin, least_connections");
  expect(ready?.message).toContain("use-private-ip requires the private network");
});
