// The special features of load balancers of DigitalOcean: adoption, renaming, giving up, certificates, and requests that the
// cloud rejects.

import { expect, test } from "bun:test";
import { seconds } from "../../../src/core/brand.ts";
import { DigitalOceanWorld, idAnnotation, prefix, quick, tcpPort } from "./digitalocean-world.ts";

const disown = "service.kubernetes.io/do-loadbalancer-disown";
const config = { "cluster-id": "prod", region: "nyc3" };
const spec = { ports: [tcpPort(30_080)] };
const annotated = (annotations: Readonly<Record<string, string>>) => ({
  annotations: Object.fromEntries(
    Object.entries(annotations).map(([name, value]) => [name.includes("/") ? name : prefix + name, value]),
  ),
  spec,
});
const worldOf = (options: ConstructorParameters<typeof DigitalOceanWorld>[0] = {}) =>
  new DigitalOceanWorld({ nodes: 2, config, ...quick, ...options });
const namesIn = (h: DigitalOceanWorld) => h.balancers().map(({ name }) => name);
const eventsOf = (h: DigitalOceanWorld, name = "web") => h.world.events(name).join("\n");

/** A world with the Service `web` and its load balancer. */
async function served(
  annotations: Readonly<Record<string, string>> = {},
  h = worldOf(),
  ...flags: readonly string[]
) {
  await h.start("service", ...flags);
  h.world.create("web", annotated(annotations));
  await h.settle();
  const [balancer] = h.balancers();
  if (balancer === undefined) throw new Error(`No load balancer:\n${eventsOf(h)}`);
  h.forget();
  return { h, balancer };
}

test("waits a minute for a new load balancer with few requests, and then publishes both addresses", async () => {
  const h = new DigitalOceanWorld({ config });
  h.addNode("node-1", { ipv6: true });
  await h.start();
  h.world.create("web", annotated({}));
  await h.world.pass(30);
  expect(h.world.addressesOf("web")).toEqual([]);
  await h.world.pass(60);
  const [balancer] = h.balancers();
  expect(balancer?.network_stack).toBe("DUALSTACK");
  expect(h.world.addressesOf("web")).toEqual([balancer?.ip ?? "", balancer?.ipv6 ?? ""]);
  expect(h.requests.filter((each) => each === "GET /v2/load_balancers").length).toBeLessThanOrEqual(12);
});

test("adopts the load balancer whose id a Service names, renames it and adds the tag [F39]", async () => {
  const h = worldOf();
  const { id } = h.cloud.account.balancers.add("by-hand");
  await h.start();
  const { uid } = h.world.create("web", annotated({ [idAnnotation]: id })).metadata;
  await h.settle();
  expect(h.balancers().map((each) => [each.id, each.name, each.tags])).toEqual([
    [id, `a${uid.replaceAll("-", "")}`.slice(0, 32), ["k8s:prod"]],
  ]);
  expect(h.world.get("web").metadata.annotations?.[`${prefix}type`]).toBe("REGIONAL");
});

test("adopts a load balancer by name only if it serves this cluster or has no targets [F39]", async () => {
  const h = worldOf();
  const { id: other } = h.cloud.account.droplets.add("machine-of-another-cluster");
  h.cloud.account.balancers.add("shop", { droplet_ids: [other] });
  h.cloud.account.balancers.add("blog");
  await h.start();
  h.world.create("blog", { ...annotated({ name: "blog" }) });
  h.world.create("shop", { ...annotated({ name: "shop" }), spec: { ports: [tcpPort(30_081)] } });
  await h.settle();
  expect(namesIn(h).filter((name) => name === "blog")).toHaveLength(1);
  expect(h.balancers().find(({ name }) => name === "shop")?.droplet_ids).toEqual([other]);
  expect(h.balancers()).toHaveLength(2);
  expect(eventsOf(h, "shop")).toContain("name is not unique");
});

