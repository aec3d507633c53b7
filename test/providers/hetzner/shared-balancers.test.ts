// Several Services on one load balancer, and Services beside what Terraform has put there, with a whole manager.

import { describe, expect, test } from "bun:test";
import { ownerLabel } from "../../../providers/hetzner/marks.ts";
import { milliseconds, seconds } from "../../../src/core/brand.ts";
import { describeObject } from "../../../src/inspect/explain/describe-object.ts";
import { resourceNamed } from "../../../src/testing/apiserver/objects/resource-table.ts";
import { addTerraform, draft, listener, prefix, SharedWorld, sharing, tcp } from "./shared-world.ts";

describe("Services that agree to share", () => {
  test("share one load balancer, whichever Service is first, and have its address [F38 N13]", async () => {
    const h = await SharedWorld.shared();
    expect(h.only.name).toBe("edge");
    expect([h.ports, h.marks, h.only.targets.length]).toEqual([[80, 8080], ["80 web", "8080 blog"], 2]);
    expect(h.only.labels[ownerLabel]).toBeUndefined();
    expect(h.world.addressesOf("blog")).toEqual(h.world.addressesOf("web") as string[]);
    expect(h.world.addressesOf("web")).toHaveLength(2);
    await h.settle(1800);
    expect(h.changes).toEqual([]);
  });

  test("cause no change after a restart [F38]", async () => {
    const h = await SharedWorld.shared();
    await h.restart();
    expect(h.changes).toEqual([]);
    expect(h.world.written.filter((what) => !what.includes("/events"))).toEqual([]);
  });

  test("leave one after the other, and the last Service deletes the load balancer [F38 N13]", async () => {
    const h = await SharedWorld.shared();
    h.world.delete("web");
    await h.settle();
    expect(h.world.find("web")).toBeUndefined();
    expect([h.ports, h.marks]).toEqual([[8080], ["8080 blog"]]);
    expect(h.changes).not.toContain("DELETE");
    expect(h.serversOfTargets).toEqual(["node-0", "node-1"]);
    expect(h.events("web")).toContain(
      `DeletedLoadBalancer Left load balancer edge (${h.only.id}): other Services still use it`,
    );
    h.world.delete("blog");
    await h.settle();
    expect([h.world.find("blog"), h.all]).toEqual([undefined, []]);
    expect(h.events("blog")).toContain("DeletedLoadBalancer Deleted load balancer");
  });

  test("report whether the load balancer stays or was deleted, even after a Service has joined again [F38]", async () => {
    const h = await SharedWorld.shared();
    h.world.editSpec("web", { type: "ClusterIP" });
    await h.settle();
    expect(h.events("web")).toContain("Left load balancer edge");
    expect(h.events("web")).not.toContain("Deleted load balancer");
    h.world.editSpec("web", { type: "LoadBalancer" });
    await h.settle();
    h.world.delete("blog");
    await h.settle();
    h.world.editSpec("web", { type: "ClusterIP" });
    await h.settle();
    expect(h.all).toEqual([]);
    expect(h.events("web")).toContain("DeletedLoadBalancer Deleted load balancer");
  });

  test("leave at the same time, and no load balancer is left [F38]", async () => {
    const h = await SharedWorld.shared();
    h.world.delete("web");
    h.world.delete("blog");
    await h.settle(180);
    expect([h.world.find("web"), h.world.find("blog"), h.all]).toEqual([undefined, undefined, []]);
  });

  test("change only their own ports [F38]", async () => {
    const h = await SharedWorld.shared();
    h.world.editSpec("blog", { ports: [tcp(8081)] as never });
    await h.settle();
    expect([h.ports, h.marks]).toEqual([
      [80, 8081],
      ["80 web", "8081 blog"],
    ]);
    expect(h.only.services.find(({ listen_port }) => listen_port === 80)?.destination_port).toBe(30_080);
  });

  test("have the union of their targets, and the last Service that stops needing a target removes it [F38]", async () => {
    const h = await SharedWorld.open({ nodes: 3 });
    for (const [name, pool] of [["node-0", "a"] as const, ["node-1", "b"] as const, ["node-2", "b"] as const])
      h.nodeLabels(name, { pool });
    const select = (pool: string) => sharing({ "node-selector": `pool in (${pool})` });
    h.world.create("web", draft(select("a,b"), tcp(80)));
    h.world.create("blog", draft(select("b"), tcp(8080)));
    await h.settle();
    expect(h.serversOfTargets).toEqual(["node-0", "node-1", "node-2"]);
    h.world.annotate("web", { [`${prefix}node-selector`]: "pool in (a)" });
    await h.settle();
    expect(h.serversOfTargets).toEqual(["node-0", "node-1", "node-2"]);
    h.world.annotate("blog", { [`${prefix}node-selector`]: "pool in (none)" });
    await h.settle();
    expect(h.serversOfTargets).toEqual(["node-0"]);
    h.nodeLabels("node-0", { pool: "c" });
    await h.world.stop();
    await h.start("service");
    await h.settle();
    expect(h.serversOfTargets).toEqual([]);
  });

  test("add a Node that joins once, and remove a Node that leaves [F38 F42]", async () => {
    const h = await SharedWorld.shared();
    h.addNode("more");
    await h.settle();
    expect(h.serversOfTargets).toEqual(["more", "node-0", "node-1"]);
    // The cloud refuses the second one while the first one runs.
    expect(h.cloud.seen.filter(({ mutates, status }) => mutates && status < 400)).toHaveLength(1);
    expect(h.events("web") + h.events("blog")).not.toContain("locked");
    h.nodeLabels("more", { "node.kubernetes.io/exclude-from-external-load-balancers": "true" });
    await h.settle();
    expect(h.serversOfTargets).toEqual(["node-0", "node-1"]);
  });

  test("send one request for a Node that joins, when the cloud changes targets immediately [F38]", async () => {
    const h = await SharedWorld.shared({ actionTime: milliseconds(0) });
    h.addNode("more");
    await h.settle();
    expect(h.serversOfTargets).toEqual(["more", "node-0", "node-1"]);
    expect(h.changes).toEqual(["add_target"]);
  });

  test("keep the targets of a paused Service, and report the pause [F38]", async () => {
    const h = await SharedWorld.shared();
    h.nodeLabels("node-1", { pool: "x" });
    h.world.annotate("web", { "fairlead.dev/paused": "true", [`${prefix}node-selector`]: "pool notin (x)" });
    h.world.annotate("blog", { [`${prefix}node-selector`]: "pool notin (x)" });
    await h.settle();
    expect(h.serversOfTargets).toEqual(["node-0", "node-1"]);
    expect(h.events("blog")).toContain(
      "keeps targets that this Service does not need (1), because the needs of default/web are unknown",
    );
    expect(h.events("web")).toContain("default/blog may still change the other parts.");
    h.world.annotate("web", { "fairlead.dev/paused": undefined });
    await h.settle();
    expect(h.serversOfTargets).toEqual(["node-0"]);
  });

  test("refuse a port of another Service until that Service removes it [F38]", async () => {
    const h = await SharedWorld.shared();
    h.world.create("late", draft(sharing(), tcp(8080, 30_777)));
    await h.settle();
    expect(h.events("late")).toContain(
      "has other listeners on port 8080 (of default/blog). The Service does not join it. Use other ports, or remove those listeners.",
    );
    expect(h.world.addressesOf("late")).toEqual([]);
    h.world.delete("blog");
    await h.settle(300);
    expect([h.ports, h.marks]).toEqual([
      [80, 8080],
      ["80 web", "8080 late"],
    ]);
    expect(h.world.addressesOf("late")).toEqual(h.world.addressesOf("web") as string[]);
  });

  test("exchange their ports [F38]", async () => {
    const h = await SharedWorld.shared();
    h.world.editSpec("web", { ports: [tcp(8080, 30_080)] as never });
    h.world.editSpec("blog", { ports: [tcp(80, 31_080)] as never });
    await h.settle(600);
    expect(h.marks).toEqual(["80 blog", "8080 web"]);
    expect(h.only.services.map((one) => [one.listen_port, one.destination_port]).toSorted()).toEqual([
      [80, 31_080],
      [8080, 30_080],
    ]);
  });

  test("serve their other ports while one port is taken [F38]", async () => {
    const h = await SharedWorld.shared();
    h.world.editSpec("blog", { ports: [tcp(8080), tcp(80, 30_777), tcp(8443)] as never });
    await h.settle();
    expect(h.ports).toEqual([80, 8080, 8443]);
    expect(h.only.services.find(({ listen_port }) => listen_port === 80)?.destination_port).toBe(30_080);
    expect(h.events("blog")).toContain("on port 80 (of default/web). These ports are not served");
  });

  test("count the ports of all Services before the limit of the type is reached [F38 N13]", async () => {
    const h = await SharedWorld.shared();
    h.world.create("many", draft(sharing(), tcp(5), tcp(6), tcp(7), tcp(8)));
    await h.settle();
    expect(h.events("many")).toContain("there is no room for port 8. The Service does not join it.");
    h.world.editSpec("blog", { ports: [8080, 1, 2, 3, 4].map((port) => tcp(port)) as never });
    await h.settle();
    expect(h.ports).toEqual([1, 2, 3, 80, 8080]);
    expect(h.events("blog")).toContain("there is no room for port 4. These ports are not served");
    expect(h.cloud.seen.filter(({ status }) => status === 403)).toEqual([]);
  });

  test("count the targets of all Services before the limit of the type is reached [F38 F44]", async () => {
    const h = await SharedWorld.open({ nodes: 40 });
    for (let index = 0; index < 40; index += 1)
      h.nodeLabels(`node-${index}`, { pool: index < 20 ? "a" : "b" });
    const select = (pool: string) => sharing({ "node-selector": `pool=${pool}` });
    h.world.create("web", draft(select("a"), tcp(80)));
    h.world.create("blog", draft(select("b"), tcp(8080)));
    await h.settle(600);
    expect(h.only.targets).toHaveLength(25);
    expect(h.cloud.seen.filter(({ status }) => status === 403)).toEqual([]);
    expect(h.events("web") + h.events("blog")).toContain("its type lb11 accepts 25");
  });

  test("name the Service whose setting another Service contradicts, and apply the setting when all Services agree [F38]", async () => {
    const h = await SharedWorld.shared();
    h.world.annotate("web", { [`${prefix}algorithm-type`]: "least_connections" });
    await h.settle();
    expect(h.only.algorithm).toBe("round_robin");
    expect(h.events("web")).toContain(
      'has algorithm-type "round_robin", and the Service needs "least_connections", which default/blog does not request. It stays as it is.',
    );
    h.world.create("late", draft(sharing({ "algorithm-type": "least_connections" }), tcp(81)));
    await h.settle();
    expect(h.events("late")).toContain("The Service does not join it.");
    h.world.annotate("blog", { [`${prefix}algorithm-type`]: "least_connections" });
    await h.settle(300);
    expect(h.only.algorithm).toBe("least_connections");
    expect(h.ports).toEqual([80, 81, 8080]);
  });

  test("do not join a load balancer with a public interface when one of the Services disables that interface", async () => {
    const h = await SharedWorld.shared({ hasNetwork: true });
    h.world.create(
      "private",
      draft(sharing({ "disable-public-network": "true", "use-private-ip": "true" }), tcp(81)),
    );
    await h.settle();
    expect(h.world.addressesOf("private")).toEqual([]);
    expect(h.events("private")).toContain("has disable-public-network false, and the Service needs true");
  });

  test("have the ipMode of their own ports [F38]", async () => {
    const h = await SharedWorld.shared();
    h.world.annotate("blog", { [`${prefix}uses-proxyprotocol`]: "true" });
    await h.settle();
    const modes = (name: string) =>
      h.world.get(name).status.loadBalancer?.ingress?.map(({ ipMode }) => ipMode);
    expect([modes("web"), modes("blog")]).toEqual([
      ["VIP", "VIP"],
      ["Proxy", "Proxy"],
    ]);
  });
});

