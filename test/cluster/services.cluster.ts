// Services as the compiled executable serves them, against a real API server with all that it refuses, and as people see
// them through kubectl.

import { afterEach, beforeEach, expect, test } from "bun:test";
import { finalizer } from "../../src/controllers/service/predicates.ts";
import { services as resource } from "../../src/kube/resources.ts";
import { never } from "../kube/cluster/connect.ts";
import { type BalancedServices, balancedServices, changesIn, ownerOf } from "./rig/balanced-services.ts";
import { type Cluster, openCluster } from "./rig/cluster.ts";
import { createKubectl, type Kubectl } from "./rig/kubectl.ts";

let cluster: Cluster;
let services: BalancedServices;
let kubectl: Kubectl;
let machine: string;
beforeEach(async () => {
  cluster = await openCluster();
  services = balancedServices(cluster);
  kubectl = createKubectl(cluster.kubeconfig, cluster.folder);
  machine = await services.target("worker-1");
});
afterEach(async () => {
  await cluster[Symbol.asyncDispose]();
});

const manager = (...flags: readonly string[]) =>
  cluster.manager({ flags: ["--leader-elect=false", ...flags] });
const gone = (name: string): Promise<true> =>
  cluster.until(`Service ${name} to be gone`, async () => (await services.get(name)) === undefined);
const described = (text: string, name = "web"): Promise<string> =>
  cluster.until(`kubectl describe to say ${text}`, async () => {
    const said = await kubectl("describe", "service", name);
    return said.includes(text) && said;
  });

test("a Deployment that kubectl exposes gets an address with its events, and all goes with the Service [F26 F27]", async () => {
  manager();
  await kubectl("create", "deployment", "web", "--image=registry.example/web", "--replicas=0");
  await kubectl("expose", "deployment", "web", "--type=LoadBalancer", "--port=80", "--target-port=8080");
  const jsonpath = "--for=jsonpath={.status.loadBalancer.ingress[0].ip}";
  await kubectl("wait", "service/web", jsonpath, "--timeout=60s");
  const { service, balancer } = await services.served("web");
  expect(balancer.targets).toEqual([machine]);
  expect(balancer.listeners).toEqual([
    { protocol: "TCP", port: 80, target_port: service.spec.ports?.[0]?.nodePort ?? 0 },
  ]);
  expect(service.metadata.finalizers).toEqual([finalizer]);
  const shown = await described("EnsuredLoadBalancer");
  expect(shown).toContain(balancer.ip);
  expect(shown).toContain("EnsuringLoadBalancer");
  expect(shown).toContain("service-controller");
  await kubectl("delete", "deployment/web", "service/web", "--timeout=60s");
  expect(await services.get("web")).toBeUndefined();
  expect(cluster.cloud.balancers.list()).toEqual([]);
  expect(changesIn(cluster)).toEqual(["POST /balancers", "DELETE /balancers/{id}"]);
});

test("a Service that becomes a ClusterIP loses balancer, address and finalizer, and gets new ones when it comes back [F26 F27]", async () => {
  manager();
  await services.create("web");
  const before = await services.served("web");
  await kubectl("patch", "service", "web", "--patch", '{"spec":{"type":"ClusterIP"}}');
  const plain = await cluster.until("the finalizer to go", async () => {
    const service = await services.get("web");
    return service !== undefined && (service.metadata.finalizers ?? []).length === 0 && service;
  });
  expect(plain.status.loadBalancer?.ingress ?? []).toEqual([]);
  expect(cluster.cloud.balancers.list()).toEqual([]);
  // What the server says to whoever would write an address now.
  const body = { status: { loadBalancer: { ingress: [{ ip: before.balancer.ip }] } } };
  const patch = { contentType: "application/merge-patch+json", body, subresource: "status" } as const;
  await expect(cluster.api.patch(resource, plain.metadata, patch, never)).rejects.toThrow("ingress");
  await kubectl("patch", "service", "web", "--patch", '{"spec":{"type":"LoadBalancer"}}');
  const after = await services.served("web");
  expect(after.balancer.id).not.toBe(before.balancer.id);
  expect(cluster.cloud.balancers.list()).toHaveLength(1);
});

test("a finalizer that is stripped by hand comes back, and without it nothing is left over either [F27]", async () => {
  manager();
  await services.create("web");
  await services.served("web");
  const strip = ["patch", "service", "web", "--type=json", "--patch"] as const;
  const empty = '[{"op":"remove","path":"/metadata/finalizers"}]';
  await kubectl(...strip, empty);
  await cluster.until("the finalizer to come back", async () =>
    (await services.get("web"))?.metadata.finalizers?.includes(finalizer),
  );
  expect(changesIn(cluster)).toEqual(["POST /balancers"]);
  // Faster than anybody could put it back.
  await Promise.all([services.edit("web", { metadata: { finalizers: null } }), services.delete("web")]);
  await gone("web");
  await cluster.until("the balancer to go", () => cluster.cloud.balancers.list().length === 0);
});