test("finds a renamed load balancer after a restart, and deletes it with its Service [F40]", async () => {
  const { h, balancer } = await served({ name: "shop" });
  expect(balancer.name).toBe("shop");
  h.cloud.account.balancers.change(balancer.id, { name: "renamed-by-hand" });
  await h.world.stop();
  await h.start();
  await h.settle();
  expect(namesIn(h)).toEqual(["shop"]);
  h.forget();
  h.world.delete("web");
  await h.settle();
  expect(h.balancers()).toEqual([]);
  expect(h.world.find("web")).toBeUndefined();
  expect(h.changes).toEqual(["DELETE /v2/load_balancers/{id}"]);
});

test("finds a new load balancer whose id was never stored, and creates no duplicate [F40]", async () => {
  const h = worldOf();
  await h.start();
  h.world.onCrossing = (what, when) => {
    if (what === "POST /v2/load_balancers" && when === "after") h.world.crash();
  };
  h.world.create("web", annotated({ name: "shop" }));
  await h.world.pass(30);
  h.world.onCrossing = undefined;
  await h.start();
  await h.settle();
  expect(namesIn(h)).toEqual(["shop"]);
  expect(h.world.get("web").metadata.annotations?.[idAnnotation]).toBe(h.balancers()[0]?.id ?? "");
});

test("neither changes nor deletes a disowned load balancer, and lets another Service adopt it [F41]", async () => {
  const { h, balancer } = await served();
  h.world.annotate("web", { [disown]: "true" });
  await h.settle();
  h.world.editSpec("web", { ports: [{ port: 443, protocol: "TCP", nodePort: 30_443 }] });
  await h.settle();
  expect(h.changes).toEqual([]);
  expect(h.world.addressesOf("web")).toEqual([balancer.ip]);
  h.world.delete("web");
  await h.settle();
  expect([h.changes, h.world.find("web")]).toEqual([[], undefined]);
  h.world.create("heir", annotated({ [idAnnotation]: balancer.id }));
  await h.settle();
  expect(h.balancers().map(({ id }) => id)).toEqual([balancer.id]);
  expect(h.world.addressesOf("heir")).toEqual([balancer.ip]);
});

test("gives a load balancer to another Service while the Service that disowned it still exists [F41]", async () => {
  const { h, balancer } = await served();
  h.world.annotate("web", { [disown]: "true" });
  h.world.create("heir", {
    ...annotated({ [idAnnotation]: balancer.id }),
    spec: { ports: [tcpPort(30_081)] },
  });
  await h.settle();
  h.world.delete("web");
  await h.settle();
  expect(h.balancers().map(({ id }) => id)).toEqual([balancer.id]);
  expect(h.world.find("web")).toBeUndefined();
  expect(h.world.addressesOf("heir")).toEqual([balancer.ip]);
});

test("keeps the load balancer of a Service when another Service writes its id", async () => {
  const { h, balancer } = await served({ name: "shop" });
  h.world.create("thief", {
    ...annotated({ [idAnnotation]: balancer.id }),
    spec: { ports: [tcpPort(30_081)] },
  });
  await h.settle();
  expect(h.balancers().find(({ id }) => id === balancer.id)?.forwarding_rules).toHaveLength(1);
  h.world.delete("thief");
  await h.settle();
  expect(h.balancers().map(({ id }) => id)).toEqual([balancer.id]);
  expect(h.world.addressesOf("web")).toEqual([balancer.ip]);
});

test("keeps a certificate of Let's Encrypt that was renewed, and stores its id", async () => {
  const h = worldOf();
  const { certificates, balancers } = h.cloud.account;
  const old = certificates.add("shop", { type: "lets_encrypt" });
  const annotations = { type: "REGIONAL", "certificate-id": old.id, "tls-ports": "80" };
  const { balancer } = await served(annotations, h);
  const renewed = certificates.add("shop", { type: "lets_encrypt" });
  certificates.remove(old.id);
  const rules = balancer.forwarding_rules.map((rule) => ({ ...rule, certificate_id: renewed.id }));
  balancers.change(balancer.id, { forwarding_rules: rules });
  await h.world.pass(3600);
  expect(h.changes).toEqual([]);
  expect(h.world.get("web").metadata.annotations?.[`${prefix}certificate-id`]).toBe(renewed.id);
  h.addNode("more");
  await h.settle();
  expect(h.balancers()[0]?.droplet_ids).toHaveLength(3);
  expect(h.balancers()[0]?.forwarding_rules[0]?.certificate_id).toBe(renewed.id);
});