describe("A Service without the agreement to share", () => {
  test.each([
    ["has no annotation", {}],
    ["has an invalid annotation", { shared: "everybody" }],
  ])("gets no share of a load balancer by its name alone: it %s [F38]", async (_, more) => {
    const h = await SharedWorld.shared();
    h.world.create("evil", draft({ name: "edge", ...more }, tcp(443)));
    await h.settle();
    expect([h.ports, h.marks]).toEqual([
      [80, 8080],
      ["80 web", "8080 blog"],
    ]);
    expect(h.world.addressesOf("evil")).toEqual([]);
  });

  test("keeps its load balancer to itself [F38]", async () => {
    const h = await SharedWorld.open();
    h.world.create("web", draft({ name: "edge" }, tcp(80)));
    await h.settle();
    const before = h.only;
    h.world.create("evil", draft(sharing({ shared: "cluster" }), tcp(443)));
    await h.settle();
    expect(h.only).toEqual(before);
    expect(h.events("evil")).toContain("The project has another load balancer with the name edge");
    // Now it agrees, and the address stays.
    h.world.annotate("web", { [`${prefix}shared`]: "cluster" });
    await h.settle(1000);
    expect([h.ports, h.marks]).toEqual([
      [80, 443],
      ["443 evil", "80 web"],
    ]);
    expect([h.only.id, h.only.ipv4]).toEqual([before.id, before.ipv4]);
    expect(h.only.labels[ownerLabel]).toBeUndefined();
  });

  test("that stops sharing keeps its ports, and lets no other Service join [F38]", async () => {
    const h = await SharedWorld.shared();
    h.world.annotate("web", { [`${prefix}shared`]: undefined });
    await h.settle();
    expect(h.events("web")).toContain("is still shared with default/blog, although");
    h.world.create("late", draft(sharing(), tcp(81)));
    await h.settle();
    expect(h.events("late")).toContain("is used by default/web, without load-balancer.hetzner.cloud/shared.");
    expect(h.ports).toEqual([80, 8080]);
    h.world.delete("blog");
    await h.settle();
    expect([h.ports, h.marks, h.only.labels[ownerLabel]]).toEqual([[80], ["80 web"], undefined]);
  });
});

