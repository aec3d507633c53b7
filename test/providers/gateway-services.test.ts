// The Services that Envoy Gateway, Cilium and Traefik create, on each cloud with a whole manager: what works, and what a
// Service reports about the rest.

import { describe, expect, test } from "bun:test";
import {
  apply,
  type GatewayCloud,
  gatewayClouds,
  isServed,
  onFake,
  said,
} from "../support/gateway-clouds.ts";
import {
  applyCiliumEndpoints,
  ciliumGateway,
  envoyGateway,
  envoyHTTP3,
  envoyPorts,
  type GatewayParts,
  traefik,
  traefikHTTP3,
  traefikPorts,
} from "../support/gateway-services.ts";
import { putEndpoints } from "../support/put-endpoints.ts";

const ofHetzner = "load-balancer.hetzner.cloud/";
const ofDigitalOcean = "service.beta.kubernetes.io/do-loadbalancer-";
const ofOpenStack = "loadbalancer.openstack.org/";
const ofAWS = "service.beta.kubernetes.io/aws-load-balancer-";
const nlb = { [`${ofAWS}type`]: "nlb" };
const monitored = { [`${ofOpenStack}enable-health-monitor`]: "true" };

type CloudName = keyof typeof gatewayClouds;
const names = Object.keys(gatewayClouds) as readonly CloudName[];