test("never sends the previous certificate when it is renewed between a listing and a change", async () => {
  const h = worldOf();
  const { certificates, balancers } = h.cloud.account;
  const old = certificates.add("shop", { type: "lets_encrypt" });
  const { balancer } = await served({ type: "REGIONAL", "certificate-name": "shop", "tls-ports": "80" }, h);
  const renewed = certificates.add("shop", { type: "lets_encrypt" });
  certificates.remove(old.id);
  balancers.change(balancer.id, {
    forwarding_rules: balancer.forwarding_rules.map((rule) => ({ ...rule, certificate_id: renewed.id })),
  });
  h.addNode("more");
  await h.settle();
  expect(h.balancers()[0]?.forwarding_rules[0]?.certificate_id).toBe(renewed.id);
  expect(h.balancers()[0]?.droplet_ids).toHaveLength(3);
});

test("changes the certificate when the annotation names another certificate", async () => {
  const h = worldOf();
  const { certificates } = h.cloud.account;
  const [old, next] = [certificates.add("old"), certificates.add("next")];
  await served({ type: "REGIONAL", "certificate-id": old.id, "tls-ports": "80" }, h);
  h.world.annotate("web", { [`${prefix}certificate-id`]: next.id });
  await h.settle();
  expect(h.balancers()[0]?.forwarding_rules[0]?.certificate_id).toBe(next.id);
});

test.each([
  [
    { type: "REGIONAL", "tls-ports": "80" },
    "needs either a certificate or tls-passthrough; the Service has none",
  ],
  [{ type: "REGIONAL", "tls-passthrough": "true", "http3-port": "80" }, "http3, which needs a certificate"],
  [
    { type: "REGIONAL", "http-ports": "80", "http2-ports": "80", "tls-passthrough": "true" },
    "Port 80 is in several lists",
  ],
  [{ type: "REGIONAL", "certificate-name": "none" }, 'The certificate "none" does not exist'],
  [{ "size-unit": "2", "size-slug": "lb-small" }, "The size is set twice"],
  [{ "sticky-sessions-type": "cookies" }, "need a name and a lifetime"],
  [{ "override-health-check": "", "healthcheck-port": "81" }, "no TCP port 81"],
  [{ network: "INTERNAL", "network-stack": "DUALSTACK" }, "Internal load balancers have no IPv6"],
  [{ "network-stack": "DUALSTACK" }, "all Nodes need a public IPv6 address"],
  [{ type: "GLOBAL" }, "must be one of REGIONAL, REGIONAL_NETWORK"],
  [{ name: "-shop" }, "without a dot or dash at the start"],
])(
  "creates no load balancer for annotations that contradict each other, and reports them: %p [F47]",
  async (annotations, text) => {
    const h = worldOf();
    await h.start();
    h.world.create("web", annotated(annotations as Readonly<Record<string, string>>));
    await h.settle();
    expect(h.balancers()).toEqual([]);
    expect(eventsOf(h)).toContain(text);
  },
);

test.each([
  [{ "healthcheck-path": "/" }, "override-health-check is not set"],
  [{ "http-ports": "80" }, "do-loadbalancer-type is REGIONAL_NETWORK"],
  [
    { type: "REGIONAL", "tls-passthrough": "true", "http-ports": "80", "http3-port": "81" },
    "no TCP port of the Service",
  ],
])("reports annotations without effect: %p", async (annotations, text) => {
  const h = worldOf();
  if (text.startsWith("no TCP port")) {
    const { id } = h.cloud.account.certificates.add("shop");
    delete (annotations as Record<string, string>)["tls-passthrough"];
    Object.assign(annotations, { "certificate-id": id });
  }
  await served(annotations as Readonly<Record<string, string>>, h);
  expect(eventsOf(h)).toContain(text);
});

