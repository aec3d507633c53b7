// A change that the cloud rejects delays nothing else: targets and ports follow the cluster, and the Service reports the problem.

import { expect, test } from "bun:test";
import { HetznerWorld, type HetznerWorldOptions } from "./hetzner-world.ts";

const prefix = "load-balancer.hetzner.cloud/";
const isChange = (operation: string): boolean => !operation.startsWith("GET ");
const http = { port: 80, protocol: "TCP", nodePort: 30_080 };
const https = { port: 443, protocol: "TCP", nodePort: 30_443 };
const action = (name: string) => `POST /load_balancers/{id}/actions/${name}`;

const draft = (annotations: Readonly<Record<string, string>>, ports: readonly object[] = [http]) => ({
  annotations: Object.fromEntries(Object.entries(annotations).map(([name, value]) => [prefix + name, value])),
  spec: { ports: ports as never },
});

async function created(
  annotations: Readonly<Record<string, string>>,
  {
    ports,
    controllers = "service",
    prepare,
    ...options
  }: HetznerWorldOptions & {
    readonly ports?: readonly object[];
    readonly controllers?: string;
    readonly prepare?: (h: HetznerWorld) => void;
  } = {},
) {
  const h = new HetznerWorld({ nodes: 2, ...options });
  prepare?.(h);
  await h.start(controllers);
  h.world.create("web", draft(annotations, ports));
  await h.world.pass(60);
  h.forget();
  return h;
}

const events = (h: HetznerWorld): string => h.world.events("web").join("\n");
const onlyBalancer = (h: HetznerWorld) => {
  const [balancer, ...others] = h.cloud.project.balancers.list();
  if (balancer === undefined || others.length > 0) throw new Error("Expected one load balancer.");
  return balancer;
};
const refuse = (h: HetznerWorld, ...operations: readonly string[]) => {
  for (const operation of operations) {
    h.cloud.faults.add({ kind: "status", status: 422, code: "invalid_input", operation, calls: 1000 });
  }
};

test("creates a load balancer although a server has no public IPv4 [F31 F43]", async () => {
  const h = await created(
    {},
    {
      controllers: "service,cloud-node",
      prepare: ({ cloud: { project } }) => void project.servers.change("node-1", { ipv4: null }),
    },
  );
  expect(onlyBalancer(h).targets).toHaveLength(1);
  expect(events(h)).toContain("they have no public IPv4 address (node-1)");
  h.cloud.project.servers.change("node-1", { ipv4: "198.18.77.1" });
  await h.world.pass(900);
  expect(onlyBalancer(h).targets).toHaveLength(2);
});

test("omits a target that the cloud rejects during the creation, and adds all other targets", async () => {
  const h = new HetznerWorld({ nodes: 3 });
  await h.start("service");
  await h.world.pass(30);
  // The cloud knows the server, and the inventory does not know it yet.
  h.cloud.project.servers.change("node-1", { ipv4: null });
  h.world.create("web", draft({}));
  await h.world.pass(60);
  expect(onlyBalancer(h).targets).toHaveLength(2);
  expect(events(h)).toContain("missing_ipv4");
});

test.each(["before", "after"] as const)(
  "adds all other targets when a server is deleted %s the creation of a load balancer [F43]",
  async (when) => {
    const h = new HetznerWorld({ nodes: 3 });
    await h.start("service,cloud-node");
    await h.world.pass(30);
    // The Node stays until the absence of its server is proved.
    const remove = () => h.cloud.project.servers.remove("node-1");
    if (when === "before") remove();
    h.world.create("web", draft({}));
    await h.world.pass(10);
    if (when === "after") remove();
    h.addNode("more");
    h.world.editSpec("web", { ports: [https] as never });
    await h.world.pass(20);
    expect(onlyBalancer(h)).toMatchObject({ services: [{ listen_port: 443 }], targets: [{}, {}, {}] });
    // Only an existing load balancer shows that it lost a target.
    expect(events(h).includes("TargetRefused")).toBe(when === "before");
    expect(events(h)).not.toContain("SyncLoadBalancerFailed");
  },
);

