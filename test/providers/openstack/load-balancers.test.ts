// Load balancers of Octavia with a whole manager: requests, changes, floating IPs, and failures.

import { describe, expect, test } from "bun:test";
import { stateOf } from "../../../providers/openstack/simulator/harness.ts";
import {
  addExternalNetwork,
  addPort,
  addSubnet,
  ensureSubnet,
} from "../../../providers/openstack/simulator/index.ts";
import { draft, OpenStackWorld, prefix, putBalancer, served, tcpPort } from "./openstack-world.ts";

const lbaas = "/load-balancer/v2.0/lbaas";
const creation = `POST ${lbaas}/loadbalancers`;
const internal = "service.beta.kubernetes.io/openstack-internal-load-balancer";
const annotationsOf = (h: OpenStackWorld, name = "web") => h.world.get(name).metadata.annotations ?? {};

describe("a new Service", () => {
  test("creates a load balancer with all parts in one request, and a floating IP [F29 F33]", async () => {
    const h = new OpenStackWorld();
    await h.start();
    h.world.create("web", draft({}, [tcpPort(80), tcpPort(443)]));
    await h.settle();
    expect(h.changes).toEqual([creation, "POST /network/v2.0/floatingips"]);
    const [balancer] = h.balancers();
    const [floating] = h.floatingIPs();
    expect(balancer).toMatchObject({
      name: "kube_service_prod_default_web",
      description: "Kubernetes external service default/web from cluster prod",
      tags: ["kube_service_prod_default_web"],
    });
    expect(
      h.cloud.balancing.listeners.list().map(({ name, protocol_port }) => [name, protocol_port]),
    ).toEqual([
      ["listener_0_kube_service_prod_default_web", 80],
      ["listener_1_kube_service_prod_default_web", 443],
    ]);
    expect(
      h.cloud.balancing.pools.list()[0]?.members.map(({ name, protocol_port }) => [name, protocol_port]),
    ).toEqual([
      ["node-0", 30_080],
      ["node-1", 30_080],
    ]);
    expect(floating?.description).toBe(
      "Floating IP for Kubernetes external service default/web from cluster prod",
    );
    expect(h.world.addressesOf("web")).toEqual([floating?.floating_ip_address ?? ""]);
    expect(annotationsOf(h)).toMatchObject({
      [`${prefix}load-balancer-id`]: balancer?.id,
      [`${prefix}load-balancer-address`]: floating?.floating_ip_address,
    });
  });

  test("names a load balancer after its Service until it is gone, so that the Go manager can serve the Service next [F105]", async () => {
    const h = await served();
    h.world.editSpec("web", { type: "ClusterIP" });
    await h.settle(60);
    expect([h.balancers(), annotationsOf(h)]).toEqual([[], {}]);
    h.world.editSpec("web", { type: "LoadBalancer" });
    await h.settle(60);
    h.world.forget();
    h.world.delete("web");
    await h.settle(60);
    // Nothing is removed from a Service that is deleted.
    expect(h.world.written).toEqual(["PATCH /api/v1/namespaces/default/services/web/status"]);
  });

  test("creates 20 load balancers with 20 creations, and no request reaches an immutable load balancer", async () => {
    const h = new OpenStackWorld();
    await h.start();
    for (let index = 0; index < 20; index += 1)
      h.world.create(`web-${index}`, draft({}, [tcpPort(80, 30_100 + index)]));
    await h.settle(180);
    expect(h.changes.filter((one) => one === creation)).toHaveLength(20);
    expect(h.changes).toHaveLength(40);
    expect(h.immutable).toBe(0);
    expect(h.floatingIPs()).toHaveLength(20);
  });

  test("creates the parts of a load balancer one by one if the Octavia provider requires separate requests", async () => {
    const h = await served(
      { "enable-health-monitor": "true" },
      { settings: { "provider-requires-serial-api-calls": "true" } },
    );
    expect(h.cloud.balancing.pools.list()[0]?.members).toHaveLength(2);
    expect(h.cloud.balancing.monitors.list()).toHaveLength(1);
    expect(h.immutable).toBe(0);
  });

  test("uses the address of spec.loadBalancerIP from a free floating IP [F35]", async () => {
    const h = new OpenStackWorld();
    const { project } = h.cloud;
    const network = project.networks.existing("public").id;
    project.floatingIPs.put({
      id: project.ids.uuid(),
      name: "kept",
      floating_ip_address: "198.18.9.9",
      floating_network_id: network,
      port_id: null,
      fixed_ip_address: null,
      description: "by hand",
      status: "DOWN",
    });
    await h.start();
    h.world.create("web", { spec: { ports: [tcpPort(80)], loadBalancerIP: "198.18.9.9" } });
    await h.settle();
    expect(h.world.addressesOf("web")).toEqual(["198.18.9.9"]);
    h.world.delete("web");
    await h.settle();
    expect(h.balancers()).toEqual([]);
    expect(h.floatingIPs().map(({ description, port_id }) => [description, port_id])).toEqual([
      ["by hand", null],
    ]);
  });

  test("creates no load balancer while the external network is ambiguous", async () => {
    const h = new OpenStackWorld();
    ensureSubnet(h.cloud.project, "other", "198.19.0.0/16", true);
    await h.start();
    h.world.create("web", draft());
    await h.settle();
    expect(h.changes).toEqual([]);
    expect(h.events()).toContain("There are several external networks: public");
    h.world.annotate("web", {
      [`${prefix}floating-network-id`]: h.cloud.project.networks.existing("other").id,
    });
    await h.settle();
    expect(h.floatingIPs()).toHaveLength(1);
  });

  test("creates a floating IP in the first matching subnet that has a free address", async () => {
    const h = new OpenStackWorld();
    const { project } = h.cloud;
    const network = project.networks.existing("public");
    addSubnet(project, network, "web-a", "198.18.64.0/24");
    addSubnet(project, network, "web-b", "198.19.64.0/24");
    project.subnets.change("web-a", { isFull: true });
    await h.start();
    h.world.create("web", draft({ "floating-subnet": "web-*" }));
    await h.settle();
    expect(h.world.addressesOf("web")[0]).toStartWith("198.19.");
  });

  test("creates members in the subnet of the Nodes, although the virtual IP belongs to a port", async () => {
    const h = new OpenStackWorld();
    const { project } = h.cloud;
    const port = addPort(project, ensureSubnet(project, "other", "10.2.0.0/16"), { name: "reserved" });
    await h.start();
    h.world.create("web", draft({ "port-id": port.id }));
    await h.settle();
    const nodes = ensureSubnet(project, "nodes", "10.1.0.0/16").id;
    const members = h.cloud.balancing.pools.list().flatMap((pool) => pool.members);
    expect(members.map(({ subnet_id }) => subnet_id)).toEqual([nodes, nodes]);
  });

  test("reports that the subnet of floating IPs is full, and keeps the load balancer", async () => {
    const h = new OpenStackWorld();
    h.cloud.project.subnets.change("public-1", { isFull: true });
    await h.start();
    h.world.create("web", draft());
    await h.settle();
    expect(h.balancers()).toHaveLength(1);
    expect(h.events()).toContain("No more IP addresses available");
    h.cloud.project.subnets.change("public-1", { isFull: false });
    await h.settle(1200);
    expect(h.floatingIPs()).toHaveLength(1);
  });

  test("reports an exhausted quota of load balancers", async () => {
    const h = new OpenStackWorld();
    h.cloud.balancing.limit = 0;
    await h.start();
    h.world.create("web", draft());
    await h.settle();
    expect(h.events()).toContain("Quota has been met for resources: Load Balancer");
  });

  test("creates the load balancer when the quota is raised", async () => {
    const h = new OpenStackWorld();
    h.cloud.balancing.limit = 0;
    await h.start();
    h.world.create("web", draft());
    await h.settle();
    h.cloud.balancing.limit = 1;
    await h.settle(600);
    expect([h.balancers().length, h.world.addressesOf("web").length]).toEqual([1, 1]);
  });

  test("creates the load balancer when there is one external network, and its floating IP when the subnet has room", async () => {
    const h = new OpenStackWorld();
    const { project } = h.cloud;
    const other = addExternalNetwork(project, "other");
    await h.start();
    h.world.create("web", draft());
    await h.settle();
    expect(h.balancers()).toEqual([]);
    project.networks.remove(other.network_id);
    project.subnets.remove(other.id);
    project.subnets.change("public-1", { isFull: true });
    await h.settle(2400);
    expect([h.balancers().length, h.floatingIPs().length]).toEqual([1, 0]);
    project.subnets.change("public-1", { isFull: false });
    await h.settle(2400);
    expect(h.world.addressesOf("web")).toEqual([h.floatingIPs()[0]?.floating_ip_address ?? ""]);
  });

  test("recreates a load balancer that Octavia could not set up, without a duplicate", async () => {
    const h = new OpenStackWorld();
    h.cloud.balancing.failures = 1;
    await h.start();
    h.world.create("web", draft());
    await h.settle(180);
    expect(h.changes.filter((one) => one === creation)).toHaveLength(2);
    expect(h.balancers().map(({ provisioning_status: status }) => status)).toEqual(["ACTIVE"]);
    expect(h.events()).toContain("has the status ERROR. Fairlead deletes it and creates it again.");
  });
});