describe("A load balancer of Terraform", () => {
  test.each(["without sharing", "with sharing"])(
    "keeps its port, target and labels when a Service adopts it and leaves it: %s [F108]",
    async (how) => {
      const h = new SharedWorld({ nodes: 2 });
      const { id } = addTerraform(h);
      await h.start("service");
      h.forget();
      h.world.create("web", draft(how === "with sharing" ? sharing() : { name: "edge" }, tcp(80)));
      await h.settle();
      const control = ["control-plane", "node-0", "node-1"];
      expect([h.only.id, h.ports, h.serversOfTargets]).toEqual([id, [80, 6443], control]);
      expect(h.only.labels["team"]).toBe("platform");
      h.world.editSpec("web", { ports: [tcp(81)] as never });
      await h.settle();
      expect(h.ports).toEqual([81, 6443]);
      await h.restart();
      expect([h.ports, h.serversOfTargets]).toEqual([[81, 6443], control]);
      h.world.delete("web");
      await h.settle();
      expect(h.world.find("web")).toBeUndefined();
      expect([h.only.id, h.ports, h.serversOfTargets]).toEqual([id, [6443], ["control-plane"]]);
      expect(h.only.labels).toEqual({ team: "platform" });
    },
  );

  test("is not taken by a Service that needs one of its ports, and the Service names the owner [F108]", async () => {
    const h = new SharedWorld({ nodes: 2 });
    addTerraform(h);
    await h.start("service");
    h.forget();
    h.world.create("evil", draft({ name: "edge" }, tcp(6443)));
    await h.settle();
    expect(h.changes).toEqual([]);
    expect(h.events("evil")).toContain(
      "has other listeners on port 6443 (that no label of a Service covers, and that forwards to port 6443). The Service does not join it.",
    );
    h.cloud.project.balancers.change(h.only.id, { services: [] });
    await h.settle(2400);
    expect([h.ports, h.world.addressesOf("evil").length]).toEqual([[6443], 2]);
  });

  test("is adopted as before if it forwards to node ports only, like a load balancer that another cluster released [F39 F41]", async () => {
    const h = new SharedWorld({ nodes: 2 });
    h.cloud.project.balancers.add("edge", { services: [listener(80, 31_111)] });
    await h.start("service");
    h.world.create("web", draft({ name: "edge" }, tcp(80)));
    await h.settle();
    expect(h.only.labels).toEqual({ [ownerLabel]: h.world.get("web").metadata.uid });
    expect(h.only.services.map(({ destination_port }) => destination_port)).toEqual([30_080]);
  });

  test("keeps its type and algorithm, and a Service that requires a different type or algorithm does not join it [F108]", async () => {
    const h = new SharedWorld({ nodes: 2 });
    addTerraform(h);
    await h.start("service");
    h.world.create("web", draft({ name: "edge", type: "lb31" }, tcp(80)));
    await h.settle();
    expect(h.only.type).toBe("lb11");
    expect(h.events("web")).toContain(
      'has type "lb11", and the Service needs "lb31", and something other than a Service uses it',
    );
    h.world.annotate("web", { [`${prefix}type`]: "lb11" });
    await h.settle();
    expect(h.ports).toEqual([80, 6443]);
  });

  test("keeps its targets while its listener is being replaced, and loses the targets of Nodes that leave [F108 F42]", async () => {
    const h = new SharedWorld({ nodes: 3 });
    addTerraform(h);
    await h.start("service");
    h.world.create("web", draft({ name: "edge" }, tcp(80)));
    await h.settle();
    const { balancers } = h.cloud.project;
    const { services } = h.only;
    balancers.change(h.only.id, { services: services.filter(({ listen_port }) => listen_port !== 6443) });
    await h.settle(2400);
    h.nodeLabels("node-2", { "node.kubernetes.io/exclude-from-external-load-balancers": "true" });
    await h.restart();
    expect(h.serversOfTargets).toEqual(["control-plane", "node-0", "node-1"]);
    balancers.change(h.only.id, { services });
    await h.settle(2400);
    expect([h.ports, h.serversOfTargets]).toEqual([
      [80, 6443],
      ["control-plane", "node-0", "node-1"],
    ]);
  });

  test("keeps the addresses by which its targets are reached, whatever the Service needs for its own targets [F108]", async () => {
    const h = new SharedWorld({ nodes: 2, hasNetwork: true });
    const { id } = addTerraform(h);
    await h.start("service");
    h.world.create("web", draft({ name: "edge", "use-private-ip": "true" }, tcp(80)));
    await h.settle(180);
    const ways = () => h.only.targets.map((one) => one.type === "server" && one.usesPrivateIp);
    expect([h.only.id, ways()]).toEqual([id, [false, true, true]]);
    h.world.annotate("web", { [`${prefix}use-private-ip`]: "false" });
    await h.settle(180);
    expect(ways()).toEqual([false, false, false]);
  });

  test("that is in another network stays there [F108]", async () => {
    const h = new SharedWorld({ nodes: 1, hasNetwork: true });
    const { id } = addTerraform(h);
    const { networks, balancers } = h.cloud.project;
    const other = networks.add("other").id;
    const ip = networks.reserve(other, { type: "load_balancer", id }, { zone: "eu-central" });
    balancers.change(id, { privateNets: [{ network: other, ip }] });
    await h.start("service");
    h.world.create("web", draft({ name: "edge" }, tcp(80)));
    await h.settle();
    expect(h.only.privateNets).toEqual([{ network: other, ip }]);
    expect(h.ports).toEqual([80, 6443]);
  });

  test("that gets a listener from a user after Services share it stays with this listener [F108]", async () => {
    const h = await SharedWorld.shared();
    h.cloud.project.balancers.change(h.only.id, { services: [...h.only.services, listener(6443)] });
    await h.settle(2400);
    expect(h.ports).toEqual([80, 6443, 8080]);
    h.world.delete("web");
    h.world.delete("blog");
    await h.settle(180);
    expect([h.world.find("web"), h.world.find("blog")]).toEqual([undefined, undefined]);
    expect([h.ports, h.marks]).toEqual([[6443], []]);
  });
});

