// Outages that must not happen when several Services, Terraform, a Go manager or a user at the console change a load balancer.

import { describe, expect, test } from "bun:test";
import { ownerLabel } from "../../../providers/hetzner/marks.ts";
import { shareOf } from "../../../providers/hetzner/sharing.ts";
import { resourceNamed } from "../../../src/testing/apiserver/objects/resource-table.ts";
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

/** The Service `web` is the only Service on Terraform's load balancer. */
async function besideTerraform(): Promise<SharedWorld> {
  const h = new SharedWorld({ nodes: 2 });
  addTerraform(h);
  await h.start("service");
  h.world.create("web", draft({ name: "edge" }, tcp(80)));
  await h.settle();
  return h;
}

describe("A target of Terraform that is a Node", () => {
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

  test("stays when the Service no longer selects the Node, even after a restart [F108 F42]", async () => {
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

  test("keeps the address by which it is reached, whatever the Service requires for its own targets [F108]", async () => {
    const h = await besideNode({ "use-private-ip": "true" }, true);
    expect([h.serversOfTargets, ways(h)]).toEqual([
      ["node-0", "node-1"],
      [false, true],
    ]);
    // With an invalid annotation, the Service's targets keep their settings.
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

describe("A target of Terraform", () => {
  const replaceListener = async (h: SharedWorld, meanwhile: () => void) => {
    const { balancers } = h.cloud.project;
    const isOther = ({ listen_port }: { readonly listen_port: number }) => listen_port !== 6443;
    balancers.change(h.only.id, { services: h.only.services.filter(isOther) });
    meanwhile();
    await h.settle(2400);
    balancers.change(h.only.id, { services: [...h.only.services, listener(6443)] });
    await h.settle(2400);
  };

  test("stays next to a Service without a target, even while its listener is being replaced [F108]", async () => {
    const h = new SharedWorld({ nodes: 2 });
    addTerraform(h);
    await h.start("service");
    h.world.create("web", draft({ name: "edge", "node-selector": "pool=none" }, tcp(80)));
    await h.settle();
    expect([h.ports, h.serversOfTargets]).toEqual([[80, 6443], ["control-plane"]]);
    await replaceListener(h, () => h.world.annotate("web", { [`${prefix}uses-proxyprotocol`]: "true" }));
    expect([h.ports, h.serversOfTargets]).toEqual([[80, 6443], ["control-plane"]]);
  });

  test("is not confused with the target of a Node that joins while its listener is being replaced [F108 F42]", async () => {
    const h = await besideTerraform();
    await replaceListener(h, () => h.addNode("more"));
    expect(h.serversOfTargets).toEqual(["control-plane", "more", "node-0", "node-1"]);
    h.nodeLabels("more", { "node.kubernetes.io/exclude-from-external-load-balancers": "true" });
    await h.settle();
    expect(h.serversOfTargets).toEqual(["control-plane", "node-0", "node-1"]);
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

  test.each(orders)(
    "change no target until the last of %s, %s and %s agrees [F38]",
    async (first, second, last) => {
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
    },
  );
});

describe("A load balancer of one Service beside Terraform", () => {
  test("has no label that covers Terraform's parts [F108]", async () => {
    const h = await besideTerraform();
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

  test("is not joined by another Service, which reports the reason without further requests [F38 F108]", async () => {
    const h = await besideTerraform();
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
  test("keeps the dedicated servers of another Service while Robot does not answer [F38]", async () => {
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

  test("keeps the targets of another Service that is released [F41 F38]", async () => {
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

  test("does not delete the load balancer when another cluster's Go manager has added its label [F38]", async () => {
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

  test("reports that the load balancer stays because another tool uses it [F108]", async () => {
    const h = await besideTerraform();
    h.world.delete("web");
    await h.settle();
    expect(h.events("web")).toContain("ReleasedLoadBalancer");
  });
});

describe("Services that disagree", () => {
  test.each([
    ["ipv4-rdns", "web.example.com", "blog.example.com"],
    ["name", "edge-2", "edge"],
    ["type", "lb21", "lb11"],
  ])("about %s change the load balancer no more than once [F38]", async (name, web, blog) => {
    const h = await SharedWorld.shared();
    h.world.annotate("web", { [prefix + name]: web });
    h.world.annotate("blog", { [prefix + name]: blog });
    await h.settle(600);
    h.forget();
    await h.settle(1800);
    expect(h.changes).toEqual([]);
    expect(h.events("web") + h.events("blog")).toContain(`SharedSettingsDiffer`);
  });

  test("about use-private-ip do not change how dedicated servers are reached [F38]", async () => {
    const h = new SharedWorld({ nodes: 1, hasNetwork: true, robot: "readable" });
    h.addRobotNode("dedicated", { internalIPs: ["10.0.1.5"] });
    h.nodeLabels("node-0", { pool: "cloud" });
    h.nodeLabels("dedicated", { pool: "metal" });
    await h.start("service");
    h.world.create("web", draft(sharing({ "node-selector": "pool=cloud" }), tcp(80)));
    h.world.create("blog", draft(sharing({ "node-selector": "pool=metal" }), tcp(8080)));
    await h.settle(180);
    const { targets } = h.only;
    h.world.annotate("blog", { [`${prefix}use-private-ip`]: "true" });
    h.world.annotate("web", { [`${prefix}uses-proxyprotocol`]: "true" });
    h.forget();
    await h.settle(600);
    expect([h.only.targets, h.changes.filter((one) => one.endsWith("target"))]).toEqual([targets, []]);
  });
});

describe("The ports of a shared load balancer", () => {
  test("are replaced although the load balancer has no room for another port [F38]", async () => {
    const h = await SharedWorld.shared();
    h.world.create("many", draft(sharing(), tcp(5), tcp(6), tcp(7)));
    await h.settle(180);
    h.world.editSpec("blog", { ports: [tcp(8081)] as never });
    await h.settle(180);
    expect(h.ports).toEqual([5, 6, 7, 80, 8081]);
    expect(h.cloud.seen.filter(({ status }) => status === 403)).toEqual([]);
  });

  test("never exceed the limit of the type when more Services join at the same time [F38 N13]", async () => {
    const h = await SharedWorld.open();
    for (let port = 80; port < 87; port += 1) h.world.create(`s${port}`, draft(sharing(), tcp(port)));
    await h.settle(300);
    expect([h.ports.length, h.marks.length]).toEqual([5, 5]);
    expect(h.cloud.seen.filter(({ status }) => status === 403)).toEqual([]);
  });

  test("do not evict a Service whose listener is refused [F38]", async () => {
    const h = await SharedWorld.shared();
    h.world.editSpec("blog", { ports: [tcp(80, 30_777)] as never });
    await h.settle(300);
    expect([h.ports, h.marks]).toEqual([[80], ["0 blog", "80 web"]]);
    expect(h.world.addressesOf("blog")).toHaveLength(2);
    expect(h.events("blog")).toContain("PortConflict");
    h.world.create("shop", draft(sharing(), tcp(8080)));
    await h.settle(300);
    expect([h.ports, h.marks]).toEqual([
      [80, 8080],
      ["0 blog", "80 web", "8080 shop"],
    ]);
  });
});

describe("The targets of a shared load balancer", () => {
  test("stay if a user has added them with a listener just before the Services leave [F108]", async () => {
    const h = await SharedWorld.shared();
    const { balancers, servers } = h.cloud.project;
    const { id, services, targets } = h.only;
    const server = servers.add("control-plane", {}).id;
    balancers.change(id, {
      services: [...services, listener(6443)],
      targets: [...targets, { type: "server", server, usesPrivateIp: false }],
    });
    h.world.delete("web");
    h.world.delete("blog");
    await h.settle(180);
    expect([h.world.find("web"), h.world.find("blog"), h.ports]).toEqual([undefined, undefined, [6443]]);
    expect(h.serversOfTargets).toContain("control-plane");
  });

  test.each([
    ["stays while another Service is about to add it", [{ machine: { source: "hcloud", key: "7" } }], true],
    ["goes when no Service wants it", [], false],
  ])("have a label each that %s [F108]", (_, targets, stays) => {
    const label = "server-7.c.fairlead.dev/target";
    const balancer = {
      name: "edge",
      labels: {
        "80.default.c.fairlead.dev/web": "uid-web_namespace",
        "81.default.c.fairlead.dev/blog": "uid-blog_namespace",
        [label]: "",
      },
      public_net: { enabled: true, ipv4: {}, ipv6: {} },
      private_net: [],
      load_balancer_type: { name: "lb11", max_targets: 25, max_services: 5 },
      algorithm: { type: "round_robin" },
      services: [{ listen_port: 6443, destination_port: 6443 }],
      targets: [],
    };
    const owner = { uid: "uid-web", namespace: "default", name: "web" };
    const settings = { shared: "namespace" };
    const sharers = new Map([["uid-blog", { targets, settings }]]);
    const requested = { owner, ports: [{ protocol: "TCP", port: 80 }], targets: [], settings, sharers };
    const share = shareOf(requested as never, balancer as never, { cluster: "c", operator: {} as never });
    const { labels = balancer.labels } = share?.view({ specs: [], unknown: [] }) ?? {};
    expect(Object.keys(labels).includes(label)).toBe(stays);
  });

  test("stay if a user has added them by label selector [F38]", async () => {
    const h = await SharedWorld.shared();
    const { id, targets } = h.only;
    const selector = { type: "label_selector", selector: "pool=x", usesPrivateIp: false } as const;
    h.cloud.project.balancers.change(id, { targets: [...targets, selector] });
    await h.settle(2400);
    h.world.delete("web");
    await h.settle();
    expect(h.world.find("web")).toBeUndefined();
    expect(h.only.targets).toHaveLength(3);
  });

  test("lose their labels when their servers are deleted [F108]", async () => {
    const h = new SharedWorld({ nodes: 3 });
    addTerraform(h);
    await h.start("service");
    h.world.create("web", draft(sharing(), tcp(80)));
    h.world.create("blog", draft(sharing(), tcp(8080)));
    await h.settle(180);
    const targets = () => Object.keys(h.only.labels).filter((label) => label.endsWith("/target"));
    expect(targets()).toHaveLength(4);
    const { servers } = h.cloud.project;
    const gone = servers.list().find(({ name }) => name === "node-2");
    servers.remove(gone?.id ?? 0);
    h.world.server.store.remove(resourceNamed("nodes"), h.node("node-2") as never);
    await h.settle(2400);
    expect([h.serversOfTargets, targets().length]).toEqual([["control-plane", "node-0", "node-1"], 3]);
  });

  test("follow the Nodes although the uid of the cluster can no longer be read [F38]", async () => {
    let isAllowed = true;
    const h = new SharedWorld({
      nodes: 2,
      authorize: (_, { resource }) => isAllowed || resource !== "namespaces",
    });
    await h.start("service");
    h.world.create("web", draft(sharing(), tcp(80)));
    h.world.create("blog", draft(sharing(), tcp(8080)));
    await h.settle(180);
    isAllowed = false;
    await h.restart();
    h.addNode("more");
    await h.settle(180);
    expect(h.serversOfTargets).toEqual(["more", "node-0", "node-1"]);
  });
});
