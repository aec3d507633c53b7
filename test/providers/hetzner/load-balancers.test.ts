// Load balancers over their whole life: creation, certificates, adoption, networks, limits, deletion.

import { expect, test } from "bun:test";
import { ownerLabel } from "../../../providers/hetzner/marks.ts";
import { seconds } from "../../../src/core/brand.ts";
import { HetznerWorld, type HetznerWorldOptions } from "./hetzner-world.ts";

const prefix = "load-balancer.hetzner.cloud/";
const isChange = (operation: string): boolean => !operation.startsWith("GET ");
const draft = (
  annotations: Readonly<Record<string, string>> = {},
  ports: readonly object[] = [{ port: 80, protocol: "TCP", nodePort: 30_080 }],
) => ({
  annotations: Object.fromEntries(Object.entries(annotations).map(([name, value]) => [prefix + name, value])),
  spec: { ports: ports as never },
});

async function created(annotations: Readonly<Record<string, string>>, options: HetznerWorldOptions = {}) {
  const h = new HetznerWorld({ nodes: 2, ...options });
  await h.start("service");
  h.forget();
  h.world.create("web", draft(annotations));
  await h.world.pass(60);
  return h;
}

const changesOf = (h: HetznerWorld): readonly string[] => h.requests.filter(isChange);
const onlyBalancer = (h: HetznerWorld) => {
  const [balancer, ...others] = h.cloud.project.balancers.list();
  if (balancer === undefined || others.length > 0) throw new Error("Expected one load balancer.");
  return balancer;
};
const events = (h: HetznerWorld): string => h.world.events("web").join("\n");

test("creates a load balancer with one request, with ports, targets and network [F31]", async () => {
  const h = await created(
    { type: "lb21", "use-private-ip": "true", "algorithm-type": "least_connections" },
    { hasNetwork: true },
  );
  expect(changesOf(h)).toEqual(["POST /load_balancers"]);
  const [request] = h.cloud.seen.filter(({ mutates }) => mutates);
  const servers = h.cloud.project.servers.list();
  const { uid } = h.world.get("web").metadata;
  expect(request?.body).toEqual({
    name: `a${uid.replaceAll("-", "")}`.slice(0, 32),
    load_balancer_type: "lb21",
    location: "fsn1",
    labels: { [ownerLabel]: uid },
    algorithm: { type: "least_connections" },
    network: h.networkID,
    services: [
      {
        protocol: "tcp",
        listen_port: 80,
        destination_port: 30_080,
        proxyprotocol: false,
        health_check: { protocol: "tcp", port: 30_080, interval: 15, timeout: 10, retries: 3 },
      },
    ],
    targets: servers.map(({ id }) => ({ type: "server", server: { id }, use_private_ip: true })),
  });
  const { ipv4, ipv6, privateNets } = onlyBalancer(h);
  expect(h.world.addressesOf("web")).toEqual([ipv4 ?? "", ipv6 ?? "", privateNets[0]?.ip ?? ""]);
});

test("creates an HTTP health check with the domain and path that the API requires", async () => {
  const h = await created({ "health-check-protocol": "http", "http-status-codes": "200" });
  h.world.editSpec("web", {
    ports: [
      { name: "a", port: 80, protocol: "TCP", nodePort: 30_080 },
      { name: "b", port: 81, protocol: "TCP", nodePort: 30_081 },
    ],
  });
  await h.world.pass(60);
  const http = { domain: null, path: "/", status_codes: ["200"] };
  const bodies = h.cloud.seen.filter(({ mutates }) => mutates).map(({ body }) => body);
  expect(bodies).toMatchObject([
    { services: [{ listen_port: 80, health_check: { http } }] },
    { listen_port: 81, health_check: { http } },
  ]);
});

