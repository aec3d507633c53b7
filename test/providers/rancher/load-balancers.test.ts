// Load balancers of Rancher over their whole life.

import { expect, test } from "bun:test";
import { seconds } from "../../../src/core/brand.ts";
import { draft, prefix, RancherWorld } from "./rancher-world.ts";

async function started(nodes = 2, config: Readonly<Record<string, string>> = {}): Promise<RancherWorld> {
  const h = new RancherWorld(nodes, config);
  await h.start("service");
  h.forget();
  return h;
}

test("creates the stack, load balancer and external services with the Go manager's names [F26 S11]", async () => {
  const h = await started();
  await h.created();
  const { uid } = h.world.get("web").metadata;
  const { environment } = h.cloud;
  expect(environment.stacks).toMatchObject([{ name: "kubernetes-loadbalancers" }]);
  expect(h.balancer).toMatchObject({
    name: `lb-a${uid.replaceAll("-", "")}`.slice(0, 35),
    scale: 1,
    launchConfig: {
      imageUuid: "docker:rancher/lb-service-haproxy:v0.9.14",
      ports: ["80:80/tcp"],
      labels: {},
    },
  });
  expect(h.externals.map(({ name, externalIpAddresses }) => [name, externalIpAddresses])).toEqual([
    ["node-0", ["192.0.2.1"]],
    ["node-1", ["192.0.2.2"]],
  ]);
  expect(h.rules).toEqual(["80 -> node-0:30080 tcp", "80 -> node-1:30080 tcp"]);
  expect(h.world.get("web").status.loadBalancer?.ingress as unknown).toEqual([
    { ip: "192.0.2.1", ipMode: "VIP" },
  ]);
  expect(h.changes).toEqual([
    "POST /stacks",
    "POST /loadBalancerServices",
    "POST /externalServices",
    "POST /externalServices",
    "PUT /loadBalancerServices/{id}",
    "POST /loadBalancerServices/{id}?action=activate",
  ]);
});

test("changes ports and Nodes in place, and keeps the address [F26 S11]", async () => {
  const h = await started();
  await h.created();
  const { id } = h.balancer;
  h.forget();
  h.world.editSpec("web", { ports: [{ port: 8080, protocol: "TCP", nodePort: 30_081 }] as never });
  await h.world.pass(30);
  expect(h.balancer).toMatchObject({ id, launchConfig: { ports: ["8080:8080/tcp"] } });
  expect(h.changes).toEqual(["PUT /loadBalancerServices/{id}"]);
  h.forget();
  h.world.removeNode("node-0");
  h.addNode("node-2");
  await h.world.pass(60);
  expect(h.rules).toEqual(["8080 -> node-1:30081 tcp", "8080 -> node-2:30081 tcp"]);
  expect(h.externals.map(({ name }) => name)).toEqual(["node-1", "node-2"]);
  expect(h.balancer.id).toBe(id);
  expect(h.changes.filter((what) => what.startsWith("DELETE /loadBalancer"))).toEqual([]);
  expect(h.world.addressesOf("web")).toEqual(["192.0.2.1"]);
});

test("keeps the ports published while there is no target", async () => {
  const h = await started(1);
  await h.created();
  h.world.removeNode("node-0");
  await h.world.pass(60);
  expect(h.rules).toEqual(["80 -> nothing:null tcp"]);
  expect(h.balancer.launchConfig?.ports).toEqual(["80:80/tcp"]);
  expect(h.world.addressesOf("web")).toEqual(["192.0.2.1"]);
});

test("shares external services between two Services, and removes them with the last Service", async () => {
  const h = await started();
  h.world.create("mail", draft({}, [{ port: 25, protocol: "TCP", nodePort: 30_025 }]));
  await h.created();
  await h.world.until(() => h.world.addressesOf("mail").length > 0, "the address");
  expect(h.externals).toHaveLength(2);
  h.world.delete("web");
  await h.world.pass(60);
  expect([h.balancers.length, h.externals.length]).toEqual([1, 2]);
  h.world.delete("mail");
  await h.world.pass(60);
  expect([h.balancers.length, h.externals.length]).toEqual([0, 0]);
});

test("leaves the external service of another cluster unchanged, and reports which Node gets no traffic [S11]", async () => {
  const h = await started();
  const { environment } = h.cloud;
  const { id: stackId } = environment.addStack("kubernetes-loadbalancers");
  const metadata = {
    "fairlead.dev/cluster": "other",
    "fairlead.dev/service-uid": "11111111-2222-4333-8444-555555555555",
  };
  environment.services.put("externalService", {
    name: "node-0",
    stackId,
    scale: 1,
    launchConfig: null,
    lbConfig: null,
    healthCheck: null,
    startOnCreate: true,
    externalIpAddresses: ["198.51.100.9"],
    metadata,
  });
  await h.created();
  await h.world.pass(60);
  expect(h.rules).toEqual(["80 -> node-1:30080 tcp"]);
  expect(h.externals.find(({ name }) => name === "node-0")?.externalIpAddresses).toEqual(["198.51.100.9"]);
  expect(h.events()).toContain("may belong to another cluster");
});

