import { afterEach, describe, expect, test } from "bun:test";
import { RemovalMemory } from "../../../src/controllers/kernel/removal-memory.ts";
import { outOfServiceOf } from "../../../src/controllers/node-facts.ts";
import { milliseconds } from "../../../src/core/brand.ts";
import type { Taint } from "../../../src/kube/objects.ts";
import type { Instance } from "../../../src/provider/instances.ts";
import { NodeControllers, type SetupOptions } from "../../support/node-controllers.ts";
import { machine, outage } from "../../support/scripted-source.ts";

// The out-of-service taint: set only with proof that the machine does not run, and removed only by the client that set it.

let world: NodeControllers | undefined;
afterEach(() => world?.stop());

const key = "node.kubernetes.io/out-of-service";
const annotation = "fairlead.dev/out-of-service-since";
const byHand: Taint = { key, value: "nodeshutdown", effect: "NoExecute" };
const shutdown: Taint = { key: "node.cloudprovider.kubernetes.io/shutdown", effect: "NoSchedule" };
const withLookups = { takes: milliseconds(100), lookups: { id: 100 } };
const names = (count: number) => Array.from({ length: count }, (_, index) => `n${index}`);

/** Ready Nodes n0…, with running machines. */
const started = (count: number, { lifecycle, ...options }: SetupOptions = {}): NodeControllers => {
  world = new NodeControllers({
    script: withLookups,
    machines: names(count).map((name) => machine(name)),
    lifecycle: { outOfService: "enforce", ...lifecycle },
    ...options,
  });
  for (const name of names(count)) {
    world.nodes.add({
      name,
      createdAt: world.clock.now() - 86_400_000,
      spec: { providerID: `fake://${name}` },
      status: { conditions: [{ type: "Ready", status: "True" }] },
    });
  }
  return world.start("lifecycle");
};
const show = (w: NodeControllers, name: string, state: Instance["state"]) =>
  w.cloud.put(machine(name, { state }));
const stop = (w: NodeControllers, name = "n0") => {
  show(w, name, "stopped");
  w.nodes.setReady(name, "Unknown");
};
const withTaints = (w: NodeControllers, ...taints: readonly Taint[]) =>
  w.nodes.change("n0", (node) => ({ ...node, spec: { ...node.spec, taints } }));
const taintsOf = (w: NodeControllers) => w.nodes.node("n0").spec.taints ?? [];
const tainted = (w: NodeControllers) =>
  w.nodes.names().filter((name) => outOfServiceOf(w.nodes.node(name)) === "Fairlead's");
/** The Nodes that have had the taint at any time since then. */
const watched = (w: NodeControllers): ReadonlySet<string> => {
  const seen = new Set<string>();
  w.nodes.store.subscribe(({ key: name, after }) => {
    if (after !== undefined && outOfServiceOf(after) !== undefined) seen.add(name);
  });
  return seen;
};
/** Waits until a Node with a stopped machine has the taint. */
const outOfService = async (w: NodeControllers) => {
  stop(w);
  await w.until(() => tainted(w).includes("n0"), "the taint");
};
/** The listing contains no states, like that of Hetzner's dedicated servers. */
const withoutStates = (w: NodeControllers) => {
  const list = w.cloud.list.bind(w.cloud);
  w.cloud.list = async function* (call) {
    for await (const page of list(call)) yield page.map(({ state: _, ...rest }) => rest);
  };
};