test("keeps the observed value of only the setting that an invalid annotation governs", async () => {
  const { h } = await served({ "size-unit": "3" });
  h.world.annotate("web", { [`${prefix}size-unit`]: "many", [`${prefix}enable-proxy-protocol`]: "true" });
  await h.settle();
  expect(h.balancers().map((each) => [each.size_unit, each.enable_proxy_protocol])).toEqual([[3, true]]);
});

test("omits and reports Nodes that a network load balancer cannot reach", async () => {
  const h = worldOf();
  h.addNode("private", { isPublic: false });
  h.addNode("far", { region: "fra1" });
  await served({}, h);
  expect(h.balancers()[0]?.droplet_ids).toHaveLength(2);
  expect(eventsOf(h)).toContain("no public IPv4 address");
  expect(eventsOf(h)).toContain("not in region nyc3");
});

test.each(["REGIONAL", "INTERNAL"])("reaches Nodes without a public address: %s", async (kind) => {
  const h = worldOf();
  h.addNode("private", { isPublic: false });
  await served(kind === "INTERNAL" ? { network: kind } : { type: kind }, h);
  expect(h.balancers()[0]?.droplet_ids).toHaveLength(3);
});

test("creates the load balancer in the region of the Nodes when no region is set", async () => {
  const h = worldOf({ nodes: 0, config: {} });
  h.addNode("node-1", { region: "fra1" });
  await served({}, h);
  expect(h.balancers()[0]?.region).toBe("fra1");
});

test.each([
  ["nyc9", "they are not in region nyc9"],
  ["", "Nodes are in the regions fra1, nyc3"],
])("creates no load balancer while the region is unknown: %p", async (region, text) => {
  const h = worldOf({ config: region === "" ? {} : { region } });
  if (region === "") h.addNode("far", { region: "fra1" });
  await h.start();
  h.world.create("web", annotated({}));
  await h.settle();
  expect(h.balancers()).toEqual([]);
  expect(eventsOf(h)).toContain(text);
});

test("repeats a change that DigitalOcean rejects while it processes the previous change", async () => {
  const { h } = await served({}, worldOf({ times: { activation: seconds(1), change: seconds(30) } }));
  h.world.annotate("web", { [`${prefix}size-unit`]: "2" });
  await h.world.pass(5);
  h.world.annotate("web", { [`${prefix}size-unit`]: "3" });
  await h.settle();
  expect(h.balancers()[0]?.size_unit).toBe(3);
});

test("publishes the ipMode of the annotation, or of the setting for all Services", async () => {
  const { h } = await served({}, worldOf({ config: { ...config, "load-balancer-ip-mode": "Proxy" } }));
  expect(h.world.get("web").status.loadBalancer?.ingress?.[0]?.ipMode).toBe("Proxy");
  h.world.annotate("web", { [`${prefix}ip-mode`]: "VIP" });
  await h.settle();
  expect(h.world.get("web").status.loadBalancer?.ingress?.[0]?.ipMode).toBe("VIP");
});

test("reports a load balancer with an error, and leaves it unchanged", async () => {
  const { h, balancer } = await served();
  h.cloud.account.balancers.change(balancer.id, { status: "errored" });
  await h.world.pass(3600);
  h.world.annotate("web", { [`${prefix}size-unit`]: "2" });
  await h.world.pass(3600);
  expect(h.changes).toEqual([]);
  expect(eventsOf(h)).toContain("LoadBalancerErrored");
});

const portsOf = (h: DigitalOceanWorld) =>
  h.balancers()[0]?.forwarding_rules.map(({ entry_port }) => entry_port);