describe("the Service of Envoy Gateway", () => {
  test.each(names)(
    "gives the Service of Envoy Gateway an address and the right health checks on %s, and leaves no objects behind [F57]",
    async (name) => {
      const cloud = await gatewayClouds[name]();
      const rendered = envoyGateway({ annotations: { ...nlb, ...monitored } });
      const service = await apply(cloud, rendered);
      const { healthCheckNodePort, ports = [] } = service.spec;
      expect(isServed(service)).toBe(true);
      expect(cloud.forwarded()).toEqual(["TCP 80", "TCP 443"]);
      expect(cloud.checked()).toEqual(
        name === "Hetzner" ? ports.map(({ nodePort }) => `tcp ${nodePort}`) : [`http ${healthCheckNodePort}`],
      );
      expect([said(cloud, service), service.status.conditions ?? []]).toEqual([[], []]);
      cloud.forget();
      await apply(cloud, rendered);
      expect(cloud.changes()).toEqual([]);
      cloud.world.delete(rendered.metadata.name);
      await cloud.world.pass(150);
      expect([cloud.forwarded(), cloud.world.find(rendered.metadata.name)]).toEqual([[], undefined]);
    },
  );

  test("reports on OpenStack that Nodes without a pod of Envoy drop traffic, until one of the remedies is applied [F57]", async () => {
    const remedies = [monitored, { "fairlead.dev/target-policy": "endpoints" }] as const;
    for (const annotations of remedies) {
      const cloud = await gatewayClouds.OpenStack();
      const service = await apply(cloud, envoyGateway());
      expect(said(cloud, service)).toEqual([
        `Warning UnsupportedByCloud externalTrafficPolicy is Local, and members are not checked: Nodes without a pod of the Service get traffic, and drop it. Set ${ofOpenStack}enable-health-monitor to true, or fairlead.dev/target-policy to endpoints.`,
      ]);
      putEndpoints(cloud.world, "eg", ["node-0"]);
      const corrected = await apply(cloud, envoyGateway({ annotations }));
      expect([isServed(corrected), corrected.status.conditions ?? []]).toEqual([true, []]);
    }
  });

  test.each<[CloudName, Readonly<Record<string, string>>, (cloud: GatewayCloud) => unknown, unknown]>([
    ["Hetzner", { [`${ofHetzner}type`]: "lb21" }, ({ balancers }) => balancers()[0], { type: "lb21" }],
    [
      "DigitalOcean",
      { [`${ofDigitalOcean}size-unit`]: "2" },
      ({ balancers }) => balancers()[0],
      { size_unit: 2 },
    ],
    [
      "OpenStack",
      { "service.beta.kubernetes.io/openstack-internal-load-balancer": "true" },
      ({ world }) => world.addressesOf("eg").map((address) => address.split(".")[0]),
      ["10"],
    ],
    ["AWS", { [`${ofAWS}internal`]: "true" }, ({ balancers }) => balancers()[0], { scheme: "internal" }],
  ])(
    "has on %s the settings of the annotations in spec.infrastructure [F57]",
    async (name, own, read, expected) => {
      const cloud = await gatewayClouds[name]();
      const annotations = { ...nlb, ...monitored, "example.com/team": "web", ...own };
      const service = await apply(cloud, envoyGateway({ annotations }));
      expect([isServed(service), said(cloud, service)]).toEqual([true, []]);
      expect(read(cloud)).toEqual(
        Array.isArray(expected) ? expected : expect.objectContaining(expected as object),
      );
    },
  );

  const noAddress =
    "Warning AddressIgnored spec.loadBalancerIP 198.18.9.9 has no effect: this cloud cannot assign a requested address, so it chooses one. Remove the field.";
  test.each<[CloudName, readonly string[]]>([
    ["OpenStack", []],
    ["Hetzner", [noAddress]],
    ["DigitalOcean", [noAddress]],
    ["AWS", [noAddress]],
  ])(
    "has the loadBalancerIP of its EnvoyProxy, or reports its different address, on %s [F57]",
    async (name, expected) => {
      const cloud = await gatewayClouds[name]();
      const annotations = { ...nlb, ...monitored };
      const service = await apply(
        cloud,
        envoyGateway({ annotations, spec: { loadBalancerIP: "198.18.9.9" } }),
      );
      expect([isServed(service), said(cloud, service)]).toEqual([true, expected as string[]]);
      expect(cloud.world.addressesOf("eg").includes("198.18.9.9")).toBe(expected.length === 0);
    },
  );

  test("uses on AWS the Elastic IPs of the annotation, one for each subnet [F57]", async () => {
    const cloud = await gatewayClouds.AWS();
    const ids = ["eipalloc-1", "eipalloc-2", "eipalloc-3"];
    const annotations = { ...nlb, [`${ofAWS}eip-allocations`]: ids.join() };
    const service = await apply(cloud, envoyGateway({ annotations }));
    expect([isServed(service), said(cloud, service)]).toEqual([true, []]);
    const mappings = ids.map((allocation) => expect.objectContaining({ allocation }));
    expect(cloud.balancers()).toEqual([expect.objectContaining({ mappings })]);
  });

  test.each<[CloudName, readonly string[], string]>([
    ["DigitalOcean", ["TCP 80", "TCP 443", "UDP 443"], ""],
    ["OpenStack", ["TCP 80", "TCP 443", "UDP 443"], ""],
    ["Hetzner", ["TCP 80", "TCP 443"], "do not support: UDP (port 443 gets no traffic from it)"],
    ["AWS", [], "Port 443 has TCP and UDP with different node ports, and AWS forwards both to one."],
  ])(
    "with HTTP/3 forwards on %s the ports that the cloud supports, and reports all other ports [F57]",
    async (name, forwarded, text) => {
      const cloud = await gatewayClouds[name]();
      const service = await apply(
        cloud,
        envoyGateway({ annotations: { ...nlb, ...monitored }, ports: envoyHTTP3 }),
      );
      expect(cloud.forwarded()).toEqual(forwarded);
      expect(isServed(service)).toBe(forwarded.length > 0);
      expect(said(cloud, service).join("\n")).toContain(text);
      expect(said(cloud, service)).toHaveLength(text === "" ? 0 : 1);
    },
  );

  test("serves HTTP/3 on AWS when a patch of the EnvoyProxy sets one node port for both protocols [F57]", async () => {
    const cloud = await gatewayClouds.AWS();
    await apply(cloud, envoyGateway({ annotations: nlb, ports: envoyHTTP3 }));
    const ports = envoyHTTP3.map((one) => ({ ...one, nodePort: 30_000 + one.port }));
    const service = await apply(cloud, envoyGateway({ annotations: nlb, ports }));
    expect([isServed(service), service.status.conditions ?? []]).toEqual([true, []]);
    expect(cloud.forwarded().toSorted()).toEqual(["TCP 80", "TCP_UDP 443"]);
  });

  test.each<[string, typeof onFake, readonly string[]]>([
    ["Hetzner", gatewayClouds.Hetzner, ["Port 80 has no node port", "Port 443 has no node port"]],
    ["OpenStack", gatewayClouds.OpenStack, ["Port 80, 443 has no node port"]],
    ["AWS", gatewayClouds.AWS, ["The Service has no node port"]],
  ])(
    "without node ports is not forwarded by %s, with an event, until it has node ports [F57]",
    async (_, open, texts) => {
      const cloud = await open();
      const spec = { allocateLoadBalancerNodePorts: false };
      const annotations = { ...nlb, ...monitored, "fairlead.dev/target-policy": "all" };
      const bare = await apply(cloud, envoyGateway({ annotations, spec }));
      const warnings = said(cloud, bare).filter((text) => text.includes("node port"));
      expect(warnings).toHaveLength(texts.length);
      for (const [index, text] of texts.entries()) {
        expect(warnings[index]).toContain(text);
        expect(warnings[index]).toContain("Remove allocateLoadBalancerNodePorts: false");
      }
      expect(cloud.forwarded()).toEqual([]);
      const service = await apply(cloud, envoyGateway({ annotations }));
      expect([isServed(service), cloud.forwarded()]).toEqual([true, ["TCP 80", "TCP 443"]]);
    },
  );

  test("reports the ports that AWS omits when only some ports have a node port [F57]", async () => {
    const cloud = await gatewayClouds.AWS();
    const ports = envoyPorts.map((one) => (one.port === 80 ? { ...one, nodePort: 30_080 } : one));
    const spec = { allocateLoadBalancerNodePorts: false };
    const service = await apply(cloud, envoyGateway({ annotations: nlb, ports, spec }));
    expect(cloud.forwarded()).toEqual(["TCP 80"]);
    expect(said(cloud, service)).toEqual([
      "Warning UnsupportedByCloud Port 443 has no node port, to which AWS forwards, and is left out. Remove allocateLoadBalancerNodePorts: false.",
    ]);
  });

  test("forwards a Service without node ports on DigitalOcean, whose packets have the port of the Service [F57]", async () => {
    const cloud = await gatewayClouds.DigitalOcean();
    const service = await apply(cloud, envoyGateway({ spec: { allocateLoadBalancerNodePorts: false } }));
    expect([isServed(service), said(cloud, service)]).toEqual([true, []]);
    expect(cloud.forwarded()).toEqual(["TCP 80", "TCP 443"]);
  });

  test.each(names)(
    "serves a Service with a load balancer class on %s only with a manager of the class [F57 F105]",
    async (name) => {
      const loadBalancerClass = "example.com/edge";
      const rendered = envoyGateway({ annotations: { ...nlb, ...monitored }, spec: { loadBalancerClass } });
      const flags = [[], [`--load-balancer-class=${loadBalancerClass}`]] as const;
      const served = await Promise.all(
        flags.map(async (own) => isServed(await apply(await gatewayClouds[name](...own), rendered))),
      );
      expect(served).toEqual([false, true]);
    },
  );
});