describe("the out-of-service taint on the Node of a stopped machine", () => {
  test.each([
    ["listings and lookups", withLookups],
    ["listings alone", { takes: milliseconds(100) }],
  ])(
    "sets the out-of-service taint after answers 30 s apart, after the shutdown taint, with %s [F106]",
    async (_, script) => {
      const w = started(5, { script });
      stop(w);
      await w.pass(29);
      expect(taintsOf(w)).toEqual([shutdown]);
      await w.pass(6);
      const timeAdded = w.nodes.node("n0").metadata.annotations?.[annotation];
      expect(taintsOf(w)).toEqual([shutdown, { ...byHand, timeAdded: timeAdded ?? "" }]);
      expect(w.reasons("n0")).toEqual(["NodeOutOfService"]);
      const writes = w.nodes.sent.length;
      await w.pass(3600);
      expect(w.nodes.sent.length).toBe(writes);
    },
  );

  test("sets the out-of-service taint after two lookups if listings have no states, without further lookups [F106]", async () => {
    const w = started(5);
    withoutStates(w);
    await outOfService(w);
    expect(w.cloud.lookupCalls.length).toBeLessThanOrEqual(3);
  });

  test.each(["off", "observe"] as const)(
    "does not set the out-of-service taint with --out-of-service-taint=%s [F106]",
    async (mode) => {
      const w = started(5, { lifecycle: { outOfService: mode } });
      const seen = watched(w);
      stop(w);
      await w.pass(3600);
      expect([...seen]).toEqual([]);
      expect(w.reasons("n0")).toEqual(mode === "off" ? [] : ["OutOfServiceObserved"]);
      expect(w.nodes.sent).toHaveLength(1);
      show(w, "n0", "running");
      await w.pass(130);
      expect([...w.lifecycle.report().problems]).toEqual([]);
    },
  );

  test("proves with less than ten requests an hour that a machine stays off with --out-of-service-taint=observe [F106]", async () => {
    const requestsWith = async (outOfService: "off" | "observe") => {
      const w = started(5, { lifecycle: { outOfService } });
      stop(w);
      await w.pass(600);
      const before = w.cloud.calls.length;
      await w.pass(3600);
      await w.stop();
      return w.cloud.calls.length - before;
    };
    expect((await requestsWith("observe")) - (await requestsWith("off"))).toBeLessThan(10);
  });

  test("only plans the out-of-service taint in observe mode [F106 N3]", async () => {
    const w = started(5, { mode: "observe" });
    stop(w);
    await w.pass(240);
    expect(w.nodes.sent).toEqual([]);
    expect(
      w.nodes.journal
        .entries()
        .map(({ detail }) => JSON.stringify(detail))
        .join(),
    ).toContain(key);
  });

  test("requires two answers for the out-of-service taint even if one answer is enough to delete a Node [F106]", async () => {
    const w = started(5, { lifecycle: { confirmAfter: milliseconds(0), removalLimit: "off" } });
    const seen = watched(w);
    w.cloud.takes = milliseconds(2000);
    stop(w);
    await w.pass(1);
    show(w, "n0", "running");
    await w.pass(2);
    expect(taintsOf(w)).toEqual([shutdown]);
    await w.pass(300);
    expect([...seen]).toEqual([]);
  });

  test.each([
    ["suspended", "suspended"],
    ["terminating", "terminating"],
    ["in an unknown state", undefined],
    ["running", "running"],
  ] as const)("does not set the out-of-service taint when the machine is %s [F106]", async (_, state) => {
    const w = started(5);
    const seen = watched(w);
    show(w, "n0", state);
    w.nodes.setReady("n0", "Unknown");
    await w.pass(900);
    expect([...seen]).toEqual([]);
  });

  test("the out-of-service taint needs a new proof after the machine ran in between [F106]", async () => {
    const w = started(5);
    stop(w);
    await w.pass(20);
    show(w, "n0", "running");
    w.inventory.requestListing(w.clock.monotonic(), "refresh");
    await w.pass(1);
    show(w, "n0", "stopped");
    await w.pass(20);
    expect(tainted(w)).toEqual([]);
    await w.until(() => tainted(w).length === 1, "the taint", 180);
  });

  test("the out-of-service taint needs a new proof after the Node was Ready in between [F106]", async () => {
    const w = started(5);
    stop(w);
    await w.pass(25);
    w.nodes.setReady("n0", "True");
    w.nodes.setReady("n0", "Unknown");
    await w.pass(28);
    expect(tainted(w)).toEqual([]);
    await w.until(() => tainted(w).length === 1, "the taint", 30);
  });

  test("the out-of-service taint needs a new proof after a restart [F106]", async () => {
    const w = started(5);
    stop(w);
    await w.pass(25);
    await w.handOver();
    await w.pass(28);
    expect(tainted(w)).toEqual([]);
    await w.until(() => tainted(w).length === 1, "the taint", 30);
  });

  test("the API server rejects the out-of-service taint when the Node has become Ready unseen [F106]", async () => {
    const w = started(5, { lag: 4000 });
    stop(w);
    await w.until(() => w.lifecycle.candidates.get("n0")?.evidence?.stops.length === 1, "the first answer");
    // The second request is in flight.
    await w.clock.advance(milliseconds(30_050));
    const seen = new Set<string>();
    w.nodes.server.onWrite(({ object }) => {
      if (JSON.stringify(object.spec).includes(key)) seen.add(object.metadata.name);
    });
    w.nodes.setReady("n0", "True");
    await w.pass(120);
    expect([...seen]).toEqual([]);
  });

  test.each([
    ["has no provider id", (w: NodeControllers) => w.nodes.change("n0", (node) => ({ ...node, spec: {} }))],
    [
      "is not initialized",
      (w: NodeControllers) =>
        withTaints(w, { key: "node.cloudprovider.kubernetes.io/uninitialized", effect: "NoSchedule" }),
    ],
    ["is paused", (w: NodeControllers) => w.nodes.annotate("n0", { "fairlead.dev/paused": "true" })],
  ])("the out-of-service taint is not set on a Node that %s [F106 F12]", async (_, change) => {
    const w = started(5);
    const seen = watched(w);
    change(w);
    stop(w);
    await w.pass(900);
    expect([...seen]).toEqual([]);
  });
});