describe("a settled Service", () => {
  test("changes nothing for a settled Service after a restart", async () => {
    const h = await served({ "enable-health-monitor": "true", "proxy-protocol": "v2" });
    await h.world.stop();
    h.forget();
    await h.start();
    await h.settle(600);
    expect(h.changes).toEqual([]);
    expect(h.world.changes.filter((one) => !/leases|events|reviews|tokens/.test(one))).toEqual([]);
  });

  test.each<[Readonly<Record<string, string>>, readonly string[]]>([
    [{ "connection-limit": "100" }, [`PUT ${lbaas}/listeners/{id}`]],
    [{ "timeout-client-data": "1000" }, [`PUT ${lbaas}/listeners/{id}`]],
    [{ "lb-method": "LEAST_CONNECTIONS" }, [`PUT ${lbaas}/pools/{id}`]],
    [{ "enable-health-monitor": "true" }, [`POST ${lbaas}/healthmonitors`]],
    [
      { "proxy-protocol": "v1" },
      [`DELETE ${lbaas}/pools/{id}`, `POST ${lbaas}/pools`, `PUT ${lbaas}/pools/{id}/members`],
    ],
    [
      { "x-forwarded-for": "true" },
      [
        ...[`DELETE ${lbaas}/pools/{id}`, `DELETE ${lbaas}/listeners/{id}`, `POST ${lbaas}/listeners`],
        ...[`POST ${lbaas}/pools`, `PUT ${lbaas}/pools/{id}/members`],
      ],
    ],
    [{ [internal]: "true" }, ["DELETE /network/v2.0/floatingips/{id}"]],
  ])("is changed for %j with only the necessary requests [F30]", async (annotations, expected) => {
    const h = await served();
    h.world.annotate("web", draft(annotations).annotations);
    await h.settle();
    expect(h.changes).toEqual(expected);
    expect(h.immutable).toBe(0);
    h.forget();
    await h.settle(600);
    expect(h.changes).toEqual([]);
  });

  test.each<[string, (h: OpenStackWorld) => string, string]>([
    [
      "network-id",
      ({ cloud }) => ensureSubnet(cloud.project, "other", "10.2.0.0/16").network_id,
      "Octavia cannot move it",
    ],
    [
      "subnet-id",
      ({ cloud }) => ensureSubnet(cloud.project, "other", "10.2.0.0/16").id,
      "Octavia cannot move it",
    ],
    [
      "floating-network-id",
      ({ cloud }) => addExternalNetwork(cloud.project, "second").network_id,
      "It gets a new one when that is detached",
    ],
    [
      "floating-subnet",
      ({ cloud: { project } }) =>
        addSubnet(project, project.networks.existing("public"), "web", "198.19.0.0/16").name,
      "It gets a new one when that is detached",
    ],
  ])("reports that %s no longer has an effect", async (name, other, text) => {
    const h = await served();
    const value = other(h);
    h.world.annotate("web", draft({ [name]: value }).annotations);
    await h.settle();
    expect(h.changes).toEqual([]);
    expect(h.events()).toContain(`${prefix}${name} has no effect: `);
    expect(h.events()).toContain(text);
  });

  test("adds and removes the members of Nodes that join and leave with one request [F31]", async () => {
    const h = await served();
    h.addNode("node-2");
    await h.settle();
    expect(h.changes).toEqual([`PUT ${lbaas}/pools/{id}/members`]);
    expect(h.cloud.balancing.pools.list()[0]?.members).toHaveLength(3);
  });

  test("restores a manually deleted listener and floating IP [F43]", async () => {
    const h = await served();
    const { listeners, pools } = h.cloud.balancing;
    listeners.remove(listeners.list()[0]?.id ?? "");
    h.cloud.balancing.removePool(pools.list()[0]?.id ?? "");
    h.cloud.project.floatingIPs.remove(h.floatingIPs()[0]?.id ?? "");
    await h.settle(2400);
    expect(listeners.list()).toHaveLength(1);
    expect(pools.list()[0]?.members).toHaveLength(2);
    expect(h.world.addressesOf("web")).toEqual([h.floatingIPs()[0]?.floating_ip_address ?? ""]);
  });

  test.each<[string, (h: OpenStackWorld) => void]>([
    ["pool", ({ cloud }) => cloud.balancing.removePool(cloud.balancing.pools.list()[0]?.id ?? "")],
    [
      "health monitor",
      ({ cloud }) => cloud.balancing.monitors.remove(cloud.balancing.monitors.list()[0]?.id ?? ""),
    ],
    [
      "members",
      ({ cloud: { balancing } }) =>
        void balancing.pools.change(balancing.pools.list()[0]?.id ?? "", { members: [] }),
    ],
    [
      "tag",
      ({ cloud }) => void cloud.balancing.balancers.change("kube_service_prod_default_web", { tags: [] }),
    ],
    [
      "floating IP, which was taken away",
      ({ cloud: { project } }) =>
        void project.floatingIPs.change(project.floatingIPs.list()[0]?.id ?? "", { port_id: null }),
    ],
  ])("has all parts again, without duplicates, after its %s was removed manually", async (_, remove) => {
    const h = await served({ "enable-health-monitor": "true" });
    const state = () => JSON.stringify(stateOf(h.cloud));
    const before = state();
    remove(h);
    expect(state()).not.toBe(before);
    await h.settle(2400);
    expect(state()).toBe(before);
    expect(h.immutable).toBe(0);
  });

  test("changes a load balancer after the manual deletion of a pool, before load balancers are listed again", async () => {
    const h = await served({}, {});
    const { pools, listeners } = h.cloud.balancing;
    h.cloud.balancing.removePool(pools.list()[0]?.id ?? "");
    h.world.annotate("web", draft({ "connection-limit": "11" }).annotations);
    await h.settle(60);
    expect(listeners.list()[0]?.["connection_limit"]).toBe(11);
    expect(pools.list()[0]?.members).toHaveLength(2);
    expect(h.events()).not.toContain("check for a proxy");
  });

  test("keeps a load balancer in ERROR, and reports who can repair it", async () => {
    const h = await served();
    h.cloud.balancing.balancers.change("kube_service_prod_default_web", { provisioning_status: "ERROR" });
    await h.settle(2400);
    expect(h.events()).toContain("openstack loadbalancer failover");
    h.addNode("node-2");
    await h.settle(600);
    expect(h.changes).toEqual([]);
    h.cloud.balancing.balancers.change("kube_service_prod_default_web", { provisioning_status: "ACTIVE" });
    await h.settle(180);
    expect(h.cloud.balancing.pools.list()[0]?.members).toHaveLength(3);
  });

  test("reports a load balancer in ERROR when Octavia rejects a change", async () => {
    const h = await served();
    h.cloud.balancing.balancers.change("kube_service_prod_default_web", { provisioning_status: "ERROR" });
    h.addNode("node-2");
    await h.settle(600);
    expect(h.changes).toEqual([`PUT ${lbaas}/pools/{id}/members`]);
    expect(h.immutable).toBe(1);
    expect(h.events()).toContain("openstack loadbalancer failover");
  });

  test("deletes the floating IP and the load balancer with their Service [F36]", async () => {
    const h = await served();
    h.world.delete("web");
    await h.settle();
    expect(h.changes).toEqual([
      "DELETE /network/v2.0/floatingips/{id}",
      `DELETE ${lbaas}/loadbalancers/{id}`,
    ]);
    expect([h.balancers(), h.floatingIPs(), h.cloud.balancing.pools.list()]).toEqual([[], [], []]);
    expect(h.world.find("web")).toBeUndefined();
  });

  test("keeps the floating IP of a deleted Service if an annotation requests to keep the address", async () => {
    const h = await served({ "keep-floatingip": "true" });
    h.world.delete("web");
    await h.settle();
    expect(h.balancers()).toEqual([]);
    expect(h.floatingIPs().map(({ port_id }) => port_id)).toEqual([null]);
  });

  test("deletes a load balancer part by part without cascading deletion", async () => {
    const h = await served({}, { settings: { "cascade-delete": "false" } });
    h.world.delete("web");
    await h.settle(180);
    expect([h.balancers(), h.cloud.balancing.pools.list()]).toEqual([[], []]);
    expect(h.immutable).toBe(0);
  });

  test("uses the floating IP again after a manual deletion of its load balancer", async () => {
    const h = await served();
    const [address = ""] = h.world.addressesOf("web");
    const { balancing, project } = h.cloud;
    balancing.delete(h.balancers()[0]?.id ?? "", true);
    await h.settle(2400);
    expect(h.balancers().map(({ provisioning_status: status }) => status)).toEqual(["ACTIVE"]);
    expect(h.world.addressesOf("web")).toEqual([address]);
    expect(project.floatingIPs.list().map(({ port_id }) => port_id)).toEqual([
      h.balancers()[0]?.vip_port_id ?? "",
    ]);
  });

  test("leaves no pool behind when its listener was deleted manually", async () => {
    const h = await served();
    const { listeners, pools } = h.cloud.balancing;
    listeners.remove(listeners.list()[0]?.id ?? "");
    await h.settle(2400);
    expect(listeners.list()).toHaveLength(1);
    expect(pools.list().map(({ id }) => id)).toEqual([listeners.list()[0]?.default_pool_id ?? ""]);
  });

  test("keeps pools that have no listener and that Fairlead did not create", async () => {
    const h = await served();
    const { pools } = h.cloud.balancing;
    const [pool] = pools.list();
    if (pool === undefined) throw new Error("Expected a pool.");
    const others = [
      "by-hand",
      "pool_0_kube_service_prod_default_other",
      "pool_x_kube_service_prod_default_web",
    ];
    for (const name of others) pools.put({ ...pool, id: h.cloud.project.ids.uuid(), name });
    h.addNode("node-2");
    await h.settle(600);
    expect(pools.list().map(({ name }) => name)).toEqual([pool.name, ...others]);
  });

  test("keeps the floating IP when spec.loadBalancerIP changes, and reports how to change it", async () => {
    const h = await served();
    const addresses = h.world.addressesOf("web");
    h.world.editSpec("web", { loadBalancerIP: "198.18.9.9" });
    await h.settle();
    expect(h.changes).toEqual([]);
    expect(h.world.addressesOf("web")).toEqual(addresses as string[]);
    expect(h.events()).toContain(
      `spec.loadBalancerIP is 198.18.9.9, but the load balancer kube_service_prod_default_web has the address ${addresses[0]}, which it keeps. Detach that floating IP, or correct spec.loadBalancerIP.`,
    );
  });

  test("uses no certificate when an empty annotation cancels the default", async () => {
    const h = await served(
      { "default-tls-container-ref": "", "flavor-id": "", "availability-zone": "" },
      {
        settings: {
          "default-tls-container-ref": "https://barbican.example/v1/secrets/1",
          "flavor-id": "large",
          "availability-zone": "az1",
        },
      },
    );
    expect(h.cloud.balancing.listeners.list().map(({ protocol }) => protocol)).toEqual(["TCP"]);
    expect(h.balancers()).toMatchObject([{ flavor_id: null, availability_zone: null }]);
  });

  test("creates a separate load balancer beside the load balancer of another cluster's Service with the same name", async () => {
    const h = new OpenStackWorld();
    const other = "kube_service_stage_default_web";
    putBalancer(h, other, [other]);
    await h.start();
    h.world.create("web", draft());
    await h.settle();
    expect(h.changes).toEqual([creation, "POST /network/v2.0/floatingips"]);
    expect(h.world.addressesOf("web")).toHaveLength(1);
    h.world.delete("web");
    await h.settle();
    expect(h.balancers().map(({ name }) => name)).toEqual([other]);
  });

  test("leaves a load balancer with another cluster name unchanged, and creates no second load balancer", async () => {
    const h = await served();
    await h.world.stop();
    h.forget();
    await h.start("--cluster-name=renamed");
    await h.settle(600);
    expect(h.changes).toEqual([]);
    expect(h.events()).toContain("prod");
  });
});