test("waits for public endpoints that arrive one by one, and publishes each address once [S11]", async () => {
  const h = await started(3);
  h.cloud.environment.services.endpointInterval = seconds(10);
  h.world.create(
    "web",
    draft({ "lb-scale": "global" }, [
      { name: "a", port: 80, protocol: "TCP", nodePort: 30_080 },
      { name: "b", port: 81, protocol: "TCP", nodePort: 30_081 },
    ]),
  );
  await h.world.until(() => h.world.addressesOf("web").length > 0, "the address", 120);
  expect(h.events()).toContain("to get public endpoints");
  expect(h.events()).toContain("to become healthy");
  expect(h.world.addressesOf("web")).toEqual(["192.0.2.1", "192.0.2.2", "192.0.2.3"]);
});

test("activates a load balancer once the server offers it, after a minute of rejections [S11]", async () => {
  const h = await started();
  h.cloud.withholdActivate(seconds(60));
  h.world.create("web", draft());
  await h.world.pass(50);
  expect(h.world.addressesOf("web")).toEqual([]);
  expect(h.events()).toContain("to become active, it is inactive");
  expect(h.events()).toMatch(/to become active, it is inactive; waiting for 1\ds so far/);
  await h.world.until(() => h.world.addressesOf("web").length > 0, "the address", 120);
  expect(h.changes.filter((what) => what.endsWith("action=activate"))).toHaveLength(1);
});

test("reports the server's message when a host port is in use, and continues when the port is free [S11 F89]", async () => {
  const h = await started();
  const { services } = h.cloud.environment;
  services.obstacles.occupy(80);
  h.world.create("web", draft());
  await h.world.pass(60);
  expect(h.events()).toContain("host has port 80 in use");
  expect(h.events()).toContain("LoadBalancerFailed");
  services.obstacles.free(80);
  await h.world.until(() => h.world.addressesOf("web").length > 0, "the address", 120);
});

test("serves the other Nodes while an external service is stuck in its removal [S11]", async () => {
  const h = await started();
  const { services } = h.cloud.environment;
  await h.created();
  services.obstacles.stick("node-0");
  services.remove(services.existing("node-0"));
  h.world.editSpec("web", { ports: [{ port: 81, protocol: "TCP", nodePort: 30_081 }] as never });
  await h.world.pass(60);
  expect(h.rules).toEqual(["81 -> node-1:30081 tcp"]);
  expect(h.events()).toContain("external service node-0 to be removed");
  services.obstacles.release("node-0");
  await h.world.until(() => h.rules.length === 2, "the second rule", 600);
});

test("serves a Node again some seconds after its external service was removed", async () => {
  const h = await started();
  const { services } = h.cloud.environment;
  await h.created();
  services.remove(services.existing("node-0"));
  h.world.editSpec("web", { ports: [{ port: 81, protocol: "TCP", nodePort: 30_081 }] as never });
  const both = ["81 -> node-0:30081 tcp", "81 -> node-1:30081 tcp"].join();
  await h.world.until(() => h.rules.join() === both, "both rules", 15);
});

test("waits until the name is free when a Service needs its load balancer again immediately [S11]", async () => {
  const h = await started();
  await h.created();
  const { services } = h.cloud.environment;
  const { id, name } = h.balancer;
  services.time = seconds(20);
  h.world.editSpec("web", { type: "ClusterIP" });
  await h.world.until(() => h.balancer.state === "removing", "the removal");
  h.world.editSpec("web", { type: "LoadBalancer" });
  await h.world.until(
    () => h.balancers.some((one) => one.id !== id && one.state === "active"),
    "another",
    300,
  );
  expect(h.balancer.name).toBe(name);
  await h.world.pass(60);
  expect(h.externals.map(({ state }) => state)).toEqual(["active", "active"]);
  expect(h.rules).toHaveLength(2);
});

test("repeats the creation while the server still knows the name", async () => {
  const h = await started();
  const operation = "POST /loadBalancerServices";
  h.cloud.faults.add({ kind: "status", status: 422, code: "NotUnique", operation, calls: 3 });
  await h.created();
  expect(h.changes.filter((what) => what === operation)).toHaveLength(4);
});