describe("an out-of-service taint that Fairlead set", () => {
  test.each(["running", "suspended"] as const)(
    "removes the out-of-service taint when the machine is %s [F106]",
    async (state) => {
      const w = started(5);
      await outOfService(w);
      show(w, "n0", state);
      await w.pass(130);
      expect(tainted(w)).toEqual([]);
      expect(w.nodes.node("n0").metadata.annotations?.[annotation]).toBeUndefined();
      expect(w.reasons("n0")).toEqual(["NodeOutOfService", "NodeBackInService"]);
    },
  );

  test.each(["off", "observe", "enforce"] as const)(
    "removes the out-of-service taint immediately when the Node is Ready, without a cloud request, with %s [F106]",
    async (mode) => {
      const w = started(5, { lifecycle: { outOfService: mode } });
      const timeAdded = "2026-01-01T00:00:00Z";
      w.nodes.annotate("n0", { [annotation]: timeAdded });
      const other = { key: "a", effect: "NoExecute" };
      withTaints(w, other, { ...byHand, timeAdded }, shutdown);
      await w.pass(1);
      expect(taintsOf(w)).toEqual([other]);
      expect(w.cloud.calls).toEqual([]);
    },
  );

  test("removes the out-of-service taint after a restart, and keeps it while the machine is stopped, terminating or unknown [F106]", async () => {
    const w = started(5);
    await outOfService(w);
    await w.handOver();
    await w.pass(300);
    show(w, "n0", "terminating");
    await w.pass(300);
    w.cloud.failure = { error: outage() };
    await w.pass(900);
    expect(tainted(w)).toEqual(["n0"]);
    w.cloud.failure = undefined;
    show(w, "n0", "running");
    await w.pass(400);
    expect(tainted(w)).toEqual([]);
  });
});

describe("an out-of-service taint that Fairlead did not set", () => {
  const cases: readonly (readonly [string, Taint, string | undefined])[] = [
    ["by hand", byHand, undefined],
    ["by hand with another effect", { ...byHand, effect: "NoSchedule" }, undefined],
    ["again by hand, with the annotation of a former taint", byHand, "2026-01-01T00:00:00Z"],
    ["with an annotation that its kubelet wrote", byHand, ""],
    [
      "by another program at another time",
      { ...byHand, timeAdded: "2026-01-02T00:00:00Z" },
      "2026-01-01T00:00:00Z",
    ],
  ];
  test.each(cases)(
    "keeps an out-of-service taint that was set %s, even on a Ready Node [F106]",
    async (_, taint, since) => {
      const w = started(5);
      if (since !== undefined) w.nodes.annotate("n0", { [annotation]: since });
      withTaints(w, taint);
      await w.pass(60);
      stop(w);
      await w.pass(300);
      expect(taintsOf(w)).toEqual([taint, shutdown]);
      show(w, "n0", "running");
      await w.pass(300);
      w.nodes.setReady("n0", "True");
      await w.pass(60);
      expect(taintsOf(w)).toEqual([taint]);
      expect(w.reasons("n0")).toEqual([]);
    },
  );
});