test.each([
  ["that the API names", undefined],
  ["that the API does not name", "The request is invalid."],
])(
  "omits a droplet %s as unknown, makes the rest of the change, and reports the Node",
  async (_, message) => {
    const { h } = await served();
    const gone = h.addNode("gone");
    h.cloud.account.droplets.remove("gone");
    h.cloud.account.refusalOfDroplets = message;
    h.addNode("more");
    h.world.editSpec("web", { ports: [{ port: 443, protocol: "TCP", nodePort: 30_443 }] });
    await h.settle();
    expect(h.balancers()[0]?.droplet_ids).toHaveLength(3);
    expect(h.balancers()[0]?.droplet_ids).not.toContain(gone);
    expect(portsOf(h)).toEqual([443]);
    expect(eventsOf(h)).toContain("TargetRefused The cloud refuses 1 of 4 targets: gone");
    expect(h.world.addressesOf("web")).toHaveLength(1);
  },
);

test("creates a load balancer although the API rejects a droplet, and reports the Node", async () => {
  const h = worldOf();
  h.addNode("gone");
  await h.start("cloud-node,service");
  await h.settle();
  h.cloud.account.droplets.lag = seconds(3600);
  h.cloud.account.droplets.remove("gone");
  h.world.create("web", annotated({}));
  await h.settle();
  expect(h.balancers()[0]?.droplet_ids).toHaveLength(2);
  expect(h.world.addressesOf("web")).toHaveLength(1);
  expect(eventsOf(h)).toContain("TargetRefused The cloud refuses 1 of 3 targets: gone");
});

test("adds and removes a target without another change when drift is only reported", async () => {
  const { h, balancer } = await served({}, worldOf(), "--load-balancer-drift=report");
  h.addNode("more");
  h.world.onCrossing = (what, when) => {
    // A user changes it between the listing and the request.
    if (what.endsWith("/droplets") && when === "before")
      h.cloud.account.balancers.change(balancer.id, { http_idle_timeout_seconds: 90 });
  };
  await h.world.pass(10);
  expect(h.changes).toEqual(["POST /v2/load_balancers/{id}/droplets"]);
  expect(h.balancers()[0]).toMatchObject({ http_idle_timeout_seconds: 90 });
  expect(h.balancers()[0]?.droplet_ids).toHaveLength(3);
  h.world.onCrossing = undefined;
  await h.settle();
  h.forget();
  h.world.removeNode("more");
  await h.settle();
  expect(h.changes).toEqual(["DELETE /v2/load_balancers/{id}/droplets"]);
  expect(h.balancers()[0]?.droplet_ids).toHaveLength(2);
});

test("replaces only the targets, so that settings that a user has changed since the listing stay", async () => {
  const { h, balancer } = await served({}, worldOf(), "--load-balancer-drift=report");
  h.cloud.account.balancers.change(balancer.id, { http_idle_timeout_seconds: 90 });
  h.world.removeNode("node-0");
  h.addNode("more");
  await h.world.pass(10);
  expect(h.changes).toEqual([
    "POST /v2/load_balancers/{id}/droplets",
    "DELETE /v2/load_balancers/{id}/droplets",
  ]);
  expect(h.balancers()[0]).toMatchObject({ http_idle_timeout_seconds: 90 });
  expect(h.balancers()[0]?.droplet_ids).toHaveLength(2);
});

test("at the start, reports a region and a VPC that DigitalOcean does not have, with a suggestion", async () => {
  const h = worldOf({ config: { region: "nyc2", "vpc-id": "c33931f2-a26a-4e61-b85c-4e95a2ec431b" } });
  await h.start();
  await h.world.pass(600);
  const logged = h.world.logged.join("");
  expect(logged).toContain('region is "nyc2", which DigitalOcean does not have. Did you mean nyc3?');
  expect(logged).toContain("vpc-id is");
  expect(h.requests.filter((each) => each === "GET /v2/regions")).toHaveLength(1);
});

test.each([
  [403, 1, "The cloud settings could not be checked: The cloud refused GET /regions"],
  [500, 3, ""],
])("checks REGION again only after an outage: status %p", async (status, requests, text) => {
  const h = worldOf();
  h.cloud.faults.add({ kind: "status", status, operation: "GET /v2/regions", calls: 2 });
  await h.start();
  await h.world.pass(3600);
  expect(h.requests.filter((each) => each === "GET /v2/regions")).toHaveLength(requests);
  expect(h.world.logged.join("")).toContain(text);
});