describe("A Service with the name of an earlier Service", () => {
  test("gets its ports back, although the earlier Service vanished while no manager ran [F38]", async () => {
    const h = await SharedWorld.shared();
    await h.world.stop();
    const { server } = h.world;
    const blog = server.store.get("services", "default", "blog");
    if (blog !== undefined) server.store.remove(resourceNamed("services"), blog);
    h.world.create("blog", draft(sharing(), tcp(8080, 30_778)));
    await h.start("service");
    await h.settle(180);
    expect([h.ports, h.marks]).toEqual([
      [80, 8080],
      ["80 web", "8080 blog"],
    ]);
    const { uid } = h.world.get("blog").metadata;
    expect(Object.values(h.only.labels)).toContain(`${uid}_namespace`);
    expect(h.only.services.find(({ listen_port }) => listen_port === 8080)?.destination_port).toBe(30_778);
    expect(h.world.addressesOf("blog")).toEqual(h.world.addressesOf("web") as string[]);
  });
});

describe("A load balancer that Services share", () => {
  test("is not deleted for the last Service if a user adds a port just before [F108]", async () => {
    const h = await SharedWorld.shared();
    h.world.delete("blog");
    await h.settle();
    const { balancers } = h.cloud.project;
    const { id, services } = h.only;
    // Between the plan, which deletes the load balancer, and the reading of its labels.
    h.world.onCrossing = (what) => {
      if (!what.endsWith(`/load_balancers/${id}`)) return;
      h.world.onCrossing = undefined;
      balancers.change(id, { services: [...services, listener(6443)] });
    };
    h.world.delete("web");
    await h.settle(180);
    expect([h.world.find("web"), h.ports]).toEqual([undefined, [6443]]);
  });

  test("is released by one Service without a change for the other Services [F41 F38]", async () => {
    const h = await SharedWorld.shared();
    h.world.annotate("blog", { "fairlead.dev/on-delete": "release" });
    h.world.delete("blog");
    await h.settle();
    expect([h.world.find("blog"), h.ports, h.marks]).toEqual([undefined, [80, 8080], ["80 web"]]);
    expect(h.events("blog")).toContain("Left load balancer edge");
  });

  test("gets its marks back when Terraform removes all labels [F38]", async () => {
    const h = await SharedWorld.shared();
    h.cloud.project.balancers.change(h.only.id, { labels: {} });
    await h.settle(2400);
    expect([h.ports, h.marks]).toEqual([
      [80, 8080],
      ["80 web", "8080 blog"],
    ]);
  });

  test("is repaired after a Go manager has adopted it for one of the Services [F38]", async () => {
    const h = await SharedWorld.shared();
    const { uid } = h.world.get("web").metadata;
    const { balancers } = h.cloud.project;
    // It finds the load balancer by the name, adds its label, and deletes the listeners of the others.
    await h.world.stop();
    balancers.change(h.only.id, {
      labels: { ...h.only.labels, [ownerLabel]: uid },
      services: h.only.services.filter(({ listen_port }) => listen_port === 80),
    });
    await h.start("service");
    await h.settle();
    expect([h.ports, h.marks]).toEqual([
      [80, 8080],
      ["80 web", "8080 blog"],
    ]);
    expect(h.only.labels[ownerLabel]).toBeUndefined();
  });

  test.each([
    [
      { "80.default.other-cluster.fairlead.dev/web": "some-uid_cluster" },
      "of another cluster (uid other-cluster). The Service gets no load balancer. Set a different load-balancer.hetzner.cloud/name.",
    ],
    [
      { "80.other.KEY.fairlead.dev/web": "some-uid_namespace" },
      "at least one of these Services is shared only within its namespace. The Service gets no load balancer. Set load-balancer.hetzner.cloud/shared to cluster in each of these Services. Or set a different load-balancer.hetzner.cloud/name.",
    ],
    [{ "80.other.KEY.fairlead.dev/web": "some-uid" }, "without load-balancer.hetzner.cloud/shared"],
  ])("of other Services is not joined: %j [F38]", async (labels, why) => {
    const donor = await SharedWorld.shared();
    const own = /^80\.default\.([^.]+)\./.exec(Object.keys(donor.only.labels).toSorted()[0] ?? "")?.[1] ?? "";
    const h = new SharedWorld({ nodes: 2 });
    h.cloud.project.balancers.add("edge", {
      services: [listener(80, 30_080)],
      labels: Object.fromEntries(
        Object.entries(labels).map(([key, value]) => [key.replace("KEY", own), value]),
      ),
    });
    await h.start("service");
    h.forget();
    h.world.create("blog", draft(sharing({ shared: "cluster" }), tcp(8080)));
    await h.settle();
    expect(h.changes).toEqual([]);
    expect(h.events("blog")).toContain(why);
  });

  test.each([
    { "08.default.x.fairlead.dev/web": "u_cluster" },
    { "99999.default.x.fairlead.dev/web": "u_cluster" },
    { "80.default.x.fairlead.dev/web": "" },
    { "80.default.x.fairlead.dev/web": "u_everything" },
    { "fairlead.dev/web": "u_cluster" },
  ])("is not recognized by a label of a different form: %j [F38]", async (labels) => {
    const h = new SharedWorld({ nodes: 1 });
    h.cloud.project.balancers.add("edge", { labels: labels as never });
    await h.start("service");
    h.world.create("web", draft({ name: "edge" }, tcp(80)));
    await h.settle();
    expect(h.only.labels[ownerLabel]).toBe(h.world.get("web").metadata.uid);
  });
});