describe("a machine that is gone", () => {
  const lose = (w: NodeControllers) => {
    w.cloud.machines.delete("n0");
    w.nodes.setReady("n0", "Unknown");
  };

  test.each([
    ["--node-deletion=off", "off", []],
    ["--node-deletion=observe", "observe", ["DeletionObserved"]],
  ] as const)(
    "a missing machine gives its Node the out-of-service taint with %s [F106]",
    async (_, deletion, reasons) => {
      const w = started(5, { lifecycle: { deletion } });
      lose(w);
      await w.pass(29);
      expect(tainted(w)).toEqual([]);
      await w.pass(130);
      expect(tainted(w)).toEqual(["n0"]);
      expect(w.reasons("n0").toSorted()).toEqual([...reasons, "NodeOutOfService"].toSorted());
    },
  );

  test("a missing machine gives its Node the out-of-service taint when an annotation prevents the deletion [F106]", async () => {
    const w = started(5);
    w.nodes.annotate("n0", { "fairlead.dev/node-deletion": "never" });
    lose(w);
    await w.until(() => tainted(w).includes("n0"), "the taint", 120);
    await w.pass(300);
    expect(w.nodes.names()).toContain("n0");
  });

  test("a renamed machine in a cloud where names decide never gives its Node the out-of-service taint [F106]", async () => {
    const w = started(5, { lifecycle: { deletion: "off" } });
    Object.assign(w.cloud, { nameDecides: true });
    const seen = watched(w);
    w.cloud.put(machine("n0", { names: ["other"] }));
    w.nodes.setReady("n0", "Unknown");
    await w.pass(900);
    expect([...seen]).toEqual([]);
  });

  test("by default, deletes the Node of a missing machine without setting the out-of-service taint [F106]", async () => {
    const w = started(5);
    const seen = watched(w);
    lose(w);
    await w.pass(60);
    expect(w.nodes.names()).not.toContain("n0");
    expect([...seen]).toEqual([]);
  });
});

