// Rancher's executable with a real API server and a simulated environment over HTTP: hosts and load balancers in normal
// operation, and with each fault that the simulator can inject.

import { expect, test } from "bun:test";
import { seconds } from "../../src/core/brand.ts";
import { isUninitialized } from "./rig/cluster.ts";
import { inParallel } from "./rig/in-parallel.ts";
import { RancherCluster } from "./rig/rancher-cluster.ts";

const sum = (counts: Readonly<Record<string, number>>, part: string): number =>
  Object.entries(counts).reduce((all, [operation, count]) => all + (operation.includes(part) ? count : 0), 0);

test("the Rancher manager handles 250 hosts on three pages and 20 Services, and restarts without a change [F1 F9 F26 S11]", async () => {
  await using h = await RancherCluster.open();
  const { cluster, cloud } = h;
  const { hosts } = cloud.environment;
  const names = Array.from({ length: 250 }, (_, index) => `node-${index}`);
  for (const name of names) hosts.add(name);
  // Enough targets for two pages of external services.
  const targets = names.slice(0, 120);
  const first = h.start();
  await inParallel(names, 16, (name) => h.join(name, targets.includes(name)));
  const all = await cluster.until("all Nodes to be initialized", async () => {
    const found = await h.nodes();
    return found.length === names.length && !found.some(isUninitialized) && found;
  });
  for (const { metadata, spec, status } of all) {
    const { uuid, ips } = hosts.existing(metadata.name);
    expect(spec.providerID as string).toBe(`rancher://${uuid}`);
    expect(status.addresses).toContainEqual({ type: "InternalIP", address: ips[0] ?? "" });
  }
  // Each listing has three pages, and no host is looked up individually.
  expect(cloud.seen.some(({ path }) => path.includes("marker=m200"))).toBe(true);
  expect(sum(cloud.counts(), "GET /hosts")).toBeLessThanOrEqual(60);

  const services = Array.from({ length: 20 }, (_, index) => `shop-${index}`);
  await inParallel(services, 8, (name) => h.createService(name, 8000 + services.indexOf(name)));
  await Promise.all(services.map((name) => h.served(name)));
  for (const service of await h.services()) expect(h.targetsOf(service)).toEqual(targets.toSorted());
  expect(h.existing("externalService")).toHaveLength(targets.length);

  await first.stop(10);
  const before = [...h.existing("loadBalancerService"), ...h.existing("externalService")].map(({ id }) => id);
  cloud.forget();
  h.start();
  await h.createService("late", 9000);
  const late = await h.served("late");
  expect(h.targetsOf(late)).toEqual(targets.toSorted());
  const after = [...h.existing("loadBalancerService"), ...h.existing("externalService")].map(({ id }) => id);
  expect(after.filter((id) => !before.includes(id))).toHaveLength(1);
  const changed = cloud.seen.filter(
    ({ mutates, path }) => mutates && before.some((id) => path.includes(`/${id}/`)),
  );
  expect(changed.map(({ operation }) => operation)).toEqual([]);
  await h.deleteAll();
});

test("the Rancher manager deletes only the Node of a purged host, and waits for hosts without address or with a shared name [F18 F23 N1 S11]", async () => {
  await using h = await RancherCluster.open();
  const { cluster, cloud } = h;
  const { hosts } = cloud.environment;
  for (const name of ["purged", "renamed", "lost", "empty", "twin", "short.example.com", "full"])
    hosts.add(name);
  const bare = hosts.add("bare", { ips: [] });
  const twin = hosts.add("twin");
  h.start("--config-set=node-domains=example.com");
  const joined = ["purged", "renamed", "lost", "empty", "short", "full.example.com"];
  await Promise.all([...joined, "bare", "twin"].map((name) => cluster.join(name)));
  await Promise.all(joined.map((name) => cluster.initialized(name)));
  await h.event("bare", "Rancher has no IP address for host bare yet");
  await h.event("twin", "twin");
  const short = await cluster.initialized("short");
  const full = await cluster.initialized("full.example.com");
  expect(short.spec.providerID as string).toBe(`rancher://${hosts.existing("short.example.com").uuid}`);
  expect(full.spec.providerID as string).toBe(`rancher://${hosts.existing("full").uuid}`);
  for (const name of ["bare", "twin"]) {
    const node = await cluster.node(name);
    expect([name, node?.spec.providerID, node && isUninitialized(node)]).toEqual([name, undefined, true]);
  }

  // The event socket.
  hosts.change("short.example.com", { ips: ["198.51.100.9"] });
  await cluster.until(
    "the new address of Node short",
    async () => {
      const node = await cluster.node("short");
      return node?.status.addresses?.some(({ address }) => address === "198.51.100.9") === true;
    },
    { seconds: 120 },
  );
  expect(cloud.events.open).toBe(1);

  // Each becomes NotReady earlier than the purged host, so that an incorrect deletion would happen first.
  hosts.change("renamed", { hostname: "another-name" });
  hosts.disconnect("lost");
  hosts.change("empty", { ips: [] });
  for (const name of ["renamed", "lost", "empty"]) await cluster.ready(name, false);
  await h.event("lost", "HostAgentDisconnected");
  await cluster.ready("purged", false);
  hosts.purge("purged", cloud.clock.now());
  await cluster.until(
    "the deletion of Node purged",
    async () => (await cluster.node("purged")) === undefined,
  );
  const kept = (await h.nodes()).map(({ metadata }) => metadata.name as string).toSorted();
  expect(kept).toEqual(["bare", "empty", "full.example.com", "lost", "renamed", "short", "twin"]);
  const empty = await cluster.node("empty");
  expect(empty?.status.addresses?.length).toBeGreaterThan(0);

  hosts.put({ ...bare, ips: ["198.51.100.1"] });
  hosts.put({ ...twin, state: "purged", removed: new Date().toISOString() });
  const initialized = await cluster.initialized("bare");
  expect(initialized.status.addresses).toContainEqual({ type: "InternalIP", address: "198.51.100.1" });
  expect((await cluster.initialized("twin")).spec.providerID as string).toBe(
    `rancher://${hosts.existing("twin").uuid}`,
  );
});