describe("A manager that dies", () => {
  const places = [1, 2, 3, 4, 5, 6].flatMap((count) =>
    (["before", "after"] as const).map((when) => [when, count] as const),
  );

  test.each(places)(
    "%s change %p of a join leaves a state that the next manager completes [F38]",
    async (when, count) => {
      const h = await SharedWorld.open();
      h.world.create("web", draft(sharing(), tcp(80)));
      await h.settle();
      h.crashAt(count, when);
      h.world.create("blog", draft(sharing(), tcp(8080), tcp(8081)));
      h.world.create("shop", draft(sharing(), tcp(8082)));
      await h.settle();
      await h.restart();
      expect([h.ports, h.marks]).toEqual([
        [80, 8080, 8081, 8082],
        ["80 web", "8080 blog", "8081 blog", "8082 shop"],
      ]);
      expect(h.serversOfTargets).toEqual(["node-0", "node-1"]);
    },
  );

  test.each(places.slice(0, 6))(
    "%s change %p of a leave leaves a state that the next manager completes [F38 F108]",
    async (when, count) => {
      const h = await SharedWorld.shared();
      h.crashAt(count, when);
      h.world.delete("blog");
      await h.settle(30);
      await h.restart();
      await h.settle(180);
      expect(h.world.find("blog")).toBeUndefined();
      expect([h.ports, h.marks]).toEqual([[80], ["80 web"]]);
      expect(h.serversOfTargets).toEqual(["node-0", "node-1"]);
    },
  );

  test.each(places.slice(0, 4))(
    "%s change %p while both Services create the load balancer leaves one load balancer [F38]",
    async (when, count) => {
      const h = await SharedWorld.open();
      h.crashAt(count, when);
      h.world.create("web", draft(sharing(), tcp(80)));
      h.world.create("blog", draft(sharing(), tcp(8080)));
      await h.settle(60);
      await h.restart();
      await h.settle(180);
      expect([h.ports, h.marks]).toEqual([
        [80, 8080],
        ["80 web", "8080 blog"],
      ]);
    },
  );

  test.each(places.slice(0, 4))(
    "%s change %p of an adoption keeps the listeners and targets of Terraform [F108]",
    async (when, count) => {
      const h = new SharedWorld({ nodes: 2 });
      addTerraform(h);
      await h.start("service");
      h.crashAt(count, when);
      h.world.create("web", draft({ name: "edge" }, tcp(80)));
      await h.settle(60);
      h.world.delete("web");
      await h.restart();
      await h.settle(180);
      expect(h.world.find("web")).toBeUndefined();
      expect(h.ports).toEqual([6443]);
      expect(h.serversOfTargets).toEqual(["control-plane"]);
      expect(h.only.labels).toEqual({ team: "platform" });
    },
  );
});

