// The provider in a whole manager, against the simulated cloud over HTTP: Nodes, routes, and Services with each annotation.
// Runs as `npm run test:clients`, with Prism in between when the OpenAPI document is available.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { hetzner } from "../../../../../providers/hetzner/index.ts";
import type { AnyProvider } from "../../../../../src/provider/provider.ts";
import { Cluster } from "../../../../clients/rig/cluster.ts";
import { type AnnotationCase, annotationCases } from "../../annotations-table.ts";
import { expectedOf, observedOf } from "./expected.ts";
import * as project from "./project.ts";

const cluster = new Cluster({
  provider: hetzner as unknown as AnyProvider,
  prefix: "load-balancer.hetzner.cloud/",
  pathOf: ({ pathname }) => pathname.replace(/^\/v1/, "").replaceAll(/\d+/g, "{id}"),
  flags: ["--allow-untagged-cloud", "--cluster-cidr=10.244.0.0/16"],
});
const configWith = (id: number) => ({
  token: project.token,
  endpoint: project.endpoint,
  network: String(id),
  "load-balancers-location": "fsn1",
});
const serverIDs: number[] = [];
let network = 0;

const port = (index: number) => 30_000 + index;
const uids = new Map<string, string>();

function create(
  name: string,
  index: number,
  annotations: Readonly<Record<string, string>>,
  listen = 80,
): void {
  uids.set(name, cluster.create(name, annotations, [{ port: listen, nodePort: port(index) }]));
}

async function join(index: number): Promise<void> {
  serverIDs.push(await project.addServer(`fairlead-${index}`, network));
  cluster.joinNode(`fairlead-${index}`, `10.244.${index}.0/24`);
}

async function balancerOf(name: string) {
  const balancer = await project.balancerOf(uids.get(name) ?? "");
  if (balancer === undefined) throw new Error(`Service ${name} has no load balancer.`);
  return balancer;
}

const settled = () =>
  cluster.until("an address of each Service", () =>
    cluster.services().every(({ status }) => (status.loadBalancer?.ingress ?? []).length > 0),
  );

/** The Services of all cases: one is created with the annotation, and one gets it later. */
const named = (kind: string, cases = annotationCases) =>
  cases.map((one, index) => [`${kind}-${index}`, one, index + (kind === "changed" ? 100 : 0)] as const);
/** A name is free for one load balancer only. */
const forChange = (one: AnnotationCase): AnnotationCase => ({
  ...one,
  ...(one.annotations["name"] !== undefined && {
    annotations: { name: "renamed" },
    balancer: { ...one.balancer, name: "renamed" },
  }),
  // The location of a load balancer does not change.
  ...(one.balancer?.location !== undefined && { balancer: {} }),
});

async function expectCases(services: ReturnType<typeof named>): Promise<true> {
  const found = new Map(
    (await project.balancers()).map((one) => [one.labels["hcloud-ccm/service-uid"], one]),
  );
  for (const [name, one, index] of services) {
    const balancer = found.get(uids.get(name) ?? "");
    expect([one.name, balancer && observedOf(one, balancer)]).toEqual([
      one.name,
      expectedOf(one, port(index)),
    ]);
  }
  return true;
}

const created = named("created");
const changed = named("changed", annotationCases.map(forChange));
const https = { protocol: "https", "http-redirect-http": "true" };
const atTheEdge = { "private-subnet-ip-range": "10.0.1.0/24", "use-private-ip": "true" };
let uploaded: readonly number[] = [];

beforeAll(async () => {
  network = await project.addNetwork("fairlead");
  uploaded = [await project.uploadCertificate("first"), await project.uploadCertificate("second")];
  for (let index = 0; index < 2; index += 1) await join(index);
  for (const [name, { annotations }, index] of created) create(name, index, annotations);
  for (const [name, , index] of changed) create(name, index, {});
  create("uploaded", 200, { ...https, "http-certificates": `first,${uploaded[1]}` }, 443);
  create(
    "managed",
    201,
    {
      ...https,
      "certificate-type": "managed",
      "http-managed-certificate-name": "fairlead-managed",
      "http-managed-certificate-domains": "example.com,*.example.com",
    },
    443,
  );
  create("ports", 210, {});
  await cluster.start(configWith(network));
});
afterAll(() => cluster.stop());

test("initializes Nodes with their addresses in the network, and creates their routes", async () => {
  await cluster.until("the routes", async () => (await project.routes(network)).length === 2);
  const nodes = serverIDs.map((_, index) => cluster.node(`fairlead-${index}`));
  expect(nodes.map((node) => node?.spec.providerID)).toEqual(serverIDs.map((id) => `hcloud://${id}`));
  expect(nodes.map((node) => node?.spec.taints ?? [])).toEqual([[], []]);
  const internal = nodes.map(
    (node) => node?.status.addresses?.find(({ type }) => type === "InternalIP")?.address ?? "none",
  );
  expect(await project.routes(network)).toEqual(
    internal.map((gateway, index) => ({ destination: `10.244.${index}.0/24`, gateway })),
  );
});