test("the Rancher manager changes nothing while the key is rejected, and continues with the key of the changed file [F70 S11]", async () => {
  await using h = await RancherCluster.open();
  const { cluster, cloud } = h;
  const { hosts } = cloud.environment;
  hosts.add("node-1");
  h.start();
  await cluster.join("node-1");
  await cluster.initialized("node-1");
  await h.createService("shop", 80);
  await h.served("shop");

  cloud.revokeKeys();
  cloud.forget();
  hosts.add("node-2");
  hosts.purge("node-1", cloud.clock.now());
  await cluster.ready("node-1", false);
  await cluster.join("node-2");
  await h.deleteService("shop");
  await h.event("node-2", "401");
  await h.event("shop", "401");
  expect(cloud.seen.filter(({ status }) => status !== 401)).toEqual([]);
  expect(await cluster.node("node-1")).toBeDefined();
  expect(await h.service("shop")).toBeDefined();

  h.setKey("another");
  await cluster.initialized("node-2");
  await cluster.until(
    "the deletion of Node node-1",
    async () => (await cluster.node("node-1")) === undefined,
  );
  await h.deleteAll();
});

test("the Rancher manager reports what load balancers wait for, and reaches the desired state after each fault of Rancher [F26 F47 F49 F53 S11]", async () => {
  await using h = await RancherCluster.open();
  const { cluster, cloud } = h;
  const { hosts, services } = cloud.environment;
  const names = ["node-1", "node-2", "node-3"];
  for (const name of names) hosts.add(name);
  h.start();
  await Promise.all(names.map((name) => cluster.join(name)));
  await Promise.all(names.map((name) => cluster.initialized(name)));

  // Activation is rejected for a while, and public endpoints arrive late and one by one; a host port is in use; annotations are
  // invalid and misspelled.
  cloud.withholdActivate(seconds(4));
  services.endpointInterval = seconds(1);
  services.obstacles.occupy(8002);
  await h.createService("late", 8001);
  await h.createService("occupied", 8002);
  await h.createService("wrong", 8003, { "lb-scale": "many", "lb-scal": "2" });
  await Promise.all([
    h.event("late", "WaitingForCloud"),
    h.event("occupied", "host has port 8002 in use"),
    h.event("wrong", "a number from 1 to 100, or global"),
    h.event("wrong", 'did you mean "service.rancher.io/lb-scale"'),
  ]);
  expect(h.existing("loadBalancerService")).toHaveLength(2);
  services.obstacles.free(8002);
  await h.annotate("wrong", { "lb-scale": "2", "lb-scal": null });
  for (const name of ["late", "occupied", "wrong"]) expect(h.targetsOf(await h.served(name))).toEqual(names);
  services.endpointInterval = seconds(0);

  // A Service needs its load balancer again while Rancher is still removing it, so the name is taken.
  const balancer = h
    .existing("loadBalancerService")
    .find(({ launchConfig }) => launchConfig?.ports.includes("8002:8002/tcp"));
  services.obstacles.stick(balancer?.name ?? "");
  await h.editService("occupied", { spec: { type: "ClusterIP" } });
  await cluster.until("the removal", () => services.get(balancer?.id ?? "")?.state === "removing");
  await h.editService("occupied", { spec: { type: "LoadBalancer" } });
  await h.event("occupied", "NotUnique");
  services.obstacles.release(balancer?.name ?? "");
  await h.served("occupied");

  // The external service of a Node that is needed again stays in `removing`. The other Nodes serve traffic.
  services.obstacles.stick("node-3");
  await h.exclude("node-3", true);
  await cluster.until("the removal of node-3", () => services.existing("node-3").state === "removing");
  await h.exclude("node-3", false);
  await h.event("late", "Waiting for external service node-3 to be removed");
  for (const service of await h.services()) expect(h.targetsOf(service)).toEqual(["node-1", "node-2"]);
  services.obstacles.release("node-3");
  await cluster.until("node-3 to be a target of all Services", async () =>
    (await h.services()).every((service) => h.targetsOf(service).includes("node-3")),
  );
  await h.deleteAll();
});
