// What must not happen on a load balancer that several Services, Terraform, a Go manager or a user at the console change.

import { describe, expect, test } from "bun:test";
import { ownerLabel } from "../../../providers/hetzner/marks.ts";
import { addTerraform, draft, listener, prefix, SharedWorld, sharing, tcp } from "./shared-world.ts";

/** The load balancer of Terraform, whose target is the Node `node-0`, as in a cluster of k3s. */
async function besideNode(annotations: Readonly<Record<string, string>> = {}, hasNetwork = false) {
  const h = new SharedWorld({ nodes: 2, hasNetwork });
  const [server] = h.cloud.project.servers.list();
  h.cloud.project.balancers.add("edge", {
    labels: { team: "platform" },
    services: [listener(6443)],
    targets: [{ type: "server", server: server?.id ?? 0, usesPrivateIp: false }],
  });
  await h.start("service");
  h.world.create("web", draft({ name: "edge", ...annotations }, tcp(80)));
  await h.settle(180);
  return h;
}

const ways = (h: SharedWorld) => h.only.targets.map((one) => one.type === "server" && one.usesPrivateIp);

describe("A target of Terraform that is a Node too", () => {
  test("stays when the Service is deleted [F108]", async () => {
    const h = await besideNode();
    expect([h.ports, h.serversOfTargets]).toEqual([
      [80, 6443],
      ["node-0", "node-1"],
    ]);
    h.world.delete("web");
    await h.settle();
    expect([h.ports, h.serversOfTargets, h.only.labels]).toEqual([[6443], ["node-0"], { team: "platform" }]);
  });

  test("stays when the Service does not select the Node any more, also after a restart [F108 F42]", async () => {
    const h = await besideNode();
    h.nodeLabels("node-0", { "node.kubernetes.io/exclude-from-external-load-balancers": "true" });
    await h.settle();
    await h.restart();
    expect(h.serversOfTargets).toEqual(["node-0", "node-1"]);
    h.nodeLabels("node-1", { "node.kubernetes.io/exclude-from-external-load-balancers": "true" });
    await h.settle();
    expect(h.serversOfTargets).toEqual(["node-0"]);
    await h.settle(1800);
    h.forget();
    await h.settle(1800);
    expect(h.changes).toEqual([]);
  });

  test("stays reached as it was, whatever the Service needs for its own [F108]", async () => {
    const h = await besideNode({ "use-private-ip": "true" }, true);
    expect([h.serversOfTargets, ways(h)]).toEqual([
      ["node-0", "node-1"],
      [false, true],
    ]);
    // An invalid annotation keeps what the targets of the Service have.
    h.world.annotate("web", { [`${prefix}use-private-ip`]: "perhaps" });
    h.forget();
    await h.settle(180);
    expect([ways(h), h.changes]).toEqual([[false, true], []]);
  });

  test("stays while the listener of Terraform is being replaced [F108]", async () => {
    const h = await besideNode();
    h.cloud.project.balancers.change(h.only.id, {
      services: h.only.services.filter(({ listen_port }) => listen_port !== 6443),
    });
    await h.settle(2400);
    h.nodeLabels("node-0", { "node.kubernetes.io/exclude-from-external-load-balancers": "true" });
    await h.restart();
    expect(h.serversOfTargets).toEqual(["node-0", "node-1"]);
    h.world.delete("web");
    await h.settle();
    expect(h.world.find("web")).toBeUndefined();
    expect([h.serversOfTargets, h.ports, h.only.labels]).toEqual([["node-0"], [], { team: "platform" }]);
    expect(h.events("web")).toContain("ReleasedLoadBalancer");
  });
});

describe("Services that disagree about use-private-ip", () => {
  const open = async () => {
    const h = await SharedWorld.shared({ hasNetwork: true });
    h.world.create("shop", draft(sharing(), tcp(81)));
    await h.settle();
    h.forget();
    return h;
  };
  const change = (h: SharedWorld, name: string) =>
    h.world.annotate(name, { [`${prefix}use-private-ip`]: "true" });
  const orders = [
    ["web", "blog", "shop"],
    ["shop", "web", "blog"],
    ["blog", "shop", "web"],
  ] as const;

  test.each(orders)("change no target until the last one of %s, %s, %s agrees [F38]", async (first, second, last) => {
    const h = await open();
    for (const name of [first, second]) {
      change(h, name);
      await h.settle(300);
      expect([ways(h), h.changes]).toEqual([[false, false], []]);
      expect(h.events(name)).toContain("has use-private-ip false, and the Service needs true");
    }
    change(h, last);
    await h.settle(300);
    expect(ways(h)).toEqual([true, true]);
    h.forget();
    await h.settle(1800);
    expect(h.changes).toEqual([]);
  });
});