test("replaces a tag that selects droplets by the droplets of the Nodes", async () => {
  const { h, balancer } = await served();
  const { id } = h.cloud.account.droplets.add("tagged", { tags: ["web"] });
  h.cloud.account.balancers.change(balancer.id, { tag: "web", droplet_ids: [] });
  await h.world.pass(3600);
  expect(h.balancers()).toMatchObject([{ tag: "", droplet_ids: balancer.droplet_ids }]);
  expect(h.balancers()[0]?.droplet_ids).not.toContain(id);
  expect(h.changes).toEqual(["PUT /v2/load_balancers/{id}"]);
});

test("keeps targets that have been changed since the listing when it changes another setting of the load balancer", async () => {
  const { h, balancer } = await served();
  const more = h.cloud.account.droplets.add("more").id;
  h.world.onCrossing = (what, when) => {
    if (what === `GET /v2/load_balancers/${balancer.id}` && when === "before")
      h.cloud.account.balancers.change(balancer.id, { droplet_ids: [...balancer.droplet_ids, more] });
  };
  h.world.annotate("web", { [`${prefix}size-unit`]: "2" });
  await h.world.pass(5);
  const sent = h.cloud.seen.find(({ operation }) => operation === "PUT /v2/load_balancers/{id}")?.body;
  expect(sent).toMatchObject({ size_unit: 2, droplet_ids: [...balancer.droplet_ids, more] });
});

test.each([
  ["one of them is replaced", 2],
  ["all of them are replaced", 1],
])(
  "changes the targets when a droplet that the load balancer still shows was destroyed and %s",
  async (_, count) => {
    const { h } = await served({}, worldOf({ nodes: count }));
    h.cloud.account.droplets.remove("node-0");
    h.world.removeNode("node-0");
    const more = h.addNode("more");
    await h.world.pass(30);
    const ids = h.cloud.account.droplets.list().map(({ id }) => id);
    expect(ids).toContain(more);
    expect(h.balancers()[0]?.droplet_ids.toSorted()).toEqual(ids.toSorted());
  },
);

test("removes a target while another target's droplet is destroyed", async () => {
  const { h, balancer } = await served({}, worldOf({ nodes: 3 }));
  h.cloud.account.droplets.remove("node-0");
  h.world.removeNode("node-1");
  await h.world.pass(30);
  expect(h.balancers()[0]?.droplet_ids).toEqual(balancer.droplet_ids.slice(2));
  expect(eventsOf(h)).not.toContain("TargetRefused");
});

test("sends few requests while the load balancer still shows a destroyed droplet that was removed", async () => {
  const { h, balancer } = await served();
  h.cloud.account.droplets.remove("node-0");
  const { balancers } = h.cloud.account;
  const put = balancers.put.bind(balancers);
  Object.assign(balancers, {
    put: (next: typeof balancer) =>
      put({ ...next, droplet_ids: [...new Set([...balancer.droplet_ids, ...next.droplet_ids])] }),
  });
  h.addNode("more");
  await h.world.pass(60);
  expect(h.requests.filter((each) => each.startsWith("DELETE ")).length).toBeLessThan(6);
  Object.assign(balancers, { put });
  await h.world.pass(120);
  const ids = h.cloud.account.droplets.list().map(({ id }) => id);
  expect(h.balancers()[0]?.droplet_ids.toSorted()).toEqual(ids.toSorted());
});

test("changes the certificate and the name together without reporting a failure", async () => {
  const h = worldOf();
  const { certificates } = h.cloud.account;
  const [old, next] = [certificates.add("old"), certificates.add("next")];
  await served({ type: "REGIONAL", "certificate-id": old.id, "tls-ports": "80" }, h);
  h.world.annotate("web", { [`${prefix}certificate-id`]: next.id, [`${prefix}name`]: "renamed" });
  await h.settle();
  expect(h.balancers()).toMatchObject([{ name: "renamed", forwarding_rules: [{ certificate_id: next.id }] }]);
  expect(eventsOf(h)).not.toContain("was renewed or changed since");
  expect(eventsOf(h)).not.toContain("Warning");
});