describe("Information for users about sharing", () => {
  test("explain names the Services that share the load balancer, and a metric counts it [F38 F89]", async () => {
    const h = await SharedWorld.shared();
    const described = describeObject(h.world.manager, "Service", "default/web");
    expect(described).toMatchObject({ facts: { "Shared with": "default/blog" } });
    expect(h.world.manager.metrics.text()).toContain("\nfairlead_load_balancers_shared 1\n");
    h.world.delete("blog");
    await h.settle();
    expect(h.world.manager.metrics.text()).toContain("\nfairlead_load_balancers_shared 0\n");
  });

  test("observe mode reports that a Service would join, and changes nothing [F38]", async () => {
    const h = await SharedWorld.shared();
    await h.world.stop();
    h.world.create("late", draft(sharing(), tcp(81)));
    await h.start("service", "--mode=observe");
    await h.settle();
    expect(h.changes).toEqual([]);
    const { journal } = h.world.manager.report();
    expect(journal.map(({ action }) => action)).toContain("join load balancer");
  });

  test("a cluster whose uid cannot be read shares nothing, and names the missing permission [F38]", async () => {
    const h = new SharedWorld({
      nodes: 1,
      authorize: (_, { resource }) => resource !== "namespaces",
    });
    await h.start("service");
    h.world.create("web", draft(sharing(), tcp(80)));
    await h.settle();
    expect(h.all).toEqual([]);
    expect(h.events("web")).toContain("the namespace kube-system cannot be read");
  });

  test("drift report reports no drift when other Services join, change and leave [F38]", async () => {
    const h = new SharedWorld({ nodes: 2 });
    await h.start("service", "--load-balancer-drift=report");
    h.world.create("web", draft(sharing(), tcp(80)));
    await h.settle();
    h.world.create("blog", draft(sharing(), tcp(8080)));
    await h.settle();
    h.addNode("more");
    h.world.editSpec("blog", { ports: [tcp(8081)] as never });
    await h.settle();
    expect([h.ports, h.only.targets.length]).toEqual([[80, 8081], 3]);
    h.world.delete("blog");
    await h.settle();
    expect([h.ports, h.marks, h.only.targets.length]).toEqual([[80], ["80 web"], 3]);
    expect(h.events("web") + h.events("blog")).not.toContain("LoadBalancerDrift");
  });

  test("a managed certificate keeps port 443 for its Service while it is issued [F37 F38]", async () => {
    const h = await SharedWorld.shared();
    h.cloud.project.actions.time = seconds(200);
    const managed = {
      protocol: "https",
      "certificate-type": "managed",
      "http-managed-certificate-domains": "example.com",
    };
    h.world.create("shop", draft(sharing(managed), tcp(443)));
    await h.settle(60);
    expect([h.ports, h.marks]).toEqual([
      [80, 8080],
      ["443 shop", "80 web", "8080 blog"],
    ]);
    h.world.create("late", draft(sharing(), tcp(443, 30_777)));
    await h.settle(30);
    expect(h.events("late")).toContain("on port 443 (of default/shop)");
    h.cloud.project.actions.time = seconds(1);
    await h.settle(600);
    expect(h.ports).toEqual([80, 443, 8080]);
  });

  test("a load balancer that was deleted in the cloud is created once, with the ports of all Services [F38]", async () => {
    const h = await SharedWorld.shared();
    await h.settle(300);
    h.cloud.project.balancers.remove(h.only.id);
    await h.settle(3600);
    expect([h.ports, h.marks]).toEqual([
      [80, 8080],
      ["80 web", "8080 blog"],
    ]);
    expect(h.world.addressesOf("blog")).toEqual(h.world.addressesOf("web") as string[]);
  });

  test("a redirect to HTTPS needs port 80, which another Service has [F37 F38]", async () => {
    const h = await SharedWorld.shared();
    const { id } = h.cloud.project.certificates.add("shop");
    const https = { protocol: "https", "http-certificates": String(id), "http-redirect-http": "true" };
    h.world.create("shop", draft(sharing(https), tcp(443)));
    await h.settle();
    expect(h.events("shop")).toContain("on port 80 (of default/web)");
    h.world.delete("web");
    await h.settle(300);
    expect([h.ports, h.marks]).toEqual([
      [443, 8080],
      ["443 shop", "80 shop", "8080 blog"],
    ]);
  });
});