test.each([
  ["as it is", false],
  ["with its finalizer stripped, so that the name is free at once", true],
])(
  "a Service that is deleted and made again under its name, %s, has one balancer of its own [F26 F27]",
  async (_, isStripped) => {
    cluster.cloud.latency = 20 as typeof cluster.cloud.latency;
    manager();
    const first = await services.create("web");
    await services.served("web");
    await services.delete("web");
    if (isStripped) await services.edit("web", { metadata: { finalizers: null } }).catch(() => undefined);
    const second = await cluster.until("the name to be free", () => services.create("web"), { everyMs: 2 });
    expect(second.metadata.uid).not.toBe(first.metadata.uid);
    await services.served("web");
    const owners = () => cluster.cloud.balancers.list().map(ownerOf);
    await cluster.until("the first one's balancer to go", () => owners().length === 1);
    expect(owners()).toEqual([second.metadata.uid]);
  },
);

test("a misspelt annotation is told with the right spelling, a wrong value is a condition, and teardown goes on [F47 F49 F54]", async () => {
  manager();
  await services.create("web");
  const { balancer } = await services.served("web");
  await kubectl("annotate", "service", "web", "balancer.fake.example/algoritm=least-connections");
  const reported = await described("UnknownAnnotation");
  expect(reported).toContain('did you mean "balancer.fake.example/algorithm"?');
  await kubectl("annotate", "service", "web", "balancer.fake.example/algorithm=least-conections");
  await kubectl("wait", "service/web", "--for=condition=CloudReady=False", "--timeout=60s");
  const wrong = await services.get("web");
  expect(wrong?.status.conditions?.[0]?.message).toContain('did you mean "least-connections"?');
  expect(wrong?.status.loadBalancer?.ingress).toEqual([{ ip: balancer.ip, ipMode: "VIP" }]);
  // Whoever comes meanwhile is a target all the same.
  const second = await services.target("worker-2");
  await cluster.until("the new target", () =>
    cluster.cloud.balancers.get(balancer.id).targets.includes(second),
  );
  expect(cluster.cloud.balancers.get(balancer.id).algorithm).toBe("round-robin");
  await kubectl("delete", "service", "web", "--timeout=60s");
  expect(cluster.cloud.balancers.list()).toEqual([]);
});

test("an annotation that is mended takes its condition with it [F47 F54]", async () => {
  manager();
  await services.create("web", {}, { "balancer.fake.example/algorithm": "least-conections" });
  await kubectl("wait", "service/web", "--for=condition=CloudReady=False", "--timeout=60s");
  expect(changesIn(cluster)).toEqual([]);
  await kubectl(
    "annotate",
    "service",
    "web",
    "balancer.fake.example/algorithm=least-connections",
    "--overwrite",
  );
  const { balancer } = await services.served("web");
  expect(balancer.algorithm).toBe("least-connections");
  await cluster.until(
    "the condition to go",
    async () => ((await services.get("web"))?.status.conditions ?? []).length === 0,
  );
});

test("source ranges reach the cloud and follow the Service [F30]", async () => {
  manager();
  const ranges = ["198.51.100.0/24", "203.0.113.7/32"];
  await services.create("web", { loadBalancerSourceRanges: ranges });
  const { balancer } = await services.served("web");
  expect(balancer.sources.toSorted()).toEqual(ranges);
  await kubectl("patch", "service", "web", "--patch", '{"spec":{"loadBalancerSourceRanges":null}}');
  await cluster.until(
    "everybody to be let in",
    () => cluster.cloud.balancers.get(balancer.id).sources.join() === "0.0.0.0/0",
  );
});

test("a Service of both families shows an address of each, and one that prefers both gets them later [F45]", async () => {
  manager();
  await services.create("both", { ipFamilyPolicy: "RequireDualStack" });
  await services.create("web", { ipFamilyPolicy: "SingleStack" });
  const { service, balancer } = await services.served("both");
  const shown = (service.status.loadBalancer?.ingress ?? []).map(({ ip }) => ip);
  expect(shown.toSorted()).toEqual([balancer.ip, balancer.ipv6 ?? "none"]);
  expect(balancer.sources.toSorted()).toEqual(["0.0.0.0/0", "::/0"]);
  const one = await services.served("web");
  expect(one.service.status.loadBalancer?.ingress).toHaveLength(1);
  await kubectl("patch", "service", "web", "--patch", '{"spec":{"ipFamilyPolicy":"PreferDualStack"}}');
  await cluster.until(
    "the second address",
    async () => (await services.get("web"))?.status.loadBalancer?.ingress?.length === 2,
  );
  expect((await services.served("web")).balancer.id).toBe(one.balancer.id);
});