describe("security groups", () => {
  const settings = { "manage-security-groups": "true" };
  const rulesOf = (h: OpenStackWorld) =>
    h.cloud.project.securityGroups
      .list()
      .flatMap(({ security_group_rules: rules }) =>
        rules.map(({ direction, protocol, port_range_min: port, remote_ip_prefix: range }) =>
          [direction, protocol, port, range].join(" "),
        ),
      );
  const protectedPorts = (h: OpenStackWorld) =>
    h.cloud.project.ports.list().filter(({ security_groups: all }) => all.length > 0).length;

  test("opens the node ports for the subnet of the members in security groups that follow the Nodes [F53]", async () => {
    const h = await served({}, { settings });
    expect(rulesOf(h)).toEqual(["ingress tcp 30080 10.1.0.0/16"]);
    expect(protectedPorts(h)).toBe(2);
    const uid = h.world.get("web").metadata.uid;
    expect(h.cloud.project.securityGroups.list()[0]?.name).toBe(`lb-sg-${uid}-default-web`);
    h.addNode("node-2");
    // Until the servers are listed again.
    await h.settle(600);
    expect(protectedPorts(h)).toBe(3);
  });

  test("removes the security group with its Service", async () => {
    const h = await served({}, { settings });
    h.world.delete("web");
    await h.settle();
    expect([h.cloud.project.securityGroups.list(), protectedPorts(h)]).toEqual([[], 0]);
  });
});