describe("a lying cloud", () => {
  /** Two kubelets are silent, and their machines run. */
  const partitioned = (count: number, options: SetupOptions = {}) => {
    const w = started(count, options);
    const seen = watched(w);
    for (const name of ["n0", "n1"]) w.nodes.setReady(name, "Unknown");
    return { w, seen };
  };

  test.each([10, 25])(
    "a cloud that shows all %d machines as stopped causes no taint, and requires new proofs afterwards [F106]",
    async (count) => {
      const { w, seen } = partitioned(count);
      for (const name of names(count)) show(w, name, "stopped");
      await w.pass(3600);
      expect([...seen]).toEqual([]);
      expect(w.reasons("n0")).toEqual(["OutOfServiceHeld"]);
      for (const name of names(count)) show(w, name, "running");
      await w.pass(300);
      expect([...w.lifecycle.report().problems]).toEqual([]);
      await outOfService(w);
      expect([...seen]).toEqual(["n0"]);
    },
  );

  test("a cloud that shows three of ten machines as stopped causes no taint until an operator releases them [F106]", async () => {
    const { w } = partitioned(10);
    for (const name of ["n0", "n1", "n2"]) stop(w, name);
    await w.pass(900);
    expect(tainted(w)).toEqual([]);
    expect(w.reported.find(({ node }) => node === "n2")?.message).toBe(
      "The cloud shows no running machine for 3 of 10 Nodes. More than 2 at once is treated as a cloud fault, so none gets the taint node.kubernetes.io/out-of-service: the pods keep their volumes. Check in the cloud console whether these machines run. If they do, this ends when the cloud shows them as running. If they do not, taint all of these Nodes: set --removal-limit=off until they are removed; it lifts the limits of Nodes, load balancers, routes and volumes. To taint one: `kubectl taint node NAME node.kubernetes.io/out-of-service=nodeshutdown:NoExecute`. Nodes that were cordoned before do not count towards the limit.",
    );
    w.removals.release("nodes");
    await w.until(() => tainted(w).length === 3, "the taints", 180);
    expect(w.nodes.names()).toHaveLength(10);
  });

  test("trusts a cloud about three of ten machines whose Nodes were cordoned before [F106]", async () => {
    const w = started(10);
    for (const name of ["n0", "n1", "n2"]) {
      w.nodes.change(name, (node) => ({ ...node, spec: { ...node.spec, unschedulable: true } }));
      stop(w, name);
    }
    await w.until(() => tainted(w).length === 3, "the taints", 60);
  });

  test("Nodes with the out-of-service taint count towards the limit, even after a restart [F106]", async () => {
    const w = started(10);
    for (const name of ["n0", "n1"]) stop(w, name);
    await w.until(() => tainted(w).length === 2, "two taints");
    await w.pass(3600);
    await w.handOver();
    stop(w, "n2");
    await w.pass(900);
    expect(tainted(w)).toEqual(["n0", "n1"]);
    expect(w.reasons("n2")).toEqual(["OutOfServiceHeld"]);
    // An administrator decides about one of them.
    w.nodes.change("n0", (node) => ({ ...node, spec: { ...node.spec, taints: [byHand] } }));
    await w.until(() => tainted(w).includes("n2"), "the taint", 180);
  });

  test.each(["off", "enforce"] as const)(
    "an empty listing causes no out-of-service taint, with --node-deletion=%s [F106]",
    async (deletion) => {
      const { w, seen } = partitioned(10, { lifecycle: { deletion } });
      w.cloud.machines.clear();
      await w.pass(3600);
      expect([...seen]).toEqual([]);
    },
  );

  test.each([
    ["shows no machine", (w: NodeControllers) => w.cloud.machines.clear()],
    [
      "shows all machines as stopped",
      (w: NodeControllers) => w.cloud.put(...names(10).map((name) => machine(name, { state: "stopped" }))),
    ],
  ])(
    "a cloud that %s causes no taint on a Node whose deletion an annotation prevents [F106]",
    async (_, lie) => {
      const { w, seen } = partitioned(10);
      for (const name of names(10)) w.nodes.annotate(name, { "fairlead.dev/node-deletion": "never" });
      w.nodes.setReady("n2", "Unknown");
      await w.pass(10);
      lie(w);
      await w.pass(3600);
      expect([...seen]).toEqual([]);
    },
  );

  test("the token of another project causes no out-of-service taint, even in a cluster of two [F106]", async () => {
    const removals = (clock: NodeControllers["clock"]) => new RemovalMemory(clock);
    const { w, seen } = partitioned(2, { lifecycle: { deletion: "off" }, removals });
    w.cloud.machines.clear();
    await w.pass(3600);
    expect([...seen]).toEqual([]);
    expect(w.reasons("n0")).toEqual(["OutOfServiceHeld"]);
  });

  test("a cloud that shows a machine as stopped for less than the confirmation time causes no taint [F106]", async () => {
    const { w, seen } = partitioned(10);
    show(w, "n0", "stopped");
    await w.pass(28);
    show(w, "n0", "running");
    await w.pass(900);
    expect([...seen]).toEqual([]);
  });

  test("a cloud that shows a machine as stopped in only one kind of answer causes no taint [F106]", async () => {
    const { w, seen } = partitioned(10);
    const list = w.cloud.list.bind(w.cloud);
    w.cloud.list = async function* (call) {
      for await (const page of list(call))
        yield page.map((each) => (each.key === "n0" ? { ...each, state: "stopped" as const } : each));
    };
    await w.pass(3600);
    expect([...seen]).toEqual([]);
  });

  test("a cloud that shows a machine as stopped only in lookups causes no taint after one listing without states [F106]", async () => {
    // Lookups cost less than a listing.
    const { w, seen } = partitioned(10, { script: { ...withLookups, pageSize: 1 } });
    const list = w.cloud.list.bind(w.cloud);
    let state: Instance["state"];
    w.cloud.list = async function* (call) {
      for await (const page of list(call))
        yield page.map((each) => (each.key === "n0" ? { ...each, state } : each));
    };
    show(w, "n0", "stopped");
    await w.pass(3);
    state = "running";
    w.inventory.requestListing(w.clock.monotonic(), "refresh");
    await w.pass(3600);
    expect([...seen]).toEqual([]);
  });

  test("a cloud that repeats an answer from before the Node was NotReady causes no taint [F106]", async () => {
    const w = started(5);
    const seen = watched(w);
    show(w, "n0", "stopped");
    w.inventory.requestListing(w.clock.monotonic(), "refresh");
    await w.pass(5);
    show(w, "n0", "running");
    w.nodes.setReady("n0", "Unknown");
    await w.pass(600);
    expect([...seen]).toEqual([]);
  });
});
