// Hetzner's executable with a real API server and a simulated project over HTTP.

import { afterEach, beforeEach, expect, test } from "bun:test";
import { serveCloud } from "#ccm/testing";
import { type HetznerCloud, HetznerCloud as Project } from "../../providers/hetzner/simulator/index.ts";
import { milliseconds } from "../../src/core/brand.ts";
import type { Service } from "../../src/kube/objects.ts";
import { services } from "../../src/kube/resources.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { type Cluster, openCluster } from "./rig/cluster.ts";
import type { KeptProcess } from "./rig/kept-process.ts";

const executable = process.env["FAIRLEAD_TEST_HETZNER_EXECUTABLE"] ?? "";
const token = "t".repeat(64);
const names = ["node-1", "node-2", "node-3"] as const;

let cluster: Cluster;
let cloud: HetznerCloud;
let served: ReturnType<typeof serveCloud>;

beforeEach(async () => {
  if (executable === "") throw new Error("Run the cluster tests with: npm run test:cluster");
  cluster = await openCluster();
  cloud = new Project({ clock: systemClock, actionTime: milliseconds(200), requestsPerHour: 3600 });
  cloud.tokens.add(token);
  served = serveCloud(cloud, 0);
});
afterEach(async () => {
  await cluster[Symbol.asyncDispose]();
  await served[Symbol.asyncDispose]();
});

/** Uses the Go manager's environment. */
function start(): KeptProcess {
  return cluster.manager({
    executable,
    flags: [
      "--cloud-provider=hcloud",
      "--allow-untagged-cloud",
      "--cluster-cidr=10.244.0.0/16",
      "--absence-confirmation=5s",
      "--removal-limit=off",
    ],
    env: {
      HCLOUD_TOKEN: token,
      HCLOUD_ENDPOINT: `${served.url}/v1`,
      HCLOUD_NETWORK: "cluster",
      HCLOUD_LOAD_BALANCERS_LOCATION: "fsn1",
    },
  });
}

const service = async (): Promise<Service | undefined> =>
  (await cluster.api.list(services)).find(({ metadata }) => metadata.name === "shop");

test("the Hetzner manager handles Nodes, load balancers and routes of a Hetzner project, and restarts without a change [S1 F26 F58]", async () => {
  const { servers, networks, balancers } = cloud.project;
  const network = networks.add("cluster");
  for (const name of names) servers.add(name, { networks: [{ network: network.id }] });
  await Promise.all(
    names.map((name, index) =>
      cluster.join(name, { podCIDR: `10.244.${index}.0/24`, podCIDRs: [`10.244.${index}.0/24`] }),
    ),
  );
  const first = start();
  for (const name of names) {
    const node = await cluster.initialized(name);
    const server = servers.existing(name);
    expect(node.spec.providerID as string).toBe(`hcloud://${server.id}`);
    expect(node.status.addresses).toContainEqual({
      type: "InternalIP",
      address: server.privateNets[0]?.ip ?? "",
    });
  }
  await cluster.until("a route for each Node", () => networks.existing(network.id).routes.length === 3);

  const spec = { type: "LoadBalancer", selector: { app: "shop" }, ports: [{ port: 80, protocol: "TCP" }] };
  const metadata = { name: "shop", namespace: "default" };
  await cluster.api.create(services, { metadata, spec } as never);
  await cluster.until(
    "the address of the Service",
    async () => (await service())?.status.loadBalancer?.ingress?.length,
  );
  expect(balancers.list()[0]?.targets).toHaveLength(3);

  await first.stop(10);
  cloud.forget();
  const second = start();
  await cluster.until("the new leader", () => second.output().includes("Acquired leadership"));
  const accepted = () =>
    cloud.seen.filter(({ mutates, status }) => mutates && status < 400).map(({ operation }) => operation);
  await cluster.until("the listings of the new leader", () =>
    ["GET /servers", "GET /load_balancers", "GET /networks/{id}"].every((listing) =>
      cloud.seen.some(({ operation }) => operation === listing),
    ),
  );
  expect(cloud.seen.filter(({ mutates }) => mutates)).toEqual([]);
  // In this order, because the manager looks up the server when the Node becomes NotReady.
  servers.remove("node-3");
  await cluster.ready("node-3", false);
  await cluster.until("the deletion of the Node", async () => (await cluster.node("node-3")) === undefined);
  await cluster.until("the removal of its route", () => networks.existing(network.id).routes.length === 2);
  // The target is gone with its server. Until the Node is gone, the cloud may reject it as a target.
  expect(accepted().filter((operation) => !operation.endsWith("delete_route"))).toEqual([]);

  await cluster.api.delete(services, metadata);
  await cluster.until("the deletion of the load balancer", () => balancers.list().length === 0);
  await cluster.until("the deletion of the Service", async () => (await service()) === undefined);
});