test("forwards UDP, and applies protocols, certificates, stickiness and scale [F35 F37 S11]", async () => {
  const h = await started();
  const { id } = h.cloud.environment.addCertificate("shop");
  await h.created(
    draft(
      {
        "lb-protocol": "443=https,80=http",
        "lb-default-certificate": "shop",
        "lb-stickiness-cookie": "node",
        "lb-scale": "2",
      },
      [
        { name: "web", port: 80, protocol: "TCP", nodePort: 30_080 },
        { name: "tls", port: 443, protocol: "TCP", nodePort: 30_443 },
        { name: "dns", port: 53, protocol: "UDP", nodePort: 30_053 },
      ],
    ),
  );
  expect(h.rules.filter((rule) => rule.includes("node-0"))).toEqual([
    "443 -> node-0:30443 https",
    "53 -> node-0:30053 udp",
    "80 -> node-0:30080 http",
  ]);
  expect(h.balancer.launchConfig?.ports.toSorted()).toEqual(["443:443/tcp", "53:53/udp", "80:80/tcp"]);
  expect(h.balancer).toMatchObject({
    scale: 2,
    lbConfig: { defaultCertificateId: id, stickinessPolicy: { cookie: "node", mode: "insert" } },
  });
  expect(h.world.addressesOf("web")).toEqual(["192.0.2.1", "192.0.2.2"]);
});

test("writes source ranges, client affinity and the PROXY protocol to haproxy.cfg [F30 F33 S11]", async () => {
  const h = await started(1);
  const { spec, annotations } = draft({ "lb-proxy-protocol": "true", "lb-haproxy-config": "global" });
  await h.created({
    annotations,
    spec: {
      ...spec,
      loadBalancerSourceRanges: ["198.51.100.0/24", "203.0.113.0/24"],
      sessionAffinity: "ClientIP",
      sessionAffinityConfig: { clientIP: { timeoutSeconds: 600 } },
    } as never,
  });
  expect(h.balancer.lbConfig?.config?.split("\n")).toEqual([
    "frontend 80",
    "    acl fairlead_ranges src 198.51.100.0/24 203.0.113.0/24",
    "    tcp-request connection reject if !fairlead_ranges",
    "backend port-80",
    "    stick-table type ip size 200k expire 600s",
    "    stick on src",
    "    server $IP send-proxy",
    "global",
  ]);
  expect(h.balancer.lbConfig?.portRules[0]?.backendName).toBe("port-80");
  expect(h.world.get("web").status.loadBalancer?.ingress as unknown).toEqual([
    { ip: "192.0.2.1", ipMode: "Proxy" },
  ]);
});

test("checks the health of the Nodes with externalTrafficPolicy Local [F32 S11]", async () => {
  const h = await started();
  const { spec, annotations } = draft();
  await h.created({
    annotations,
    spec: { ...spec, externalTrafficPolicy: "Local", healthCheckNodePort: 32_000 } as never,
  });
  expect(h.externals).toMatchObject([
    {
      name: `${h.balancer.name}-local-32000`,
      externalIpAddresses: ["192.0.2.1", "192.0.2.2"],
      healthCheck: { port: 32_000, requestLine: 'GET "/healthz" "HTTP/1.0"' },
    },
  ]);
  h.forget();
  h.addNode("node-2");
  await h.world.pass(60);
  expect(h.externals[0]?.externalIpAddresses).toHaveLength(3);
  expect(h.changes).toEqual(["PUT /externalServices/{id}"]);
  // A health check cannot be changed.
  h.world.editSpec("web", { healthCheckNodePort: 32_001 });
  await h.world.pass(60);
  expect(h.externals).toMatchObject([
    { name: `${h.balancer.name}-local-32001`, healthCheck: { port: 32_001 } },
  ]);
});

test("recreates the load balancer for another scheduling, but not for another number of containers", async () => {
  const h = await started(3);
  await h.created();
  const { id } = h.balancer;
  h.world.annotate("web", { [`${prefix}lb-scale`]: "3" });
  await h.world.pass(60);
  expect(h.balancer).toMatchObject({ id, scale: 3 });
  h.world.annotate("web", { [`${prefix}lb-scale`]: "global" });
  await h.world.pass(120);
  expect(h.balancer.id).not.toBe(id);
  expect(h.balancer.launchConfig?.labels).toEqual({ "io.rancher.scheduler.global": "true" });
});

test("recreates the load balancer for other hosts", async () => {
  const h = await started(2);
  await h.created();
  const { id } = h.balancer;
  h.cloud.environment.hosts.change("node-1", { labels: { lb: "true" } });
  h.world.annotate("web", { [`${prefix}lb-host-selector`]: "lb=true" });
  await h.world.until(() => h.world.addressesOf("web").join() === "192.0.2.2", "the other address", 300);
  expect(h.balancer.id).not.toBe(id);
  expect(h.externals).toHaveLength(2);
});

