// --foreign-nodes=targets: which machine belongs to a k3s or RKE2 Node. The kubelet writes its Node object.

import { describe, expect, test } from "bun:test";
import { providerID } from "../../src/core/brand.ts";
import type { Instance } from "../../src/provider/instances.ts";
import { NodeControllers, type SetupOptions, uninitialized } from "../support/node-controllers.ts";
import { machine, outage, ScriptedSource } from "../support/scripted-source.ts";

const server = (name: string, ip: string, changes: Partial<Instance> = {}) =>
  machine(name, { addresses: [{ kind: "InternalIP", value: ip }], zone: "z1", region: "r1", ...changes });

const setUp = (options: SetupOptions = {}) =>
  new NodeControllers({ foreignNodes: "targets", machines: [server("n0", "10.0.0.1")], ...options });

interface Draft {
  readonly id?: string;
  readonly ips?: readonly string[];
  readonly uuid?: string;
  readonly labels?: Readonly<Record<string, string>>;
}

const add = (w: NodeControllers, name = "n0", { id, ips = ["10.0.0.1"], uuid, labels = {} }: Draft = {}) =>
  w.nodes.add({
    name,
    labels,
    spec: { providerID: providerID(id ?? `k3s://${name}`) },
    status: {
      addresses: ips.map((address) => ({ type: "InternalIP", address })),
      ...(uuid !== undefined && { nodeInfo: { systemUUID: uuid } as never }),
    },
  });

const match = (w: NodeControllers, name = "n0") => w.foreignNodes?.observe(w.nodes.node(name));
const why = (w: NodeControllers, name = "n0") => {
  const found = match(w, name);
  return found?.kind === "unmatched" ? found.why : found?.kind;
};

async function listed(w: NodeControllers): Promise<NodeControllers> {
  w.inventory.requestListing(w.clock.monotonic(), "refresh");
  await w.pass(1);
  return w;
}

describe("the machine of a k3s Node", () => {
  test.each(["k3s://n0", "rke2://n0"])(
    "finds the machine of a k3s Node with %s by its name and an address [F110]",
    async (id) => {
      const w = setUp();
      add(w, "n0", { id });
      await listed(w);
      expect(match(w)).toMatchObject({
        kind: "matched",
        isCertain: true,
        machine: { source: "cloud", key: "n0" },
        ips: { internalIPs: ["10.0.0.1"] },
      });
    },
  );

  test("finds the machine of a k3s Node by its name and its system UUID, case-insensitively [F110]", async () => {
    const w = setUp({ machines: [server("n0", "10.0.0.9", { uuids: ["ab-cd"] })] });
    add(w, "n0", { uuid: "AB-CD" });
    await listed(w);
    expect(match(w)).toMatchObject({ kind: "matched", ips: { addresses: [] } });
  });

  test.each([
    ["2001:DB8:0:0::1", "2001:db8::1"],
    ["10.0.0.1", "::ffff:10.0.0.1"],
    ["010.0.0.1", "10.0.0.1"],
  ])(
    "finds the machine of a k3s Node by the address %s, which the cloud writes as %s [F110]",
    async (ip, shown) => {
      const w = setUp({ machines: [server("n0", shown)] });
      add(w, "n0", { ips: [ip] });
      await listed(w);
      expect([match(w)?.kind, match(w)?.ips.internalIPs.length]).toEqual(["matched", 1]);
    },
  );

  test.each(["0.0.0.0", "127.0.0.1", "::1", "not an address", "", "10.0.0.1/8", "10.0.0.11"])(
    "does not find the machine of a k3s Node by the address %p [F110]",
    async (ip) => {
      const w = setUp();
      add(w, "n0", { ips: [ip] });
      await listed(w);
      expect(why(w)).toContain("has neither an address of the Node");
    },
  );

  test.each(["other://n0", "aws:///z/i-1", "K3S://n0", "xk3s://n0", "fake://n0"])(
    "does not search for the machine of a k3s Node by the provider id %s [F110]",
    async (id) => {
      const w = setUp();
      add(w, "n0", { id });
      await listed(w);
      expect(match(w)).toBeUndefined();
      expect(w.foreignNodes?.identityOf(w.nodes.node("n0")).providerID).toBe(providerID(id));
    },
  );

  test("does not search for the machine of a k3s Node that --node-selector excludes [F110]", async () => {
    const w = setUp({ isSelected: () => false });
    add(w);
    await listed(w);
    expect(match(w)).toBeUndefined();
  });

  test("as a target, a k3s Node has only the addresses that the cloud reports [F110]", async () => {
    const w = setUp();
    add(w, "n0", { ips: ["192.0.2.66", "10.0.0.1", "10.0.0.2"] });
    await listed(w);
    expect(match(w)?.ips).toEqual({ addresses: ["10.0.0.1"], internalIPs: ["10.0.0.1"] } as never);
  });

  test("keeps InternalIPs of a family that the cloud leaves to the kubelet, but does not accept them as proof [F110]", async () => {
    const kept = { keepsInternalIPs: ["IPv4"] } as const;
    const w = setUp({ machines: [server("n0", "10.0.0.1", kept), server("n1", "10.0.0.2", kept)] });
    add(w, "n0", { ips: ["10.0.0.1", "10.7.0.1"] });
    add(w, "n1", { ips: ["10.7.0.2"] });
    await listed(w);
    expect(match(w)?.ips.internalIPs).toEqual(["10.0.0.1", "10.7.0.1"] as never);
    expect(why(w, "n1")).toBe(
      "instance n1 (n1) has neither an address of the Node (10.7.0.2) nor its system UUID",
    );
  });
});