describe("the Service of a Cilium Gateway", () => {
  test.each(names)(
    "uses all Nodes as targets for the Service of Cilium on %s, and changes nothing when Cilium writes it again [F57]",
    async (name) => {
      const cloud = await gatewayClouds[name]();
      applyCiliumEndpoints(cloud.world);
      const rendered = ciliumGateway({ annotations: nlb });
      const service = await apply(cloud, rendered);
      expect([isServed(service), said(cloud, service), cloud.forwarded()]).toEqual([true, [], ["TCP 80"]]);
      expect(cloud.targets()).toBe(2);
      cloud.forget();
      for (let round = 0; round < 3; round += 1) await apply(cloud, rendered);
      expect([cloud.changes(), cloud.world.written]).toEqual([[], []]);
    },
  );

  test("reports that Cilium's endpoint is on no Node if only Nodes with endpoints are targets, until a policy selects all Nodes [F57 F43]", async () => {
    const cloud = await onFake("--load-balancer-targets=endpoints");
    const before = await apply(cloud, ciliumGateway());
    expect(said(cloud, before).join()).toContain("None of the 2 Nodes has a ready endpoint of this Service.");
    applyCiliumEndpoints(cloud.world);
    await cloud.world.pass(60);
    expect(said(cloud, before).at(-1)).toBe(
      'Warning NoEndpoints The ready endpoints of this Service name no Node, so all 2 Nodes are targets. If traffic is forwarded on every Node, as for a Gateway of Cilium, set fairlead.dev/target-policy to "all".',
    );
    expect(cloud.targets()).toBe(2);
    const annotations = { "fairlead.dev/target-policy": "all" };
    const after = await apply(cloud, ciliumGateway({ annotations }));
    expect([cloud.targets(), after.status.conditions ?? []]).toEqual([2, []]);
  });

  test("uses the Nodes that run a TCPRoute's pods as targets, according to the EndpointSlice [F57 F43]", async () => {
    const cloud = await onFake("--load-balancer-targets=endpoints");
    const rendered = ciliumGateway();
    putEndpoints(cloud.world, rendered.metadata.name, ["node-1"]);
    const service = await apply(cloud, rendered);
    expect([said(cloud, service), cloud.targets()]).toEqual([[], 1]);
  });
});

