// k3s Nodes on cloud servers with --foreign-nodes=targets: the provider id names no server, and never changes.

import { describe, expect, test } from "bun:test";
import { asTransport } from "#ccm/testing";
import { hetzner } from "../../../providers/hetzner/index.ts";
import type { Node } from "../../../src/kube/objects.ts";
import type { KubeObject } from "../../../src/testing/apiserver/objects/kube-object.ts";
import { resourceNamed } from "../../../src/testing/apiserver/objects/resource-table.ts";
import { toNode } from "../../support/api-server-nodes.ts";
import { runCommandIn } from "../../support/command-world.ts";
import { HetznerWorld, type HetznerWorldOptions } from "./hetzner-world.ts";

const flag = "--foreign-nodes=targets";

/** A Node that k3s has initialized. Its InternalIP is the public address of its server unless an address is given. */
function addNode(h: HetznerWorld, name: string, address?: string): number {
  const { id, ipv4 } = h.cloud.project.servers.add(name);
  putNode(h, name, address ?? ipv4 ?? "");
  return id;
}

function putNode(h: HetznerWorld, name: string, address: string): void {
  const labels = { "node.kubernetes.io/instance-type": "k3s" };
  const node = toNode({ name, labels, spec: { providerID: `k3s://${name}` as never } });
  const addresses = [{ type: "InternalIP", address }];
  const metadata = { ...node.metadata, creationTimestamp: "2026-01-01T00:00:00Z" };
  const all = { ...node, metadata, status: { ...node.status, addresses } } as Node;
  h.world.server.store.put(resourceNamed("nodes"), all as unknown as KubeObject);
}

function worldOf(options: HetznerWorldOptions = {}) {
  const h = new HetznerWorld(options);
  const ids = ["k3s-0", "k3s-1", "k3s-2"].map((name) => addNode(h, name));
  return { h, ids };
}

const targets = (h: HetznerWorld) =>
  h.cloud.project.balancers
    .list()
    .flatMap((one) => one.targets.flatMap((target) => (target.type === "server" ? target.server : [])));
const changes = (h: HetznerWorld) => h.requests.filter((one) => !one.startsWith("GET "));

/** A load balancer with three targets. */
async function served(
  controllers = "service,cloud-node,cloud-node-lifecycle",
  options: HetznerWorldOptions = {},
) {
  const { h, ids } = worldOf(options);
  await h.start(controllers, flag);
  h.world.create("web");
  await h.world.pass(120);
  expect(targets(h).toSorted()).toEqual(ids);
  return { h, ids };
}