test("a standby replica ignores k3s Nodes, and sends no request [F110]", async () => {
  const w = setUp();
  add(w);
  expect(w.foreignNodes?.match(w.nodes.node("n0"))).toMatchObject({ kind: "awaited" });
  await w.pass(600);
  expect(w.cloud.calls).toEqual([]);
});

describe("a k3s Node without a matching machine", () => {
  test("does not match a machine with a k3s Node's name but none of its addresses [F110]", async () => {
    const w = setUp();
    add(w, "n0", { ips: ["10.9.9.9"] });
    await listed(w);
    expect(why(w)).toBe("instance n0 (n0) has neither an address of the Node (10.9.9.9) nor its system UUID");
  });

  test("does not match a machine with a k3s Node's address but a different name [F110]", async () => {
    const w = setUp({ machines: [server("database", "10.0.0.1")], matchBy: ["name", "address"] });
    add(w);
    await listed(w);
    expect(why(w)).toBe("instance database (database) has a different name");
  });

  test("does not match a k3s Node by the first part of its name [F110]", async () => {
    const w = setUp({
      machines: [server("i-1", "10.0.0.1", { shortName: "n0" })],
      matchBy: ["name", "shortName"],
    });
    add(w, "n0.example.com");
    await listed(w);
    expect(why(w, "n0.example.com")).toBe("instance i-1 (i-1) has a different name");
  });

  const takers = {
    "its provider id": { name: "taker", spec: { providerID: providerID("fake://m1") } },
    "its provider id, and may be no target": {
      name: "taker",
      labels: { "node.kubernetes.io/exclude-from-external-load-balancers": "" },
      spec: { providerID: providerID("fake://m1") },
    },
    "another of its names": { name: "alias" },
    "another of its names, and k3s": { name: "alias", spec: { providerID: providerID("k3s://alias") } },
  };
  const names = ["n0", "alias"];

  test.each(Object.entries(takers))(
    "does not match a machine to a k3s Node if an older Node has %s [F110]",
    async (_, taker) => {
      const w = setUp({ machines: [server("m1", "10.0.0.1", { names })] });
      w.nodes.add(taker);
      await w.pass(1);
      add(w);
      await listed(w);
      expect(why(w)).toBe(`instance m1 (m1) belongs to Node ${taker.name}`);
      w.nodes.remove(taker.name);
      expect(match(w)?.kind).toBe("matched");
    },
  );

  test.each(Object.entries(takers))(
    "keeps the machine of a k3s Node if a later Node has %s [F110]",
    async (_, taker) => {
      const w = setUp({ machines: [server("m1", "10.0.0.1", { names })] });
      add(w);
      await listed(w);
      await w.pass(1);
      w.nodes.add(taker);
      for (let count = 0; count < 3; count += 1) {
        expect(match(w)).toMatchObject({ kind: "matched", isCertain: true });
        await listed(w);
      }
      if ("spec" in taker && taker.spec.providerID.startsWith("k3s"))
        expect(why(w, "alias")).toBe("instance m1 (m1) belongs to Node n0");
    },
  );

  test("matches the machine to one of two k3s Nodes with its name if neither is known to be older [F110]", async () => {
    const w = setUp({ machines: [server("m1", "10.0.0.1", { names })] });
    add(w, "n0");
    add(w, "alias");
    await listed(w);
    expect([match(w, "n0")?.kind, match(w, "alias")?.kind].toSorted()).toEqual(["matched", "unmatched"]);
  });

  test("does not match a k3s Node if several machines have its name [F110]", async () => {
    const same = { names: ["n0"] };
    const w = setUp({ machines: [server("m1", "10.0.0.1", same), server("m2", "10.0.0.2", same)] });
    add(w);
    await listed(w);
    expect(why(w)).toBe("several instances have its name");
  });
});