test.each<[Readonly<Record<string, string>>, string]>([
  [{ class: "fast" }, "which the settings do not have. The settings have no class."],
  [{ "proxy-protocol": "true", "x-forwarded-for": "true" }, "exclude each other"],
  [{ "connection-limit": "many" }, "connection-limit must be a whole number"],
  [{ "load-balancer-id": "00000000-0000-4000-8000-000000000000" }, "which the project does not have"],
  [{ "floating-subnet": "~(" }, "is not a valid expression. The load balancer gets no floating IP."],
  // Each pattern would take minutes to match a long name of a subnet.
  [{ "floating-subnet": "~(a+)+b" }, "could take too long to match: at most 3 of * + ? { | are allowed"],
  [{ "floating-subnet": "~(a|a)(a|a)(a|a)(a|a)b" }, "could take too long to match"],
  [{ "floating-subnet": "*a*a*a*b" }, "could take too long to match"],
])("creates no load balancer for %j, and reports the reason [N10]", async (annotations, message) => {
  const h = new OpenStackWorld();
  await h.start();
  h.world.create("web", draft(annotations));
  await h.settle();
  expect(h.changes).toEqual([]);
  expect(h.events()).toContain(message);
});

test.each(["~public-(1|2)", "~^pub.*-[0-9]+$", "p*-?", "!~other.*", "public-1"])(
  "uses the subnet that matches the pattern %s",
  async (pattern) => {
    const h = await served({ "floating-subnet": pattern });
    expect(h.world.addressesOf("web")).toEqual([h.floatingIPs()[0]?.floating_ip_address ?? ""]);
  },
);