test("adopts the load balancer that has the name and no owner [F39 F40]", async () => {
  const h = new HetznerWorld({ nodes: 2 });
  const { id, ipv4, ipv6 } = h.cloud.project.balancers.add("by-hand", { labels: { team: "web" } });
  await h.start("service");
  h.forget();
  h.world.create("web", draft({ name: "by-hand" }));
  await h.world.pass(60);
  const { uid } = h.world.get("web").metadata;
  const balancer = onlyBalancer(h);
  expect(balancer).toMatchObject({ id, labels: { team: "web", [ownerLabel]: uid } });
  expect(balancer.targets).toHaveLength(2);
  expect(h.world.addressesOf("web")).toEqual([ipv4 ?? "", ipv6 ?? ""]);
  expect(changesOf(h)[0]).toBe("PUT /load_balancers/{id}");
});

test("attaches a load balancer to the requested address and subnet after its creation", async () => {
  const h = await created({ "private-ipv4": "10.0.0.99" }, { hasNetwork: true });
  expect(onlyBalancer(h).privateNets).toEqual([{ network: h.networkID, ip: "10.0.0.99" }]);
  h.forget();
  h.world.annotate("web", { [`${prefix}private-ipv4`]: "10.0.0.98" });
  await h.world.pass(60);
  expect(onlyBalancer(h).privateNets).toEqual([{ network: h.networkID, ip: "10.0.0.98" }]);
  expect(changesOf(h).map((operation) => operation.replace(/.*actions\//, ""))).toEqual([
    "detach_from_network",
    "attach_to_network",
  ]);
});

test("adds the private targets again when a change of the network removes them", async () => {
  const h = await created({ "private-ipv4": "10.0.0.99", "use-private-ip": "true" }, { hasNetwork: true });
  expect(onlyBalancer(h).targets).toHaveLength(2);
  h.world.annotate("web", { [`${prefix}private-ipv4`]: "10.0.0.98" });
  await h.world.pass(120);
  expect(onlyBalancer(h)).toMatchObject({ privateNets: [{ ip: "10.0.0.98" }], targets: [{}, {}] });
});

test("uses uploaded certificates by name and id, and keeps the ports while a certificate is missing [F37]", async () => {
  const h = new HetznerWorld({ nodes: 1 });
  const { certificates } = h.cloud.project;
  const named = certificates.add("shop");
  const other = certificates.add("blog");
  await h.start("service");
  h.world.create(
    "web",
    draft({ protocol: "https", "http-certificates": `shop,${other.id}` }, [
      { port: 443, protocol: "TCP", nodePort: 30_443 },
    ]),
  );
  await h.world.pass(60);
  expect(onlyBalancer(h).services[0]?.http?.certificates).toEqual([named.id, other.id]);
  h.forget();
  h.world.annotate("web", { [`${prefix}http-certificates`]: "shop,missing" });
  await h.world.pass(120);
  expect(changesOf(h)).toEqual([]);
  expect(events(h)).toContain('The certificate "missing" does not exist in this project');
  h.addNode("more");
  await h.world.pass(60);
  expect(onlyBalancer(h).targets).toHaveLength(2);
  const added = certificates.add("missing");
  h.world.annotate("web", { [`${prefix}http-certificates`]: "missing" });
  await h.world.pass(120);
  expect(onlyBalancer(h).services[0]?.http?.certificates).toEqual([added.id]);
});

const managed = {
  protocol: "https",
  "certificate-type": "managed",
  "http-managed-certificate-domains": "example.com,www.example.com",
};

test("creates a managed certificate once, and adds the port when it is issued [F37]", async () => {
  const h = new HetznerWorld({ nodes: 1 });
  await h.start("service");
  h.forget();
  h.world.create("web", draft(managed, [{ port: 443, protocol: "TCP", nodePort: 30_443 }]));
  await h.world.pass(20);
  const [certificate, ...others] = h.cloud.project.certificates.list();
  const { uid } = h.world.get("web").metadata;
  expect(others).toEqual([]);
  expect(certificate).toMatchObject({
    name: `ccm-managed-certificate-${uid}`,
    type: "managed",
    domainNames: ["example.com", "www.example.com"],
    labels: { [ownerLabel]: uid },
  });
  expect(onlyBalancer(h).services[0]?.http?.certificates).toEqual([certificate?.id ?? 0]);
  expect(changesOf(h).filter((operation) => operation === "POST /certificates")).toHaveLength(1);
});

test.each(["another Service lists certificates", "another leader takes over"])(
  "adds the port soon after the certificate is issued, although %s before",
  async (what) => {
    const h = new HetznerWorld({ nodes: 1 });
    const { certificates, actions, balancers } = h.cloud.project;
    certificates.add("shop");
    await h.start("service");
    h.world.create("web", draft(managed, [{ port: 443, protocol: "TCP", nodePort: 30_443 }]));
    await h.world.until(() => balancers.list().length > 0, "the load balancer");
    actions.time = seconds(40);
    await h.world.until(() => certificates.list().length === 2, "the managed certificate");
    actions.time = seconds(1);
    await h.world.pass(30);
    if (what.startsWith("another leader")) {
      await h.world.stop();
      await h.start("service");
    } else {
      const uploaded = { protocol: "https", "http-certificates": "shop" };
      h.world.create("shop", draft(uploaded, [{ port: 443, protocol: "TCP", nodePort: 30_444 }]));
    }
    const isIssued = () => certificates.list().every(({ issuance }) => issuance !== "pending");
    await h.world.until(isIssued, "the issuance");
    const isServed = () => balancers.list().every(({ services }) => services.length === 1);
    await h.world.until(isServed, "the port", 20);
  },
);

test("reports a managed certificate that cannot be issued, and keeps serving the other ports [F37 F89]", async () => {
  const h = new HetznerWorld({ nodes: 1 });
  h.cloud.project.actions.plan({
    outcome: "fails",
    command: "create_certificate",
    error: { code: "dns_error", message: "DNS zone not found" },
  });
  await h.start("service");
  h.world.create("web", draft(managed, [{ port: 443, protocol: "TCP", nodePort: 30_443 }]));
  await h.world.pass(300);
  expect(events(h)).toContain("DNS zone not found");
  expect(onlyBalancer(h)).toMatchObject({ services: [], targets: [{}] });
  expect(h.cloud.project.certificates.list()).toHaveLength(1);
});

test("keeps the managed certificate when its domains change, and shows how to replace it [F37 F89]", async () => {
  const h = new HetznerWorld({ nodes: 1 });
  await h.start("service");
  h.world.create("web", draft(managed, [{ port: 443, protocol: "TCP", nodePort: 30_443 }]));
  await h.world.pass(300);
  h.forget();
  h.world.annotate("web", { [`${prefix}http-managed-certificate-domains`]: "other.example.com" });
  await h.world.pass(300);
  expect(changesOf(h)).toEqual([]);
  expect(events(h)).toContain(
    "is for example.com, www.example.com, and the Service requests other.example.com",
  );
});

test("uses the certificate that works when two certificates have the label of the Service", async () => {
  const h = new HetznerWorld({ nodes: 1 });
  const { certificates, actions } = h.cloud.project;
  actions.plan({ outcome: "fails", command: "create_certificate" });
  await h.start("service");
  h.world.create("web", draft(managed, [{ port: 443, protocol: "TCP", nodePort: 30_443 }]));
  await h.world.pass(60);
  const { uid } = h.world.get("web").metadata;
  const second = certificates.add("second", {
    type: "managed",
    domainNames: ["example.com", "www.example.com"],
    labels: { [ownerLabel]: uid },
  });
  await h.world.pass(1800);
  expect(onlyBalancer(h).services[0]?.http?.certificates).toEqual([second.id]);
});

/** Whether and how the load balancer ended. */
const released = (h: HetznerWorld) =>
  h.world.events("web").filter((text) => /DeletedLoadBalancer|ReleasedLoadBalancer/.test(text));

test("keeps and reports a protected load balancer when its Service is deleted [F89]", async () => {
  const h = await created({});
  const { id } = onlyBalancer(h);
  h.cloud.project.balancers.change(id, { isProtected: true });
  await h.world.pass(400);
  h.forget();
  h.world.delete("web");
  await h.world.pass(30);
  expect(h.world.find("web")).toBeUndefined();
  expect(onlyBalancer(h)).toMatchObject({ id, labels: {}, targets: [{}, {}] });
  expect(changesOf(h)).toEqual(["PUT /load_balancers/{id}"]);
  expect(events(h)).toContain("protected against deletion");
  expect(released(h)).toEqual([
    expect.stringMatching(
      /^Normal ReleasedLoadBalancer Released load balancer \S+ \(\d+\) with the address \S+ and \S+: it stays in the cloud, where it may cost money, and /,
    ),
  ]);
});

test("reports no failed deletion when the protection was enabled after the last listing", async () => {
  const h = await created({});
  h.world.manager.balancers?.request(Number.POSITIVE_INFINITY, "refresh");
  await h.world.pass(1);
  h.cloud.project.balancers.change(onlyBalancer(h).id, { isProtected: true });
  h.forget();
  h.world.delete("web");
  await h.world.pass(5);
  expect(h.world.find("web")).toBeUndefined();
  expect(changesOf(h)).toEqual(["DELETE /load_balancers/{id}", "PUT /load_balancers/{id}"]);
  expect(released(h)).toEqual([expect.stringContaining(" with the address ")]);
  expect(events(h)).not.toContain("Failed");
});

test("deletes the load balancer with its Service, and releases it on request [F41]", async () => {
  const deleted = await created({});
  deleted.world.delete("web");
  await deleted.world.pass(60);
  expect(deleted.cloud.project.balancers.list()).toEqual([]);
  const released = await created({});
  released.world.annotate("web", { "fairlead.dev/on-delete": "release" });
  released.world.delete("web");
  await released.world.pass(60);
  expect(onlyBalancer(released).labels).toEqual({});
  expect(released.world.find("web")).toBeUndefined();
});

test("chooses as many targets as the type accepts, and more after a change of the type [F44]", async () => {
  const h = await created({}, { nodes: 30 });
  expect(onlyBalancer(h).targets).toHaveLength(25);
  expect(events(h)).toContain("The load balancer accepts 25 targets");
  h.world.annotate("web", { [`${prefix}type`]: "lb21" });
  await h.world.pass(300);
  expect(onlyBalancer(h)).toMatchObject({ type: "lb21" });
  expect(onlyBalancer(h).targets).toHaveLength(30);
  h.world.annotate("web", { [`${prefix}type`]: "lb11" });
  await h.world.pass(300);
  expect(onlyBalancer(h)).toMatchObject({ type: "lb11" });
  expect(onlyBalancer(h).targets).toHaveLength(25);
});

test("selects targets by the labels of Nodes, and keeps them while the selector is invalid [F42 F47]", async () => {
  const h = new HetznerWorld({ nodes: 3 });
  h.world.changeNode("node-1", (node) => ({
    ...node,
    metadata: { ...node.metadata, labels: { pool: "web" } },
  }));
  await h.start("service");
  h.world.create("web", draft({ "node-selector": "pool in (web)" }));
  await h.world.pass(60);
  const { id } = h.cloud.project.servers.existing("node-1");
  expect(onlyBalancer(h).targets).toMatchObject([{ server: id }]);
  h.forget();
  h.world.annotate("web", { [`${prefix}node-selector`]: "pool in web" });
  h.addNode("more");
  await h.world.pass(120);
  expect(changesOf(h)).toEqual([]);
  expect(events(h)).toContain(`${prefix}node-selector`);
});

test("keeps targets that users have added by label selector", async () => {
  const h = await created({});
  const { id, targets } = onlyBalancer(h);
  const selector = { type: "label_selector", selector: "role=web", usesPrivateIp: false } as const;
  h.cloud.project.balancers.change(id, { targets: [...targets, selector] });
  h.addNode("more");
  await h.world.pass(60);
  expect(onlyBalancer(h).targets).toHaveLength(4);
  expect(onlyBalancer(h).targets).toContainEqual(selector);
});

test("names the missing setting when no location is known, and creates no load balancer", async () => {
  const h = await created({ location: "" });
  expect(h.cloud.project.balancers.list()).toEqual([]);
  expect(events(h)).toContain("Neither a location nor a network zone is set");
});

test("reports ports that are not TCP, and applies the TCP ports [F35]", async () => {
  const h = new HetznerWorld({ nodes: 1 });
  await h.start("service");
  h.world.create(
    "web",
    draft({}, [
      { name: "dns", port: 53, protocol: "UDP", nodePort: 30_053 },
      { name: "web", port: 80, protocol: "TCP", nodePort: 30_080 },
    ]),
  );
  await h.world.pass(60);
  expect(onlyBalancer(h).services.map(({ listen_port }) => listen_port)).toEqual([80]);
  expect(events(h)).toContain("UDP");
});

test("reports source ranges, which Hetzner's load balancers do not have [F30]", async () => {
  const h = new HetznerWorld({ nodes: 1 });
  await h.start("service");
  const { spec } = draft();
  h.world.create("web", { spec: { ...spec, loadBalancerSourceRanges: ["198.51.100.0/24"] } });
  await h.world.pass(60);
  expect(events(h)).toContain("source ranges");
});

test("leaves the load balancer unchanged when an annotation is invalid, and reports the allowed values [F47]", async () => {
  const h = await created({ "algorithm-type": "least_connections" });
  h.forget();
  h.world.annotate("web", {
    [`${prefix}algorithm-type`]: "random",
    [`${prefix}health-check-interval`]: "often",
  });
  await h.world.pass(120);
  expect(changesOf(h)).toEqual([]);
  expect(events(h)).toContain("round_robin, least_connections");
  expect(events(h)).toContain("health-check-interval");
});

const network = { hasNetwork: true };
test.each<[string, string | undefined, string, HetznerWorldOptions?]>([
  ["ipv6-disabled", "true", "yes"],
  ["ipv6-disabled", "false", "no", { config: { "load-balancers-disable-ipv6": "true" } }],
  ["ipv6-disabled", undefined, "yes"],
  ["disable-private-ingress", "true", "yes", network],
  ["disable-private-ingress", undefined, "yes", network],
  ["private-subnet-ip-range", "10.0.0.0/16", "10.0.0.0", network],
  ["private-subnet-ip-range", undefined, "10.0.0.0"],
])(
  "an invalid %s, with %p before a restart, keeps the addresses, and a new port is still added [F47]",
  async (name, before, invalid, options = {}) => {
    const h = await created(before === undefined ? {} : { [name]: before }, options);
    const { ingress } = h.world.get("web").status.loadBalancer ?? {};
    const network = onlyBalancer(h).privateNets;
    await h.world.stop();
    h.forget();
    h.world.annotate("web", { [prefix + name]: invalid });
    await h.start("service");
    await h.world.pass(60);
    expect(changesOf(h)).toEqual([]);
    h.world.editSpec(
      "web",
      draft(
        {},
        [80, 443].map((port) => ({ name: `p${port}`, port, protocol: "TCP", nodePort: 30_000 + port })),
      ).spec,
    );
    await h.world.pass(60);
    expect(onlyBalancer(h).services.map(({ listen_port }) => listen_port)).toEqual([80, 443]);
    expect(h.world.get("web").status.loadBalancer?.ingress).toEqual(ingress ?? []);
    expect(onlyBalancer(h).privateNets).toEqual(network);
    expect(events(h)).toContain(`${prefix}${name} must be`);
  },
);

test("uses the operator's defaults for settings that a Service lacks [F50]", async () => {
  const h = await created(
    {},
    {
      hasNetwork: true,
      config: {
        "load-balancers-type": "lb31",
        "load-balancers-algorithm-type": "least_connections",
        "load-balancers-use-private-ip": "true",
        "load-balancers-disable-ipv6": "true",
        "load-balancers-disable-private-ingress": "true",
        "load-balancers-health-check-interval": "7s",
        "load-balancers-health-check-timeout": "4s",
        "load-balancers-health-check-retries": "2",
        "load-balancers-uses-proxyprotocol": "true",
      },
    },
  );
  const balancer = onlyBalancer(h);
  expect(balancer).toMatchObject({ type: "lb31", algorithm: "least_connections" });
  expect(balancer.services).toMatchObject([
    { proxyprotocol: true, health_check: { interval: 7, timeout: 4, retries: 2 } },
  ]);
  expect(balancer.targets).toMatchObject([{ usesPrivateIp: true }, { usesPrivateIp: true }]);
  expect(h.world.get("web").status.loadBalancer?.ingress as unknown).toEqual([
    { ip: balancer.ipv4, ipMode: "Proxy" },
  ]);
});

test("publishes the ipMode of ports that wait for their certificate", async () => {
  const h = await created({});
  const ipModes = () => h.world.get("web").status.loadBalancer?.ingress?.map(({ ipMode }) => ipMode);
  h.world.annotate("web", {
    [`${prefix}uses-proxyprotocol`]: "true",
    [`${prefix}protocol`]: "https",
    [`${prefix}http-certificates`]: "missing",
  });
  await h.world.pass(120);
  expect([onlyBalancer(h).services.map(({ proxyprotocol }) => proxyprotocol), ipModes()]).toEqual([
    [false],
    ["VIP", "VIP"],
  ]);
  h.world.annotate("web", { [`${prefix}protocol`]: "tcp", [`${prefix}http-certificates`]: undefined });
  await h.world.pass(120);
  expect(ipModes()).toEqual(["Proxy", "Proxy"]);
});

test("adds a changed port before it deletes the old port if the load balancer has room for both [F30]", async () => {
  const h = await created({});
  const portsTo = (...ports: readonly number[]) => ({
    ports: ports.map((port) => ({ name: `p${port}`, port, protocol: "TCP", nodePort: 30_000 + port })),
  });
  const actions = () => changesOf(h).map((one) => one.split("/").at(-1));
  const change = async (...ports: readonly number[]) => {
    h.forget();
    h.world.editSpec("web", portsTo(...ports) as never);
    await h.world.pass(60);
    return actions();
  };
  expect(await change(81)).toEqual(["add_service", "delete_service"]);
  expect(await change(1, 2, 3, 4)).toEqual([...Array(4).fill("add_service"), "delete_service"]);
  expect(await change(1, 2, 3, 4, 5)).toEqual(["add_service"]);
  expect(await change(1, 2, 3, 4, 6)).toEqual(["delete_service", "add_service"]);
});

test("frees port 80 before a redirect needs it, and restores it afterwards", async () => {
  const h = new HetznerWorld({ nodes: 2 });
  const { id } = h.cloud.project.certificates.add("shop");
  const ports = [80, 443].map((port) => ({
    name: `p${port}`,
    port,
    protocol: "TCP",
    nodePort: 30_000 + port,
  }));
  await h.start("service");
  h.world.create("web", draft({}, ports));
  await h.world.pass(60);
  const { annotations } = draft({
    protocol: "https",
    "http-certificates": String(id),
    "http-redirect-http": "true",
  });
  const change = (more: object, kept: readonly object[]) =>
    h.world.edit("web", ({ metadata, spec, ...rest }) => ({
      ...rest,
      metadata: { ...metadata, ...more },
      spec: { ...spec, ports: kept as never },
    }));
  change({ annotations }, ports.slice(1));
  await h.world.pass(120);
  const services = () => onlyBalancer(h).services.map((one) => [one.listen_port, one.http?.redirect_http]);
  expect([services(), events(h)]).toEqual([[[443, true]], expect.not.stringContaining("Warning")]);
  change({ annotations: {} }, ports.slice(0, 1));
  await h.world.pass(120);
  expect([services().map(([port]) => port), events(h)]).toEqual([
    [80],
    expect.not.stringContaining("Warning"),
  ]);
});