describe("the Service of Traefik", () => {
  test.each<[CloudName, readonly string[], string]>([
    ["DigitalOcean", ["TCP 80", "TCP 443", "UDP 443"], ""],
    ["OpenStack", ["TCP 80", "TCP 443", "UDP 443"], ""],
    ["Hetzner", ["TCP 80", "TCP 443"], "do not support: UDP (port 443 gets no traffic from it)"],
  ])("has TCP and UDP together on %s, with HTTP/3 [F57]", async (name, forwarded, text) => {
    const cloud = await gatewayClouds[name]();
    const service = await apply(cloud, traefik({ ports: [...traefikPorts, traefikHTTP3] }));
    expect([isServed(service), cloud.forwarded()]).toEqual([true, forwarded as string[]]);
    expect(said(cloud, service).join("\n")).toContain(text);
    expect(said(cloud, service)).toHaveLength(text === "" ? 0 : 1);
  });

  test.each<[CloudName, readonly string[], string]>([
    ["DigitalOcean", ["TCP 80", "TCP 443", "UDP 443"], ""],
    ["OpenStack", ["TCP 80", "TCP 443", "UDP 443"], ""],
    ["AWS", ["TCP 80", "TCP 443", "UDP 443"], ""],
    ["Hetzner", ["TCP 80", "TCP 443"], "do not support UDP, and the Service has no other port (443/UDP)"],
  ])(
    "for UDP alone has a separate load balancer on %s, or no load balancer with a reason [F57]",
    async (name, forwarded, text) => {
      const cloud = await gatewayClouds[name]();
      await apply(cloud, traefik({ annotations: nlb }));
      const service = await apply(
        cloud,
        traefik({ name: "traefik-udp", annotations: nlb, ports: [traefikHTTP3] }),
      );
      expect([isServed(service), cloud.forwarded()]).toEqual([text === "", forwarded as string[]]);
      expect(said(cloud, service).join("\n")).toContain(text);
    },
  );

  test("reports on AWS that the Service of Traefik with a UDP port and no annotation requires a network load balancer [F57]", async () => {
    const cloud = await gatewayClouds.AWS();
    const udp: GatewayParts = { name: "traefik-udp", ports: [traefikHTTP3] };
    const service = await apply(cloud, traefik(udp));
    expect(said(cloud, service).join()).toContain(`Set ${ofAWS}type to nlb`);
    const corrected = await apply(cloud, traefik({ ...udp, annotations: nlb }));
    expect([isServed(corrected), cloud.forwarded()]).toEqual([true, ["UDP 443"]]);
  });
});

describe("two Gateways on one load balancer", () => {
  const onePort = (port: number) => [
    { name: `tcp-${port}`, port, targetPort: 10_000 + port, protocol: "TCP" },
  ];

  /** With the annotations of `spec.infrastructure` of both. */
  const share = {
    OpenStack: async (port: number) => {
      const cloud = await gatewayClouds.OpenStack();
      const first = await apply(cloud, envoyGateway({ annotations: monitored }));
      const id = first.metadata.annotations?.[`${ofOpenStack}load-balancer-id`] ?? "";
      const annotations = { ...monitored, [`${ofOpenStack}load-balancer-id`]: id };
      const second = await apply(cloud, envoyGateway({ name: "eg-2", annotations, ports: onePort(port) }));
      return { cloud, first, second };
    },
    Hetzner: async (port: number) => {
      const cloud = await gatewayClouds.Hetzner();
      const annotations = { [`${ofHetzner}name`]: "edge", [`${ofHetzner}shared`]: "namespace" };
      const first = await apply(cloud, envoyGateway({ annotations }));
      const second = await apply(cloud, envoyGateway({ name: "eg-2", annotations, ports: onePort(port) }));
      return { cloud, first, second };
    },
  } as const;
  type Sharing = keyof typeof share;

  test.each<Sharing>(["OpenStack", "Hetzner"])(
    "have the same address on %s, and the second Gateway stays when the first Gateway is deleted [F57 F38]",
    async (name) => {
      const { cloud, first, second } = await share[name](5432);
      expect([isServed(second), said(cloud, second), cloud.balancers().length]).toEqual([true, [], 1]);
      expect(second.status.loadBalancer?.ingress).toEqual(first.status.loadBalancer?.ingress as []);
      expect(cloud.forwarded().toSorted()).toEqual(["TCP 443", "TCP 5432", "TCP 80"]);
      cloud.world.delete("eg");
      await cloud.world.pass(150);
      expect(cloud.forwarded()).toEqual(["TCP 5432"]);
      expect(cloud.world.get("eg-2").status).toEqual(second.status);
    },
  );

  test.each<[Sharing, string]>([
    ["OpenStack", "has foreign listeners on port 443"],
    ["Hetzner", "PortConflict"],
  ])(
    "cannot have the same port on %s, and the second Gateway reports the conflict [F57 F38]",
    async (name, text) => {
      const { cloud, second } = await share[name](443);
      expect([isServed(second), cloud.forwarded()]).toEqual([false, ["TCP 80", "TCP 443"]]);
      expect(said(cloud, second).join()).toContain(text);
    },
  );
});