describe("A load balancer of one Service beside Terraform", () => {
  test("has no label that covers what Terraform has [F108]", async () => {
    const h = new SharedWorld({ nodes: 2 });
    addTerraform(h);
    await h.start("service");
    h.world.create("web", draft({ name: "edge" }, tcp(80)));
    await h.settle();
    expect(h.only.labels[ownerLabel]).toBeUndefined();
    // A user removes the labels of Fairlead that a Go manager does not know.
    const { labels } = h.only;
    const kept = Object.entries(labels).filter(([key]) => !key.includes("fairlead.dev"));
    h.cloud.project.balancers.change(h.only.id, { labels: Object.fromEntries(kept) });
    await h.settle(2400);
    expect([h.ports, h.serversOfTargets]).toEqual([
      [80, 6443],
      ["control-plane", "node-0", "node-1"],
    ]);
  });

  test("is not joined, and the other Service says why, without a request at rest [F38 F108]", async () => {
    const h = new SharedWorld({ nodes: 2 });
    addTerraform(h);
    await h.start("service");
    h.world.create("web", draft({ name: "edge" }, tcp(80)));
    await h.settle();
    h.world.create("late", draft(sharing(), tcp(81)));
    await h.settle();
    expect(h.events("late")).toContain("is used by default/web, without load-balancer.hetzner.cloud/shared.");
    h.forget();
    await h.settle(1800);
    expect(h.requests.filter((one) => one !== "GET /load_balancers" && one !== "GET /servers")).toEqual([]);
  });

  test("is served although a target has an IPv6 address [F108]", async () => {
    const h = new SharedWorld({ nodes: 1, hasNetwork: true, robot: "readable" });
    addTerraform(h);
    h.addRobotNode("dedicated", { internalIPs: ["fd00::5"] });
    await h.start("service");
    h.world.create("web", draft({ name: "edge", "use-private-ip": "true" }, tcp(80)));
    await h.settle(300);
    expect(h.ports).toEqual([80, 6443]);
    expect(h.events("web")).not.toContain("must be valid labels");
  });
});

describe("A Service that shares a load balancer", () => {
  test("keeps the dedicated servers of another one while Robot does not answer [F38]", async () => {
    const h = new SharedWorld({ nodes: 1, robot: "readable" });
    h.addRobotNode("dedicated");
    h.nodeLabels("node-0", { pool: "cloud" });
    h.nodeLabels("dedicated", { pool: "metal" });
    await h.start("service");
    h.world.create("web", draft(sharing({ "node-selector": "pool=cloud" }), tcp(80)));
    h.world.create("blog", draft(sharing({ "node-selector": "pool=metal" }), tcp(8080)));
    await h.settle(180);
    expect(h.serversOfTargets).toEqual(["ip", "node-0"]);
    await h.world.stop();
    for (const operation of ["robot GET /server", "robot GET /server/{id}"])
      h.cloud.faults.add({ kind: "refused", operation, calls: 10_000 });
    h.forget();
    await h.start("service");
    await h.settle(180);
    expect(h.serversOfTargets).toEqual(["ip", "node-0"]);
    expect(h.changes).not.toContain("remove_target");
  });

  test("keeps the targets of another one that is released [F41 F38]", async () => {
    const h = await SharedWorld.open();
    h.nodeLabels("node-0", { pool: "a" });
    h.nodeLabels("node-1", { pool: "b" });
    h.world.create("web", draft(sharing({ "node-selector": "pool=a" }), tcp(80)));
    h.world.create("blog", draft(sharing({ "node-selector": "pool=b" }), tcp(8080)));
    await h.settle();
    h.world.annotate("blog", { "fairlead.dev/on-delete": "release" });
    await h.settle();
    // While it cannot be released, the other one plans.
    h.cloud.faults.add({ kind: "status", status: 503, operation: "PUT /load_balancers/{id}", calls: 3 });
    h.world.delete("blog");
    h.world.annotate("web", { [`${prefix}uses-proxyprotocol`]: "true" });
    await h.settle(600);
    expect(h.world.find("blog")).toBeUndefined();
    expect([h.ports, h.serversOfTargets]).toEqual([
      [80, 8080],
      ["node-0", "node-1"],
    ]);
  });

  test("does not delete it when a Go manager of another cluster has put its label there [F38]", async () => {
    const h = await SharedWorld.open();
    h.world.create("web", draft(sharing(), tcp(80)));
    await h.settle();
    const { id, labels } = h.only;
    h.cloud.project.balancers.change(id, { labels: { ...labels, [ownerLabel]: "uid-of-another-cluster" } });
    await h.settle(2400);
    h.world.delete("web");
    await h.settle(180);
    expect(h.world.find("web")).toBeUndefined();
    expect([h.only.id, h.only.labels]).toEqual([id, { [ownerLabel]: "uid-of-another-cluster" }]);
  });

  test("says that the load balancer stays for what something else has put there [F108]", async () => {
    const h = new SharedWorld({ nodes: 2 });
    addTerraform(h);
    await h.start("service");
    h.world.create("web", draft({ name: "edge" }, tcp(80)));
    await h.settle();
    h.world.delete("web");
    await h.settle();
    expect(h.events("web")).toContain("ReleasedLoadBalancer");
  });
});