test("a Service of somebody else's class is left alone, finalizer, events and all [F28]", async () => {
  manager();
  await services.create("theirs", { loadBalancerClass: "example.com/other" });
  await services.create("web");
  const { balancer } = await services.served("web");
  const theirs = await services.get("theirs");
  expect(theirs?.metadata.finalizers ?? []).toEqual([]);
  expect(theirs?.status).toEqual({ loadBalancer: {} });
  expect(cluster.cloud.balancers.list().map(({ id }) => id)).toEqual([balancer.id]);
  await described("EnsuredLoadBalancer");
  expect(await cluster.eventsOf("theirs")).toEqual([]);
});

test("kubectl annotate pauses a Service, also its teardown, until it is taken off again [F26]", async () => {
  manager();
  await services.create("web");
  const { balancer } = await services.served("web");
  await kubectl("annotate", "service", "web", "fairlead.dev/paused=true");
  await kubectl(
    "patch",
    "service",
    "web",
    "--patch",
    '{"spec":{"ports":[{"port":443,"targetPort":8443,"name":"https"},{"port":80,"name":"http"}]}}',
  );
  // Whoever came after it is through.
  await services.create("later");
  await services.served("later");
  expect(cluster.cloud.balancers.get(balancer.id).listeners).toEqual(balancer.listeners);
  await kubectl("annotate", "service", "web", "fairlead.dev/paused-");
  await cluster.until("both ports", () => cluster.cloud.balancers.get(balancer.id).listeners.length === 2);
  await kubectl("annotate", "service", "web", "fairlead.dev/paused=true");
  await kubectl("delete", "service", "web", "--wait=false");
  await kubectl("delete", "service", "later", "--timeout=60s");
  expect(cluster.cloud.balancers.list().map(({ id }) => id)).toEqual([balancer.id]);
  await kubectl("annotate", "service", "web", "fairlead.dev/paused-");
  await gone("web");
  expect(cluster.cloud.balancers.list()).toEqual([]);
});

test("a balancer that somebody made by hand is taken over by the Service that names it, and no other is touched [F39]", async () => {
  const { balancers } = cluster.cloud;
  const [mine, other] = ["mine", "other"].map((name) => balancers.create({ name, labels: { team: "web" } }));
  manager();
  await services.create("web", {}, { "balancer.fake.example/adopt": mine?.id ?? "" });
  const { service, balancer } = await services.served("web");
  expect(balancer.id).toBe(mine?.id ?? "");
  expect(balancer.labels).toMatchObject({ team: "web", "owner-uid": service.metadata.uid });
  expect(balancer.targets).toEqual([machine]);
  expect(changesIn(cluster)).toEqual(["PATCH /balancers/{id}"]);
  await kubectl("delete", "service", "web", "--timeout=60s");
  expect(balancers.list()).toEqual([expect.objectContaining({ id: other?.id, labels: { team: "web" } })]);
});

test("a Service without node ports is served without any [F26]", async () => {
  manager();
  await services.create("web", { allocateLoadBalancerNodePorts: false });
  const { service, balancer } = await services.served("web");
  expect(service.spec.ports?.map(({ nodePort }) => nodePort)).toEqual([undefined]);
  expect(balancer.listeners).toEqual([]);
});

test("with local-endpoints, a Service of local traffic has the nodes of its EndpointSlices as targets, others have all [F43]", async () => {
  const second = await services.target("worker-2");
  await services.target("worker-3");
  const applyEndpoints = (...nodeNames: readonly string[]): Promise<string> => {
    const slice = {
      apiVersion: "discovery.k8s.io/v1",
      kind: "EndpointSlice",
      metadata: { name: "web-1", namespace: "default", labels: { "kubernetes.io/service-name": "web" } },
      addressType: "IPv4",
      ports: [{ name: "", port: 8080, protocol: "TCP" }],
      endpoints: nodeNames.map((nodeName, index) => ({
        addresses: [`10.244.0.${index + 1}`],
        nodeName,
        conditions: { ready: true },
      })),
    };
    return kubectl("apply", "-f", cluster.file("slice.json", JSON.stringify(slice)));
  };
  await applyEndpoints("worker-1");
  manager("--load-balancer-targets=local-endpoints");
  await services.create("web", { externalTrafficPolicy: "Local" });
  await services.create("everywhere");
  const { service, balancer } = await services.served("web");
  expect(service.spec.healthCheckNodePort).toBeGreaterThan(0);
  expect(balancer.targets).toEqual([machine]);
  expect((await services.served("everywhere")).balancer.targets).toHaveLength(3);
  await applyEndpoints("worker-1", "worker-2");
  const targets = () => cluster.cloud.balancers.get(balancer.id).targets.toSorted();
  await cluster.until("the second node", () => targets().length > 1);
  expect(targets()).toEqual([machine, second].toSorted());
});