test("adds one target for two Nodes with the provider id of one server", async () => {
  const h = await created(
    {},
    {
      prepare: (world) => {
        const { id } = world.cloud.project.servers.existing("node-0");
        world.world.changeNode("node-1", (node) => ({
          ...node,
          spec: { ...node.spec, providerID: `hcloud://${id}` },
        }));
      },
    },
  );
  expect(onlyBalancer(h).targets).toHaveLength(1);
  expect(h.world.addressesOf("web")).toHaveLength(2);
});

test.each([
  ["reverse DNS", { "ipv4-rdns": "lb.example.com" }, action("change_dns_ptr")],
  ["name", { name: "other" }, "PUT /load_balancers/{id}"],
  ["algorithm", { "algorithm-type": "least_connections" }, action("change_algorithm")],
  ["type", { type: "lb99" }, action("change_type")],

  ["settings of ports", { protocol: "https" }, action("update_service")],
  [
    "certificate",
    { protocol: "https", "certificate-type": "managed", "http-managed-certificate-domains": "a.example.com" },
    "POST /certificates",
  ],
] as const)(
  "updates the targets while the cloud rejects a change of the %s",
  async (_, annotations, operation) => {
    const h = await created({}, { nodes: 3, ports: [https] });
    refuse(h, operation);
    h.world.annotate("web", Object.fromEntries(Object.entries(annotations).map(([k, v]) => [prefix + k, v])));
    await h.world.pass(60);
    h.addNode("more");
    h.world.removeNode("node-0");
    await h.world.pass(1200);
    const { servers } = h.cloud.project;
    const expected = ["more", "node-1", "node-2"].map((name) => servers.existing(name).id);
    const targets = onlyBalancer(h).targets.map((target) => target.type === "server" && target.server);
    expect(targets.toSorted()).toEqual(expected.toSorted());
  },
);

test("updates the ports while the cloud rejects the name and reverse DNS of the Service", async () => {
  const h = await created({ "ipv4-rdns": "lb.example.com" });
  h.cloud.project.balancers.add("taken");
  refuse(h, action("change_dns_ptr"));
  h.world.annotate("web", { [`${prefix}name`]: "taken", [`${prefix}ipv4-rdns`]: "other.example.com" });
  h.world.editSpec("web", { ports: [https] as never });
  await h.world.pass(120);
  const [own] = h.cloud.project.balancers.list();
  expect(own?.services.map(({ listen_port }) => listen_port)).toEqual([443]);
});

test("creates the load balancer while its managed certificate is rejected", async () => {
  const h = await created(
    { protocol: "https", "certificate-type": "managed", "http-managed-certificate-domains": "a.example.com" },
    { ports: [https], prepare: (world) => refuse(world, "POST /certificates") },
  );
  expect(onlyBalancer(h)).toMatchObject({ services: [], targets: [{}, {}] });
  expect(events(h)).toContain("POST /certificates failed with 422");
});

test("names the conflicting name when a load balancer cannot be renamed", async () => {
  const h = await created({});
  h.cloud.project.balancers.add("taken");
  h.world.annotate("web", { [`${prefix}name`]: "taken" });
  await h.world.pass(60);
  expect(events(h)).toContain("The project has another load balancer with the name taken");
});

test("reports a port without a node port, and creates the load balancer without it", async () => {
  const h = new HetznerWorld({ nodes: 2 });
  await h.start("service");
  const spec = { allocateLoadBalancerNodePorts: false, ports: [{ port: 80, protocol: "TCP" }] as never };
  h.world.create("web", { spec });
  await h.world.pass(120);
  expect(onlyBalancer(h).services).toEqual([]);
  expect(events(h)).toContain("Port 80 has no node port");
});

test("stops forwarding a port that changes from TCP to UDP [F35]", async () => {
  const h = await created({});
  h.world.editSpec("web", {
    ports: [
      { name: "dns", port: 80, protocol: "UDP", nodePort: 30_080 },
      { name: "web", port: 81, protocol: "TCP", nodePort: 30_081 },
    ] as never,
  });
  await h.world.pass(120);
  expect(onlyBalancer(h).services.map(({ listen_port }) => listen_port)).toEqual([81]);
});

