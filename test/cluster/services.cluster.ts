// Services of the executable with a real API server and its validation, and as users see them with kubectl.

import { afterEach, beforeEach, expect, test } from "bun:test";
import { finalizer } from "../../src/controllers/service/served-classes.ts";
import { services as resource } from "../../src/kube/resources.ts";
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
  cluster.until(`the deletion of Service ${name}`, async () => (await services.get(name)) === undefined);
const described = (text: string, name = "web"): Promise<string> =>
  cluster.until(`${text} in kubectl describe`, async () => {
    const output = await kubectl("describe", "service", name);
    return output.includes(text) && output;
  });

test("a Deployment exposed with kubectl gets an address and events, and its load balancer is deleted with the Service [F26 F27]", async () => {
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

test("a Service that becomes a ClusterIP and changes back loses its load balancer and gets a new load balancer [F26 F27]", async () => {
  manager();
  await services.create("web");
  const before = await services.served("web");
  await kubectl("patch", "service", "web", "--patch", '{"spec":{"type":"ClusterIP"}}');
  const plain = await cluster.until("the removal of the finalizer", async () => {
    const service = await services.get("web");
    return service !== undefined && (service.metadata.finalizers ?? []).length === 0 && service;
  });
  expect(plain.status.loadBalancer?.ingress ?? []).toEqual([]);
  expect(cluster.cloud.balancers.list()).toEqual([]);
  // The API server rejects an address in the status of a ClusterIP Service.
  const body = { status: { loadBalancer: { ingress: [{ ip: before.balancer.ip }] } } };
  const patch = { contentType: "application/merge-patch+json", body, subresource: "status" } as const;
  await expect(cluster.api.patch(resource, plain.metadata, patch)).rejects.toThrow("ingress");
  await kubectl("patch", "service", "web", "--patch", '{"spec":{"type":"LoadBalancer"}}');
  const after = await services.served("web");
  expect(after.balancer.id).not.toBe(before.balancer.id);
  expect(cluster.cloud.balancers.list()).toHaveLength(1);
});

test("adds a manually removed finalizer again, and leaves nothing behind when a Service is deleted without it [F27]", async () => {
  manager();
  await services.create("web");
  await services.served("web");
  const removeFinalizers = ["patch", "service", "web", "--type=json", "--patch"] as const;
  const empty = '[{"op":"remove","path":"/metadata/finalizers"}]';
  await kubectl(...removeFinalizers, empty);
  await cluster.until("the finalizer to be added again", async () =>
    (await services.get("web"))?.metadata.finalizers?.includes(finalizer),
  );
  expect(changesIn(cluster)).toEqual(["POST /balancers"]);
  // In parallel, so that the manager cannot add the finalizer again.
  await Promise.all([services.edit("web", { metadata: { finalizers: null } }), services.delete("web")]);
  await gone("web");
  await cluster.until("the deletion of the load balancer", () => cluster.cloud.balancers.list().length === 0);
});

test.each([
  ["with its finalizer", false],
  ["without its finalizer", true],
])(
  "a Service that is recreated under its name %s has exactly one load balancer [F26 F27]",
  async (_, isFinalizerRemoved) => {
    cluster.cloud.latency = 20 as typeof cluster.cloud.latency;
    manager();
    const first = await services.create("web");
    await services.served("web");
    await services.delete("web");
    if (isFinalizerRemoved)
      await services.edit("web", { metadata: { finalizers: null } }).catch(() => undefined);
    const second = await cluster.until("the name to become free", () => services.create("web"), {
      everyMs: 2,
    });
    expect(second.metadata.uid).not.toBe(first.metadata.uid);
    await services.served("web");
    const owners = () => cluster.cloud.balancers.list().map(ownerOf);
    await cluster.until("the deletion of the first load balancer", () => owners().length === 1);
    expect(owners()).toEqual([second.metadata.uid]);
  },
);

test("reports a misspelled annotation with a suggestion, sets a condition for an invalid value, and still deletes the Service [F47 F49 F54]", async () => {
  manager();
  await services.create("web");
  const { balancer } = await services.served("web");
  await kubectl("annotate", "service", "web", "balancer.fake.example/algoritm=least-connections");
  const reported = await described("UnknownAnnotation");
  expect(reported).toContain('did you mean "balancer.fake.example/algorithm"?');
  await kubectl("annotate", "service", "web", "balancer.fake.example/algorithm=least-conections");
  await kubectl("wait", "service/web", "--for=condition=CloudReady=False", "--timeout=60s");
  const invalid = await services.get("web");
  expect(invalid?.status.conditions?.[0]?.message).toContain('did you mean "least-connections"?');
  expect(invalid?.status.loadBalancer?.ingress).toEqual([{ ip: balancer.ip, ipMode: "VIP" }]);
  // A joining Node still becomes a target.
  const second = await services.target("worker-2");
  await cluster.until("the new target", () =>
    cluster.cloud.balancers.get(balancer.id).targets.includes(second),
  );
  expect(cluster.cloud.balancers.get(balancer.id).algorithm).toBe("round-robin");
  await kubectl("delete", "service", "web", "--timeout=60s");
  expect(cluster.cloud.balancers.list()).toEqual([]);
});

test("correcting an annotation removes its condition [F47 F54]", async () => {
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
    "the removal of the condition",
    async () => ((await services.get("web"))?.status.conditions ?? []).length === 0,
  );
});

test("applies the source ranges of a Service in the cloud, including changes [F30]", async () => {
  manager();
  const ranges = ["198.51.100.0/24", "203.0.113.7/32"];
  await services.create("web", { loadBalancerSourceRanges: ranges });
  const { balancer } = await services.served("web");
  expect(balancer.sources.toSorted()).toEqual(ranges);
  await kubectl("patch", "service", "web", "--patch", '{"spec":{"loadBalancerSourceRanges":null}}');
  await cluster.until(
    "all source addresses to be allowed",
    () => cluster.cloud.balancers.get(balancer.id).sources.join() === "0.0.0.0/0",
  );
});

test("a dual-stack Service has an address per family, even if it becomes dual-stack later [F45]", async () => {
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

test("a Service with another load balancer class is ignored [F28]", async () => {
  manager();
  await services.create("other-class", { loadBalancerClass: "example.com/other" });
  await services.create("web");
  const { balancer } = await services.served("web");
  const ignored = await services.get("other-class");
  expect(ignored?.metadata.finalizers ?? []).toEqual([]);
  expect(ignored?.status).toEqual({ loadBalancer: {} });
  expect(cluster.cloud.balancers.list().map(({ id }) => id)).toEqual([balancer.id]);
  await described("EnsuredLoadBalancer");
  expect(await cluster.eventsOf("other-class")).toEqual([]);
});

test("the paused annotation pauses a Service and its deletion until the annotation is removed [F26]", async () => {
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
  // A Service created later is not affected.
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

test("a Service adopts the manually created load balancer that it names, and changes no other load balancer [F39]", async () => {
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

test("a Service without node ports gets a load balancer without listeners [F26]", async () => {
  manager();
  await services.create("web", { allocateLoadBalancerNodePorts: false });
  const { service, balancer } = await services.served("web");
  expect(service.spec.ports?.map(({ nodePort }) => nodePort)).toEqual([undefined]);
  expect(balancer.listeners).toEqual([]);
});

test("a Service with externalTrafficPolicy Local and local-endpoints has only Nodes with endpoints as targets [F43]", async () => {
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
