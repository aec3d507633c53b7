// Command output when one of several regions does not answer, and when two scopes are the same.

import { afterEach, describe, expect, test } from "bun:test";
import { addServer, type OpenStackCloud } from "../../../providers/openstack/simulator/index.ts";
import { describeObject } from "../../../src/inspect/explain/describe-object.ts";
import { statusViewOf } from "../../../src/inspect/status/status-view.ts";
import type { Node } from "../../../src/kube/objects.ts";
import type { KubeObject } from "../../../src/testing/apiserver/objects/kube-object.ts";
import { resourceNamed } from "../../../src/testing/apiserver/objects/resource-table.ts";
import { toNode } from "../../support/api-server-nodes.ts";
import { uninitialized } from "../../support/node-controllers.ts";
import { OpenStackWorld, type OpenStackWorldOptions, prefix, served } from "./openstack-world.ts";

let current: OpenStackWorld | undefined;
afterEach(() => current?.world.stop());

/** A cluster whose Nodes `near-1` and `far-1` are initialized, with another manager. */
async function settled({
  scope = {},
  isRegional = true,
}: {
  readonly scope?: Readonly<Record<string, string>>;
  readonly isRegional?: boolean;
} = {}) {
  const options: OpenStackWorldOptions = {
    nodes: 0,
    scopes: [{ name: "two", region: "RegionTwo", ...scope }],
    settings: { "regional-provider-ids": String(isRegional) },
  };
  const h = new OpenStackWorld(options);
  current = h;
  const far = h.far;
  if (far === undefined) throw new Error("Expected a second cloud.");
  const join = (name: string, cloud: OpenStackCloud) => {
    addServer(cloud.project, name);
    const node = toNode({ name, uid: `uid-${name}`, spec: { taints: [uninitialized] } });
    const status = { conditions: [{ type: "Ready", status: "True" }] };
    h.world.server.store.put(resourceNamed("nodes"), { ...node, status } as Node as unknown as KubeObject);
  };
  join("near-1", h.cloud);
  join("far-1", far);
  const start = () => h.start("--controllers=cloud-node,cloud-node-lifecycle", "--leader-elect=true");
  return { h, far, start };
}

const fail = (cloud: OpenStackCloud) => cloud.faults.add({ kind: "status", status: 503, calls: 1e9 });

/** The cluster after a first run of the manager. */
async function initialized(options: Parameters<typeof settled>[0] = {}) {
  const all = await settled(options);
  await all.start();
  await all.h.settle(60);
  await all.h.world.stop();
  all.h.world.holdLease("another_1");
  return all;
}

const only = ["--controllers=cloud-node,cloud-node-lifecycle,service"];

describe("while one region of OpenStack does not answer", () => {
  test("plan is incomplete, exits with code 1, and names the scope that does not answer [F76]", async () => {
    const { h, far } = await initialized();
    expect(await h.run("plan", ...only)).toMatchObject({ code: 0 });
    fail(far);
    const { code, out } = await h.run("plan", ...only);
    expect(code).toBe(1);
    expect(out).toContain(
      "The plan is incomplete: the instances of source two were never listed: The cloud did not serve the request (503 from GET http://services-0.example/",
    );
    expect(out).toContain("  Node far-1: problem\n");
    expect(out).not.toContain("near-1");
    expect(out).not.toContain("..");
  });

  test("plan is incomplete even if no server of the scope that does not answer is a Node [F76]", async () => {
    const { h, far } = await initialized();
    for (const node of h.world.server.store.list("nodes"))
      if (node.metadata.name === "far-1") h.world.server.store.remove(resourceNamed("nodes"), node);
    fail(far);
    const { code, out } = await h.run("plan", ...only);
    expect([code, out]).toEqual([1, expect.stringContaining("would be made.\nThe plan is incomplete: ")]);
    const explained = await h.run("explain", ...only);
    expect(explained.code).toBe(1);
    expect(explained.out).toContain(
      "The Nodes and Services that could be evaluated are settled.\n\nNot known: the instances of source two were never listed: ",
    );
  });

  test("explain reports that the Nodes of the region that does not answer are unknown, and that the other Nodes are settled [F91 N7]", async () => {
    const { h, far } = await initialized();
    fail(far);
    const ofFar = await h.run("explain", "node", "far-1", ...only);
    expect(ofFar.code).toBe(3);
    expect(ofFar.out).toStartWith(
      "Node far-1: problem\n  It is Ready. The state of its instance is not known",
    );
    expect(ofFar.out.replaceAll(/\s+/g, " ")).toContain(
      "because requests to source two of the cloud have failed for ",
    );
    expect(ofFar.out.replaceAll(/\s+/g, " ")).toContain(
      "The Node is neither updated nor deleted until they succeed.",
    );
    const ofNear = await h.run("explain", "node", "near-1", ...only);
    expect(ofNear.code).toBe(0);
    expect(ofNear.out).toStartWith("Node near-1: settled\n");
    expect(ofNear.out).not.toContain("What is shown is old");
  });

  test("doctor names the scope that does not answer, and does not report that everything fails", async () => {
    const { h, far } = await initialized();
    fail(far);
    const { out } = await h.run("doctor", ...only);
    const text = out.replaceAll(/\s+/g, " ");
    expect(text).toContain("error: CloudUnavailable Source two did not answer: The cloud did not serve");
    expect(text).toContain(
      "because source two may have a matching instance; --node-match-timeout limits this wait",
    );
    expect(text).not.toContain("new Services get no address");
    fail(h.cloud);
    const both = (await h.run("doctor", ...only)).out.replaceAll(/\s+/g, " ");
    expect(both).toContain("Source Global did not answer: ");
    expect(both).toContain("New Nodes keep their taint, new Services get no address, and changes wait.");
  });

  test("observe mode reports that its summary is incomplete while a region does not answer [N3]", async () => {
    const { h, far, start } = await settled();
    await start();
    await h.settle(60);
    await h.world.stop();
    fail(far);
    await h.start("--controllers=cloud-node,cloud-node-lifecycle", "--mode=observe");
    await h.settle(60);
    expect(h.world.logged.join("\n")).toContain(
      "no changes would be made. This is incomplete: the instances of source two were never listed: ",
    );
  });
});