describe("with --foreign-nodes=targets", () => {
  test.each(["service", "service,cloud-node,cloud-node-lifecycle"])(
    "uses k3s Nodes as targets with --controllers=%s [F110 F75]",
    async (controllers) => {
      const { h } = await served(controllers);
      expect(h.requests.some((one) => one === "GET /servers")).toBe(true);
      const id = addNode(h, "k3s-3");
      await h.world.pass(60);
      expect(targets(h)).toContain(id);
    },
  );

  test("changes nothing for k3s Nodes after a restart, even while servers are not listed for an hour [F110]", async () => {
    const { h, ids } = await served();
    for (const outage of [0, 3600]) {
      await h.world.stop();
      h.forget();
      if (outage > 0)
        h.cloud.faults.add({ kind: "status", status: 503, operation: "GET /servers", calls: 100_000 });
      await h.start("service,cloud-node,cloud-node-lifecycle", flag);
      await h.world.pass(3600);
      expect([targets(h).toSorted(), changes(h), h.world.written]).toEqual([ids, [], []]);
    }
  });

  test("keeps servers as targets that listings hide for less than 30 s after a restart, or for an hour later [F110]", async () => {
    const { h, ids } = await served();
    await h.world.stop();
    h.forget();
    const hide = (seconds: number) => {
      for (const resource of ["k3s-0", "k3s-1", "k3s-2"])
        h.cloud.faults.hide({ resource, from: "listings", milliseconds: seconds * 1000 });
    };
    hide(25);
    await h.start("service,cloud-node,cloud-node-lifecycle", flag);
    await h.world.pass(600);
    hide(3600);
    await h.world.pass(7200);
    expect([targets(h).toSorted(), changes(h)]).toEqual([ids, []]);
    expect(h.nodes()).toHaveLength(3);
  });

  test("excludes a Node outside the cloud from the targets even if a server has its name, and the Node states the reason [F110]", async () => {
    const { h, ids } = worldOf();
    putNode(h, "home", "192.168.1.7");
    addNode(h, "twin", "192.168.1.8");
    await h.start("service,cloud-node", flag);
    h.world.create("web");
    await h.world.pass(180);
    expect(targets(h).toSorted()).toEqual(ids);
    expect(h.world.events("home").join()).toContain("because the cloud has no instance with its name.");
    expect(h.world.events("twin").join()).toContain("has neither an address of the Node (192.168.1.8)");
    expect(h.node("twin").metadata.labels).toEqual({ "node.kubernetes.io/instance-type": "k3s" });
    expect(h.node("k3s-0").metadata.labels).toMatchObject({ "topology.kubernetes.io/region": "fsn1" });
  });

  test("a hostile kubelet with the name and address of another Node's server gets nothing [F110]", async () => {
    const h = new HetznerWorld({ nodes: 1 });
    const server = h.cloud.project.servers.add("database");
    h.cloud.project.servers.change(server.id, {});
    const owner = toNode({ name: "owner", spec: { providerID: `hcloud://${server.id}` as never } });
    const older = { ...owner, metadata: { ...owner.metadata, creationTimestamp: "2020-01-01T00:00:00Z" } };
    h.world.server.store.put(resourceNamed("nodes"), older as unknown as KubeObject);
    putNode(h, "database", server.ipv4 ?? "");
    await h.start("service,cloud-node,cloud-node-lifecycle", flag);
    h.world.create("web");
    await h.world.pass(180);
    expect(h.world.events("database").join()).toContain("belongs to Node owner");
    expect(h.node("database").metadata.labels).toEqual({ "node.kubernetes.io/instance-type": "k3s" });
    h.world.removeNode("database");
    await h.world.pass(180);
    expect(targets(h)).toContain(server.id);
  });
});

test("explain and plan show the findings, and plan changes nothing [F110]", async () => {
  const { h } = worldOf();
  putNode(h, "home", "192.168.1.7");
  const run = (...args: readonly string[]) =>
    runCommandIn(h.world, [...args, "--master=http://test-api-server", "--config-set=token=hetzner", flag], {
      provider: hetzner,
      cloud: asTransport(h.cloud),
    });
  h.cloud.tokens.add("hetzner");
  h.world.create("web");
  const planned = await run(
    "plan",
    "--controllers=service,cloud-node",
    "--config-set=load-balancers-location=fsn1",
  );
  expect(planned.out).toContain("label topology.kubernetes.io/region");
  expect(planned.out).toContain("create load balancer");
  expect(changes(h)).toEqual([]);
  const { out } = await run("explain", "node", "k3s-0");
  expect(out.replaceAll(/\s+/g, " ")).toContain("Its name identifies the instance k3s-0");
  const home = await run("explain", "node", "home");
  expect(home.out.replaceAll(/\s+/g, " ")).toContain("because the cloud has no instance with its name.");
});

test("a gauge counts the k3s Nodes by finding [F110]", async () => {
  const { h } = worldOf();
  putNode(h, "home", "192.168.1.7");
  await h.start("service,cloud-node", flag);
  await h.world.pass(60);
  expect(h.world.manager.report().foreignNodes.toSorted()).toEqual([
    "matched",
    "matched",
    "matched",
    "unmatched",
  ]);
});

test("ignores k3s Nodes by default [F110]", async () => {
  const { h } = worldOf();
  await h.start("*");
  h.world.create("web");
  await h.world.pass(180);
  expect(targets(h)).toEqual([]);
  expect(h.world.written.filter((one) => one.includes("/nodes/"))).toEqual([]);
});