test("runs the load balancer on the hosts that an annotation selects", async () => {
  const h = await started(2);
  h.cloud.environment.hosts.change("node-1", { labels: { lb: "true" } });
  await h.created(draft({ "lb-host-selector": "lb=true" }));
  expect(h.world.addressesOf("web")).toEqual(["192.0.2.2"]);
});

test.each([
  ["lb-scale", "many", "global"],
  ["lb-protocol", "80=ftp", "tcp, http, https, tls or udp"],
  ["lb-host-selector", "lb in (a)", "lb=true"],
  ["lb-ip-mode", "proxy-mode", "VIP, Proxy"],
  ["lb-default-certificate", "missing", '"missing" does not exist'],
])(
  "changes nothing while %s is invalid, and reports the allowed values [F47]",
  async (name, value, expected) => {
    const h = await started();
    await h.created();
    h.forget();
    h.world.annotate("web", { [prefix + name]: value });
    await h.world.pass(120);
    expect(h.changes).toEqual([]);
    expect(h.events()).toContain(expected);
  },
);

test("suggests the correct annotation for a misspelled one, and applies all other annotations [F49]", async () => {
  const h = await started();
  await h.created(draft({ "lb-scael": "2", "lb-protocol": "81=http" }));
  expect(h.balancer.scale).toBe(1);
  expect(h.events()).toContain("lb-scael");
  expect(h.events()).toContain("service.rancher.io/lb-scale");
  expect(h.events()).toContain("names port 81, which the Service does not have");
});

test("publishes the ipMode that an annotation sets [F34]", async () => {
  const h = await started();
  await h.created(draft({ "lb-ip-mode": "Proxy" }));
  expect(h.world.get("web").status.loadBalancer?.ingress as unknown).toEqual([
    { ip: "192.0.2.1", ipMode: "Proxy" },
  ]);
  h.forget();
  h.world.annotate("web", { [`${prefix}lb-ip-mode`]: "VIP" });
  await h.world.pass(30);
  expect(h.world.get("web").status.loadBalancer?.ingress as unknown).toEqual([
    { ip: "192.0.2.1", ipMode: "VIP" },
  ]);
  expect(h.changes).toEqual([]);
});

test("finds certificates by name and by id, and reports each missing certificate [F37]", async () => {
  const h = await started();
  const [shop, blog] = [
    h.cloud.environment.addCertificate("shop"),
    h.cloud.environment.addCertificate("blog"),
  ];
  const tls = [{ port: 443, protocol: "TCP", nodePort: 30_443 }];
  await h.created(draft({ "lb-protocol": "tls", "lb-certificates": `shop,${blog.id}` }, tls));
  expect(h.balancer.lbConfig).toMatchObject({
    certificateIds: [shop.id, blog.id],
    portRules: [{ protocol: "tls" }, { protocol: "tls" }],
  });
  h.forget();
  h.world.annotate("web", { [`${prefix}lb-certificates`]: "shop,news,mail" });
  await h.world.pass(60);
  expect(h.events()).toContain('The certificates "news", "mail" do not exist');
  expect(h.changes).toEqual([]);
  h.world.create("bare", draft({ "lb-protocol": "https" }, [{ ...tls[0], port: 444, nodePort: 30_444 }]));
  await h.world.pass(60);
  expect(h.events("bare")).toContain("A port with https or tls needs a certificate");
  expect(h.changes).toEqual([]);
});

test("creates no load balancer without an image, and reports the missing setting", async () => {
  const h = await started();
  h.cloud.environment.settings.delete("lb.instance.image");
  h.world.create("web", draft());
  await h.world.pass(30);
  expect(h.changes).toEqual([]);
  expect(h.events()).toContain("lb.instance.image is empty");
});

test("delays only Services with certificates while certificates cannot be listed [F51]", async () => {
  const h = await started();
  h.cloud.environment.addCertificate("shop");
  const operation = "GET /certificates";
  h.cloud.faults.add({ kind: "status", status: 503, code: "Unavailable", operation, calls: 1000 });
  const annotations = { "lb-protocol": "https", "lb-default-certificate": "shop" };
  for (let index = 0; index < 5; index += 1) {
    const tls = { name: "tls", port: 443 + index, protocol: "TCP", nodePort: 30_443 + index };
    h.world.create(`secure-${index}`, draft(annotations, [tls]));
  }
  h.world.create("web", draft());
  await h.world.until(() => h.world.addressesOf("web").length > 0, "the address", 60);
  await h.world.pass(15);
  expect(h.cloud.seen.filter((one) => one.operation === operation).length).toBeLessThanOrEqual(7);
});