test("doctor names the section [Scope] whose region is not in the catalog", async () => {
  const { h } = await initialized({ scope: { region: "RegionThree" } });
  const { out } = await h.run("doctor", ...only);
  expect(out.replaceAll(/\s+/g, " ")).toContain(
    'none of them is in region RegionThree. Correct region in [Scope "two"] or os-endpoint-type',
  );
});

describe("a server that two scopes list", () => {
  /** The second region lists the server of `near-1`, as with a section that repeats [Global]. */
  async function twice() {
    const all = await settled({ isRegional: false });
    await all.start();
    await all.h.settle(60);
    const server = all.h.cloud.project.servers.list().find(({ name }) => name === "near-1");
    if (server === undefined) throw new Error("Expected the server.");
    all.far.project.servers.put(server);
    await all.h.settle(1200);
    return { ...all, id: server.id };
  }

  test("reports the Node of a server that two scopes list in events, explain, /status and plan, until only one scope lists it", async () => {
    const { h, far, id } = await twice();
    const text = `Several instances match Node "near-1" by provider ID: openstack:///${id} (near-1) in Global, openstack:///${id} (near-1) in two. The Node is neither updated nor deleted while several match.`;
    const remedy = "If Global and two list the same instances, remove one of them from the cloud settings.";
    expect(h.events("near-1")).toContain(`${text} ${remedy}`);
    expect(h.events("far-1")).not.toContain("Several instances");
    const note = {
      severity: "error",
      reason: "AmbiguousMatch",
      text,
      remedy,
      sinceSeconds: expect.any(Number),
    };
    expect(describeObject(h.world.manager, "Node", "near-1")).toMatchObject({
      state: "problem",
      notes: [note],
    });
    const { nodes } = statusViewOf(h.world.manager);
    expect(nodes.map(({ name, tone }) => `${name} ${tone}`)).toEqual(["near-1 bad", "far-1 good"]);
    const planned = await h.run("plan", ...only);
    expect([planned.code, planned.out]).toEqual([3, expect.stringContaining("  Node near-1: problem\n")]);
    far.project.servers.remove(id);
    await h.settle(1200);
    expect(describeObject(h.world.manager, "Node", "near-1")).toMatchObject({ state: "settled", notes: [] });
  });

  test("keeps the Node of a server that two scopes list when the Node is not Ready", async () => {
    const { h } = await twice();
    h.world.setReady("near-1", "Unknown");
    await h.settle(1200);
    expect(h.world.server.store.get("nodes", undefined, "near-1")).toBeDefined();
    expect(describeObject(h.world.manager, "Node", "near-1")).toMatchObject({ state: "problem" });
  });
});

test("changes load balancers, and keeps targets that may be k3s Nodes, while one region does not answer [F110]", async () => {
  const flags = ["--foreign-nodes=targets"];
  const h = await served({}, { scopes: [{ name: "two", region: "RegionTwo" }] }, ...flags);
  current = h;
  const members = () =>
    h.cloud.balancing.pools.list().flatMap((pool) => pool.members.map(({ name }) => name));
  expect(members()).toEqual(["node-0", "node-1"]);
  await h.world.stop();
  // This Node is in no region.
  const home = toNode({ name: "home", spec: { providerID: "k3s://home" as never } });
  h.world.server.store.put(resourceNamed("nodes"), home as unknown as KubeObject);
  if (h.far !== undefined) fail(h.far);
  await h.start(...flags);
  h.world.server.objects.delete(resourceNamed("nodes"), "", "node-1");
  h.world.annotate("web", { [`${prefix}connection-limit`]: "500" });
  await h.settle(600);
  expect(h.cloud.balancing.listeners.list()).toMatchObject([{ connection_limit: 500 }]);
  expect(members()).toEqual(["node-0", "node-1"]);
  expect(h.events()).toContain(
    "TargetRemovalHeld The load balancer would lose 1 target, which may be the machines of these k3s or RKE2 Nodes, because the cloud has not answered about them: home. It keeps its targets until then.",
  );
  h.far?.faults.clear();
  await h.settle(600);
  expect(members()).toEqual(["node-0"]);
});