describe("a k3s Node whose machine no answer contains", () => {
  test("waits until two answers 30 s apart lack the machine of a k3s Node that existed before the start [F110]", async () => {
    const w = setUp({ machines: [] });
    add(w);
    expect(why(w)).toBe("awaited");
    await listed(w);
    expect(why(w)).toBe("awaited");
    await w.pass(27);
    expect(w.cloud.calls.map(({ what }) => what)).toEqual(["list"]);
    await w.pass(5);
    expect(w.cloud.calls.map(({ what }) => what)).toEqual(["list", "list"]);
    expect(why(w)).toBe("the cloud has no instance with its name");
    await w.pass(3600);
    expect(w.cloud.calls).toHaveLength(2);
  });

  test("a k3s Node that existed before the start keeps its load balancer targets while requests fail [F110]", async () => {
    const w = setUp();
    w.cloud.failure = { error: outage() };
    add(w);
    await listed(w);
    await w.pass(3600);
    expect(match(w)).toMatchObject({ kind: "awaited", holds: "removals" });
  });

  test("requests the machine of a later k3s Node once, blocks nothing, and accepts a machine that is newer than the listing [F110]", async () => {
    const w = await listed(setUp({ machines: [] }));
    add(w, "first");
    match(w, "first");
    w.cloud.machines.set("n1", server("n1", "10.0.0.1"));
    add(w, "n1");
    add(w, "n2");
    for (const name of ["n1", "n2"])
      expect(match(w, name)).toMatchObject({ kind: "awaited", holds: "nothing" });
    await w.pass(1);
    expect([match(w, "n1")?.kind, why(w, "n2")]).toEqual([
      "matched",
      "the cloud has no instance with its name",
    ]);
    for (let count = 0; count < 50; count += 1) match(w, "n2");
    await w.pass(10);
    expect(w.cloud.calls).toHaveLength(2);
  });

  test("keeps the machine that earlier answers matched, even if its address changes or a second machine appears [F110]", async () => {
    const w = setUp();
    add(w);
    await listed(w);
    expect(match(w)?.kind).toBe("matched");
    w.cloud.machines.set("n0", server("n0", "10.0.0.5"));
    await listed(w);
    expect(match(w)).toMatchObject({ kind: "matched", isCertain: true });
    w.cloud.machines.set("copy", server("copy", "10.0.0.6", { names: ["n0"] }));
    await listed(w);
    expect(match(w)).toMatchObject({ kind: "matched", isCertain: false, machine: { key: "n0" } });
    w.cloud.machines.clear();
    await listed(w);
    expect(match(w)).toMatchObject({ kind: "matched", isCertain: false, machine: { key: "n0" } });
  });

  test("a second machine with a k3s Node's name must also have one of its addresses [F110]", async () => {
    const w = setUp({ machines: [server("m1", "10.0.0.1", { names: ["n0"] })] });
    add(w);
    await listed(w);
    expect(match(w)?.machine?.key).toBe("m1");
    w.cloud.machines.delete("m1");
    w.cloud.machines.set("m2", server("m2", "10.0.0.2", { names: ["n0"] }));
    await listed(w);
    expect(why(w)).toContain("instance m2 (m2) has neither an address");
  });

  test("a match does not wait for other sources, and is uncertain until all sources have answered [F110]", async () => {
    const w = setUp({
      sources: (clock) => {
        const far = new ScriptedSource({ clock, name: "far", scheme: "far" });
        far.failure = { error: outage() };
        return [new ScriptedSource({ clock }, [server("n0", "10.0.0.1")]), far];
      },
    });
    add(w);
    await listed(w);
    expect(match(w)).toMatchObject({ kind: "matched", isCertain: false });
  });
});