test("creates a load balancer for each annotation", async () => {
  await settled();
  // This step comes after the routes: while the cloud changes a network, it refuses to attach load balancers to it.
  create("place", 220, { "private-ipv4": "10.0.0.200", "use-private-ip": "true" });
  create("subnet", 221, { ...atTheEdge, "disable-public-network": "true" });
  await cluster.until("all load balancers", () => expectCases(created));
  const { services } = await balancerOf("uploaded");
  expect(services[0]?.http).toMatchObject({ certificates: uploaded, redirect_http: true });
  await cluster.until("the places in the network", async () => {
    expect((await balancerOf("place")).private_net).toMatchObject([{ network, ip: "10.0.0.200" }]);
    expect((await balancerOf("place")).targets).toHaveLength(2);
    expect((await balancerOf("subnet")).private_net[0]?.ip).toStartWith("10.0.1.");
    return true;
  });
});

test("changes a load balancer for each annotation, port, certificate and place in the network", async () => {
  for (const [name, { annotations }] of changed) cluster.change(name, annotations);
  cluster.change("uploaded", { ...https, "http-certificates": String(uploaded[1]) });
  const ports = [81, 82].map((each) => ({ port: each, nodePort: 30_130 + each }));
  cluster.change("ports", {}, ports);
  cluster.change("place", { "private-ipv4": "10.0.0.201", "use-private-ip": "true" });
  cluster.change("subnet", { ...atTheEdge, "disable-public-network": "false" });
  await cluster.until("all changes", async () => {
    await expectCases(changed);
    expect((await balancerOf("uploaded")).services[0]?.http?.certificates).toEqual(uploaded.slice(1));
    const listening = (await balancerOf("ports")).services.map(({ listen_port }) => listen_port);
    expect(listening.toSorted()).toEqual([81, 82]);
    const place = await balancerOf("place");
    expect(place.private_net).toMatchObject([{ network, ip: "10.0.0.201" }]);
    expect(place.targets).toHaveLength(2);
    expect((await balancerOf("subnet")).public_net.enabled).toBe(true);
    return true;
  });
});

test("adds a joining Node as a target, and removes an excluded Node", async () => {
  await join(2);
  const hasTargets = async (count: number) =>
    (await project.balancers()).every(({ targets }) => targets.length === count);
  await cluster.until("a third target", () => hasTargets(3));
  cluster.exclude("fairlead-2");
  await cluster.until("two targets again", () => hasTargets(2));
});

test("issues the managed certificate, and adds the port that uses it", async () => {
  const [service] = await cluster.until("the port", async () => {
    const { services } = await balancerOf("managed");
    return services.length > 0 && services;
  });
  const certificate = (await project.certificates()).find(({ name }) => name === "fairlead-managed");
  expect(certificate?.status?.issuance).toBe("completed");
  expect(service?.http?.certificates).toEqual([certificate?.id ?? 0]);
});

test("sends no change after a restart", async () => {
  await cluster.stop();
  const before = cluster.sent.length;
  await cluster.start(configWith(network));
  const sent = () => cluster.sent.slice(before);
  await cluster.until(
    "listings",
    () => sent().includes("GET /load_balancers") && sent().includes("GET /servers"),
  );
  await settled();
  // Load balancers are listed again for every plan that is out of date.
  await Bun.sleep(1000);
  expect(sent().filter((operation) => !operation.startsWith("GET "))).toEqual([]);
});

test("deletes load balancers with their Services, and a route with its Node", async () => {
  for (const { metadata } of cluster.services()) cluster.delete(metadata.name);
  cluster.deleteNode("fairlead-1");
  await cluster.until("the deletion of all Services", () => cluster.services().length === 0);
  await cluster.until("the deletion of the route", async () =>
    (await project.routes(network)).every(({ destination }) => destination !== "10.244.1.0/24"),
  );
  const owners = (await project.balancers()).map(({ labels }) => labels["hcloud-ccm/service-uid"]);
  expect(owners.filter((uid) => uid !== undefined)).toEqual([]);
  expect((await project.certificates()).map(({ name }) => name)).toContain("fairlead-managed");
});

test("the manager has sent every change that it supports, and the cloud has rejected no change", () => {
  const changes = new Set(cluster.sent.filter((operation) => !operation.startsWith("GET ")));
  expect([...changes].toSorted()).toEqual(
    [
      "DELETE /load_balancers/{id}",
      "POST /certificates",
      "POST /load_balancers",
      ...[
        ...["add_service", "add_target", "attach_to_network", "change_algorithm", "change_dns_ptr"],
        ...["change_type", "delete_service", "detach_from_network", "disable_public_interface"],
        ...["enable_public_interface", "remove_target", "update_service"],
      ].map((action) => `POST /load_balancers/{id}/actions/${action}`),
      "POST /networks/{id}/actions/add_route",
      "POST /networks/{id}/actions/delete_route",
      "PUT /load_balancers/{id}",
    ].toSorted(),
  );
  // After a deletion, a lookup proves that the load balancer is gone.
  const isProof = (refusal: string) => refusal.startsWith("GET /load_balancers/{id}: 404 ");
  expect(cluster.refusals.filter((refusal) => !isProof(refusal))).toEqual([]);
});