test("reports that HTTP settings have no effect on TCP ports", async () => {
  const h = await created({ "http-sticky-sessions": "true" });
  expect(onlyBalancer(h).services).toHaveLength(1);
  expect(events(h)).toContain("http-sticky-sessions has no effect");
});

test("keeps the type and all targets when the Service has too many ports for the smaller type [F44]", async () => {
  const ports = Array.from({ length: 10 }, (_, index) => ({
    name: `p${index}`,
    port: 8000 + index,
    protocol: "TCP",
    nodePort: 30_000 + index,
  }));
  const h = await created({ type: "lb21" }, { nodes: 40, ports });
  h.world.annotate("web", { [`${prefix}type`]: "lb11" });
  await h.world.pass(600);
  expect(h.requests.filter(isChange)).toEqual([]);
  expect(onlyBalancer(h).targets).toHaveLength(40);
  expect(events(h)).toContain("lb11 accepts 5 ports, and the Service has 10");
});

test.each(["action", "request"] as const)(
  "updates other targets and ports while the %s of one target fails repeatedly [F43 F52]",
  async (what) => {
    const h = await created({});
    h.addNode("broken");
    const { actions, servers, balancers } = h.cloud.project;
    const { id } = servers.existing("broken");
    const receive = h.cloud.receive.bind(h.cloud);
    h.cloud.receive = (request) => {
      const body = request.body as { readonly server?: { readonly id: number } } | undefined;
      const isBroken = request.url.pathname.endsWith("add_target") && body?.server?.id === id;
      const error = { code: "server_error", message: "cannot reach it" };
      if (isBroken && what === "action") actions.plan({ outcome: "fails", command: "add_target", error });
      if (isBroken && what === "request") refuse(h, action("add_target"));
      const delivery = receive(request);
      h.cloud.faults.clear();
      return delivery;
    };
    h.addNode("more");
    h.world.editSpec("web", { ports: [https] as never });
    await h.world.pass(1800);
    const [balancer] = balancers.list();
    expect(balancer?.services.map(({ listen_port }) => listen_port)).toEqual([443]);
    expect(balancer?.targets).toHaveLength(3);
    expect(events(h)).toContain("TargetRefused");
    expect(h.requests.filter(isChange).length).toBeLessThanOrEqual(12);
  },
);

test("changes a load balancer whose creation failed, and publishes no address", async () => {
  const h = new HetznerWorld({ nodes: 2 });
  h.cloud.project.actions.plan({ outcome: "fails", command: "create_load_balancer" });
  await h.start("service");
  h.world.create("web", draft({}));
  await h.world.pass(60);
  h.world.editSpec("web", { ports: [https] as never });
  h.addNode("more");
  await h.world.pass(120);
  expect(onlyBalancer(h)).toMatchObject({ services: [{ listen_port: 443 }], targets: [{}, {}, {}] });
  expect(h.world.addressesOf("web")).toEqual([]);
  expect(events(h)).toContain("The action create_load_balancer");
});

test("reports that a network zone has no effect with the default location", async () => {
  const h = await created({ "network-zone": "us-east" });
  expect(onlyBalancer(h)).toMatchObject({ location: "fsn1" });
  expect(events(h)).toContain("Hetzner cannot move it to us-east");
});

test("adds other targets while Robot cannot check a dedicated server, and adds the server when Robot answers again", async () => {
  const h = new HetznerWorld({ nodes: 2, robot: "readable" });
  const { robot } = h.cloud.project;
  robot.isUnavailable = true;
  h.addRobotNode("metal-1");
  await h.start("cloud-node,service");
  h.world.create("web", draft({}));
  await h.world.pass(120);
  h.addNode("node-3");
  await h.world.pass(120);
  expect(onlyBalancer(h).targets).toHaveLength(3);
  expect(events(h)).toContain("robot is not available");
  robot.isUnavailable = false;
  await h.world.pass(240);
  expect(onlyBalancer(h).targets).toHaveLength(4);
});