describe("a k3s Node", () => {
  const labels = { "node.kubernetes.io/instance-type": "k3s" };

  test("adds missing labels to a k3s Node, and changes nothing else [F110]", async () => {
    const w = setUp({ ownPrefixes: ["own.example/"] }).start("node", "lifecycle");
    w.cloud.machines.set("n0", server("n0", "10.0.0.1", { labels: { "own.example/by": "cloud" } }));
    const before = add(w, "n0", { labels });
    await listed(w);
    const after = w.nodes.node("n0");
    expect(after.metadata.labels).toEqual({
      ...labels,
      "own.example/by": "cloud",
      "topology.kubernetes.io/region": "r1",
      "topology.kubernetes.io/zone": "z1",
    });
    expect([after.spec, after.status]).toEqual([before.spec, before.status]);
    expect(w.nodes.sent).toEqual(["PATCH /api/v1/nodes/n0"]);
    expect(w.reported).toMatchObject([{ type: "Normal", reason: "ForeignNodeMatched", isQuiet: true }]);
    await listed(w);
    await w.pass(3600);
    expect(w.nodes.sent).toHaveLength(1);
  });

  test("a k3s Node gets the instance type of its machine with --label-policy [F110]", async () => {
    const w = setUp({ node: { labelPolicies: { "node.kubernetes.io/instance-type": "sync" } } }).start(
      "node",
    );
    add(w, "n0", { labels });
    await listed(w);
    expect(w.nodes.node("n0").metadata.labels?.["node.kubernetes.io/instance-type"]).toBe("t1.micro");
  });

  test("neither taints nor deletes a k3s Node, whatever its machine does, and keeps its taint when it joins [F110]", async () => {
    const w = setUp({ node: { taintsFrom: "example.com/" }, lifecycle: { outOfService: "enforce" } });
    w.start("node", "lifecycle");
    const tainted = { cloudLabels: { "example.com/gpu": "true.NoSchedule" }, state: "stopped" } as const;
    w.cloud.machines.set("n0", server("n0", "10.0.0.1", tainted));
    w.nodes.add({
      name: "n0",
      spec: { providerID: providerID("k3s://n0"), taints: [uninitialized] },
      status: {
        addresses: [{ type: "InternalIP", address: "10.0.0.1" }],
        conditions: [{ type: "Ready", status: "Unknown" }],
      },
    });
    await listed(w);
    await w.pass(900);
    w.cloud.machines.clear();
    for (let count = 0; count < 10; count += 1) {
      await listed(w);
      await w.pass(300);
    }
    expect(w.nodes.names()).toEqual(["n0"]);
    expect(w.nodes.node("n0").spec).toEqual({ providerID: providerID("k3s://n0"), taints: [uninitialized] });
    expect(w.reasons("n0")).toContain("ForeignProviderID");
  });

  test("a k3s Node gets no label of a machine that another Node owns, and reports the reason [F110]", async () => {
    const w = setUp({ machines: [server("m1", "10.0.0.1", { names: ["n0"] })] }).start("node");
    w.nodes.add({ name: "owner", spec: { providerID: providerID("fake://m1") } });
    await w.pass(1);
    add(w);
    await listed(w);
    await w.pass(60);
    expect(w.nodes.node("n0").metadata.labels).toEqual({});
    expect(w.reported.filter(({ node }) => node === "n0").at(-1)).toMatchObject({
      type: "Warning",
      reason: "ForeignNodeUnmatched",
      message: expect.stringContaining("because instance m1 (m1) belongs to Node owner."),
    });
  });

  test("ignores a paused k3s Node [F110]", async () => {
    const w = setUp().start("node");
    add(w);
    w.nodes.annotate("n0", { "fairlead.dev/paused": "true" });
    await listed(w);
    await w.pass(60);
    expect(w.nodes.sent).toEqual([]);
  });

  test("ignores k3s Nodes by default [F110]", async () => {
    const w = setUp({ foreignNodes: "ignore" }).start("node", "lifecycle");
    add(w);
    await listed(w);
    await w.pass(3600);
    expect(w.nodes.sent).toEqual([]);
    expect(w.reasons("n0")).toEqual(["ForeignNode"]);
  });
});
