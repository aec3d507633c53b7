import { afterEach, describe, expect, spyOn, test } from "bun:test";
import { identityOf } from "../../../src/controllers/node-facts.ts";
import { milliseconds } from "../../../src/core/brand.ts";
import { KubeError } from "../../../src/kube/errors/kube-error.ts";
import { runsAllTests } from "../../../src/testing/breadth.ts";
import { NodeControllers, type SetupOptions } from "../../support/node-controllers.ts";
import { machine } from "../../support/scripted-source.ts";

let world: NodeControllers | undefined;
afterEach(() => world?.stop());
const setUp = (options: SetupOptions = {}): NodeControllers => {
  world = new NodeControllers({ script: { takes: milliseconds(100), pageSize: 5 }, ...options });
  return world;
};
/** Listings of several pages and lookups by id: absence requires both proofs. */
const both = { takes: milliseconds(100), pageSize: 5, lookups: { id: 100 } };
const names = (count: number) => Array.from({ length: count }, (_, index) => `n${index}`);
const settled = (at: NodeControllers, name: string, status: "True" | "False" | "Unknown" = "False") =>
  at.nodes.add({
    name,
    createdAt: at.clock.now() - 86_400_000,
    spec: { providerID: `fake://${name}` },
    status: { conditions: [{ type: "Ready", status }] },
  });
const heldFor = ({ lifecycle }: NodeControllers) =>
  [...lifecycle.report().problems.values()].flatMap((findings) => findings.map(({ reason }) => reason));
const shutdown = { key: "node.cloudprovider.kubernetes.io/shutdown", effect: "NoSchedule" };

describe("mass deletion", () => {
  const ready = (w: NodeControllers, all: readonly string[]) => {
    for (const name of all) settled(w, name, "True");
  };

  const announce = (w: NodeControllers, name: string) =>
    w.nodes.change(name, (node) => ({
      ...node,
      spec: {
        ...node.spec,
        taints: [{ key: "ToBeDeletedByClusterAutoscaler", effect: "NoSchedule", value: "1" }],
      },
    }));

  test("deletes ten of thirteen Nodes that the autoscaler announced [F22]", async () => {
    const all = names(13);
    const w = setUp({ machines: all.slice(10).map((name) => machine(name)) }).start("lifecycle");
    ready(w, all);
    for (const name of all.slice(0, 10)) {
      announce(w, name);
      w.nodes.setReady(name, "Unknown");
    }
    await w.pass(60);
    expect(w.nodes.names()).toEqual(["n10", "n11", "n12"]);
  });

  test.if(runsAllTests).each([
    ["a listing", {}],
    ["lookups one by one", { lookups: { id: 1 } }],
  ] as const)(
    "while all Nodes are held, does work in proportion to their number, with %s",
    async (_, lookups) => {
      const operationsWith = async (count: number) => {
        const w = setUp({ script: { takes: milliseconds(100), pageSize: 500, ...lookups } }).start(
          "lifecycle",
        );
        for (const name of names(count)) settled(w, name);
        const spies = [
          spyOn(w.nodes.store, "get"),
          spyOn(w.nodes.store, "list"),
          spyOn(w.inventory, "check"),
          spyOn(w.inventory, "manages"),
        ];
        await w.pass(600);
        expect([heldFor(w).length, w.nodes.names().length]).toEqual([count, count]);
        await w.stop();
        return spies.reduce((sum, spy) => sum + spy.mock.calls.length, 0);
      };
      const few = await operationsWith(100);
      expect(await operationsWith(400)).toBeLessThan(4.4 * few);
    },
  );

  test("ignores Nodes of another account that the selector excludes", async () => {
    const all = names(5);
    const foreign = Array.from({ length: 40 }, (_, index) => `other${index}`);
    const w = setUp({
      machines: all.slice(1).map((name) => machine(name)),
      isSelected: (node) => node.metadata.labels?.["account"] !== "other",
    }).start("lifecycle");
    ready(w, all);
    for (const name of foreign) {
      w.nodes.add({
        name,
        labels: { account: "other" },
        spec: { providerID: `fake://${name}` },
        status: { conditions: [{ type: "Ready", status: "True" }] },
      });
    }
    for (const name of ["n0", "other0"]) w.nodes.setReady(name, "Unknown");
    await w.pass(600);
    expect(w.reported.map(({ node, reason }) => [node, reason])).toEqual([["n0", "DeletingNode"]]);
    expect(w.nodes.names()).toHaveLength(44);
  });

  test("retries a deletion that the write gate blocked, without reporting a failure", async () => {
    const w = setUp({
      machines: names(5)
        .slice(1)
        .map((name) => machine(name)),
    }).start("lifecycle");
    ready(w, names(5));
    const send = w.nodes.writes.delete;
    let isOurs = false;
    const gated: typeof send = async (...all) => {
      if (!isOurs)
        throw new KubeError("fenced", "this replica does not hold the lease.", { operation: "delete nodes" });
      return send(...all);
    };
    Object.assign(w.nodes.writes, { delete: gated });
    w.nodes.setReady("n0", "Unknown");
    await w.pass(300);
    expect(w.reported).toEqual([]);
    isOurs = true;
    await w.until(() => w.nodes.names().length === 4, "the deletion", 600);
    expect(w.reasons("n0")).toEqual(["DeletingNode"]);
  });

  test("holds ten of thirteen Nodes that disappear unannounced, with one event each [F22 N1]", async () => {
    const all = names(13);
    const w = setUp({ machines: all.map((name) => machine(name)) }).start("lifecycle");
    ready(w, all);
    for (const name of all.slice(0, 10)) {
      w.cloud.hidden.set(name, "both");
      w.nodes.setReady(name, "Unknown");
    }
    await w.pass(1200);
    expect(w.nodes.names()).toHaveLength(13);
    expect(w.reasons("n3")).toEqual(["MassDeletionHeld"]);
    expect(heldFor(w)).toEqual(Array.from({ length: 10 }, () => "MassDeletionHeld"));
    const asked = w.cloud.listings;
    await w.pass(600);
    expect(w.cloud.listings - asked).toBeLessThanOrEqual(11);
    w.cloud.hidden.clear();
    await w.pass(120);
    expect(heldFor(w)).toEqual([]);
    // A Node whose machine is still missing after the cloud recovered is evaluated again.
    w.cloud.machines.delete("n0");
    await w.pass(400);
    expect(w.nodes.names()).toEqual(all.slice(1).sort());
  });

  test("shows the current numbers of a hold, without another event when they change", async () => {
    const all = names(13);
    const w = setUp({ machines: all.map((name) => machine(name)) }).start("lifecycle");
    ready(w, all);
    const lose = (name: string) => {
      w.cloud.hidden.set(name, "both");
      w.nodes.setReady(name, "Unknown");
    };
    const text = () => w.lifecycle.report().problems.get("n0")?.[0]?.text;
    for (const name of all.slice(0, 4)) lose(name);
    await w.pass(300);
    expect(text()).toStartWith("The cloud shows no instance for 4 of 13 Nodes.");
    lose("n4");
    await w.pass(600);
    expect(text()).toStartWith("The cloud shows no instance for 5 of 13 Nodes.");
    expect(w.reasons("n0")).toEqual(["MassDeletionHeld"]);
  });

  test("keeps the remaining held Nodes after lookups show the other Nodes, because all proofs date from the same fault", async () => {
    const all = names(13);
    const w = setUp({ script: both, machines: all.map((name) => machine(name)) }).start("lifecycle");
    ready(w, all);
    for (const name of all.slice(0, 4)) {
      w.cloud.hidden.set(name, "both");
      w.nodes.setReady(name, "Unknown");
    }
    await w.until(() => heldFor(w).length === 4, "the hold", 300);
    w.cloud.hidden.clear();
    // A request by another controller shows two of them.
    for (const name of ["n0", "n1"]) {
      const since = w.clock.monotonic();
      w.inventory.request(
        { ...identityOf(w.nodes.node(name)) },
        { urgency: "deletion-proof", method: "lookup", since },
      );
    }
    await w.pass(120);
    expect(w.nodes.names()).toHaveLength(13);
  });

  test("keeps holding three of fourteen Nodes when another Node joins", async () => {
    const all = names(14);
    const w = setUp({ machines: names(15).map((name) => machine(name)) }).start("lifecycle");
    ready(w, all);
    for (const name of all.slice(0, 3)) {
      w.cloud.hidden.set(name, "both");
      w.nodes.setReady(name, "Unknown");
    }
    await w.pass(300);
    expect(heldFor(w)).toEqual(Array.from({ length: 3 }, () => "MassDeletionHeld"));
    ready(w, ["n14"]);
    await w.pass(1800);
    expect(w.nodes.names()).toHaveLength(15);
  });

  const forbid = (w: NodeControllers, name: string) =>
    w.nodes.annotate(name, { "fairlead.dev/node-deletion": "never" });

  test.each([
    ["announced as leaving", 5, announce],
    ["annotated with node-deletion=never", 5, forbid],
    ["deleted by a user", 4, (w: NodeControllers, name: string) => w.nodes.remove(name)],
  ] as const)(
    "keeps holding the last two of three Nodes when the third is %s, until the cloud shows it",
    async (_, left, change) => {
      const all = names(5);
      const w = setUp({ machines: all.map((name) => machine(name)) }).start("lifecycle");
      ready(w, all);
      for (const name of all.slice(0, 3)) w.cloud.hidden.set(name, "both");
      // The third one is still Ready.
      for (const name of all.slice(0, 2)) w.nodes.setReady(name, "Unknown");
      await w.until(() => heldFor(w).length === 2, "the hold", 300);
      change(w, "n2");
      await w.pass(300);
      expect(w.nodes.names()).toHaveLength(left);
      w.cloud.hidden.delete("n2");
      await w.until(() => w.nodes.names().length === left - 2, "the two to be deleted", 900);
    },
  );

  test("deletes held Nodes with the annotation node-deletion=confirmed [F22]", async () => {
    const all = names(10);
    const w = setUp({ machines: [] }).start("lifecycle");
    ready(w, all);
    for (const name of all) w.nodes.setReady(name, "False");
    await w.pass(300);
    expect(w.nodes.names()).toHaveLength(10);
    for (const name of ["n0", "n1", "n2"])
      w.nodes.annotate(name, { "fairlead.dev/node-deletion": "confirmed" });
    await w.pass(70);
    expect(w.nodes.names()).toEqual(names(10).slice(3));
  });

  test("counts deletions of the last ten minutes towards the limit [N1]", async () => {
    const all = names(10);
    const w = setUp({ machines: all.map((name) => machine(name)) }).start("lifecycle");
    ready(w, all);
    const lose = (name: string) => {
      w.cloud.machines.delete(name);
      w.nodes.setReady(name, "False");
    };
    for (const name of ["n0", "n1", "n2"]) {
      lose(name);
      await w.pass(60);
    }
    expect(w.nodes.names()).not.toContain("n0");
    expect(w.nodes.names()).not.toContain("n1");
    expect(w.nodes.names()).toContain("n2");
    await w.pass(660);
    expect(w.nodes.names()).not.toContain("n2");
  });

  test("machines that the cloud was terminating do not count towards the limit [F22]", async () => {
    const all = names(8);
    const w = setUp({ machines: all.map((name) => machine(name, { state: "terminating" })) });
    w.start("lifecycle");
    ready(w, all);
    for (const name of all.slice(0, 6)) w.nodes.setReady(name, "Unknown");
    await w.pass(10);
    for (const name of all.slice(0, 6)) w.cloud.machines.delete(name);
    await w.pass(600);
    expect(w.nodes.names()).toEqual(["n6", "n7"]);
  });
});

describe("lifecycle controller with an existing machine", () => {
  test("adds the shutdown taint when a listing shows that the machine was stopped, although the next check is later [F19]", async () => {
    const w = setUp({ machines: [machine("n0")] }).start("lifecycle");
    settled(w, "n0");
    await w.pass(5);
    w.cloud.put(machine("n0", { state: "stopped" }));
    w.inventory.requestListing(w.clock.monotonic(), "refresh");
    await w.pass(5);
    expect(w.nodes.node("n0").spec.taints).toEqual([shutdown]);
  });

  test("a machine that a listing showed as terminating before it disappeared does not count towards the limit [F22]", async () => {
    const w = setUp({ machines: [machine("n0")], lifecycle: { removalLimit: { share: 0, min: 0, max: 0 } } });
    w.start("lifecycle");
    settled(w, "n0");
    await w.pass(5);
    w.cloud.put(machine("n0", { state: "terminating" }));
    w.inventory.requestListing(w.clock.monotonic(), "refresh");
    await w.pass(5);
    w.cloud.machines.delete("n0");
    w.inventory.requestListing(w.clock.monotonic(), "refresh");
    await w.pass(120);
    expect(w.nodes.names()).toEqual([]);
  });

  test("begins the proofs with the first listing that lacks a terminating machine, although the next check is later [F22]", async () => {
    const w = setUp({ machines: [machine("n0", { state: "terminating" })] }).start("lifecycle");
    settled(w, "n0");
    await w.pass(65);
    w.cloud.machines.delete("n0");
    w.inventory.requestListing(w.clock.monotonic(), "refresh");
    const since = w.clock.monotonic();
    while (w.nodes.names().includes("n0") && w.clock.monotonic() < since + 600_000) await w.pass(1);
    // The confirmation time is 30 s; checks are at least 60 s apart.
    expect(w.clock.monotonic() - since).toBeLessThanOrEqual(35_000);
  });

  test("adds the shutdown taint while the machine is stopped, and removes it when the machine starts [F19]", async () => {
    const w = setUp({ machines: [machine("n0", { state: "stopped" })] }).start("lifecycle");
    settled(w, "n0");
    await w.pass(5);
    expect(w.nodes.node("n0").spec.taints).toEqual([shutdown]);
    await w.pass(600);
    expect(w.nodes.sent).toHaveLength(1);
    w.cloud.put(machine("n0"));
    await w.pass(130);
    expect(w.nodes.node("n0").spec.taints).toBeUndefined();
  });

  test("replaces a shutdown taint that has a value, and keeps it while the machine is terminating [F19]", async () => {
    const w = setUp({ machines: [machine("n0", { state: "stopped" })] });
    const [first, last] = [
      { key: "a", effect: "NoExecute" },
      { key: "b", effect: "NoExecute" },
    ];
    settled(w, "n0");
    w.nodes.change("n0", (node) => ({
      ...node,
      spec: { ...node.spec, taints: [first, { ...shutdown, value: "by-hand" }, last] },
    }));
    w.start("lifecycle");
    await w.pass(5);
    expect(w.nodes.node("n0").spec.taints).toEqual([first, shutdown, last]);
    w.cloud.put(machine("n0", { state: "terminating" }));
    await w.pass(600);
    expect(w.nodes.node("n0").spec.taints).toEqual([first, shutdown, last]);
    expect(w.nodes.sent).toHaveLength(1);
  });

  test("removes the shutdown taint of a Ready Node without a cloud request [F19]", async () => {
    const w = setUp().start("lifecycle");
    settled(w, "n0", "True");
    const foreign = { key: "a", effect: "NoExecute" };
    w.nodes.change("n0", (node) => ({ ...node, spec: { ...node.spec, taints: [foreign, shutdown] } }));
    await w.pass(5);
    expect(w.nodes.node("n0").spec.taints).toEqual([foreign]);
    expect(w.cloud.calls).toEqual([]);
  });

  test("looks up the machine's state when listings omit it, without flapping taints [F19]", async () => {
    const w = setUp({ script: both, machines: [machine("n0", { state: "stopped" })] });
    const { cloud } = w;
    const list = cloud.list.bind(cloud);
    cloud.list = async function* (call) {
      for await (const page of list(call)) yield page.map(({ state: _, ...rest }) => rest);
    };
    w.start("lifecycle");
    settled(w, "n0");
    await w.pass(5);
    expect(w.nodes.node("n0").spec.taints).toEqual([shutdown]);
    w.inventory.requestListing(w.clock.monotonic(), "refresh");
    await w.pass(900);
    expect(w.nodes.sent).toHaveLength(1);
  });

  test("checks all Nodes that are not Ready in one listing [F24]", async () => {
    const all = names(100);
    const script = { takes: milliseconds(20), pageSize: 50 };
    const w = setUp({ script, machines: all.map((name) => machine(name)) }).start("lifecycle");
    for (const name of all) {
      settled(w, name);
      await w.pass(3);
    }
    const before = w.cloud.listings;
    await w.pass(600);
    // Two pages each: at most four requests per minute.
    expect(w.cloud.listings - before).toBeLessThanOrEqual(20);
    expect(w.cloud.listings - before).toBeGreaterThanOrEqual(4);
  });
});

test("observe mode deletes no Node, writes nothing and does not retry in a loop [N3]", async () => {
  const w = setUp({ mode: "observe", machines: [machine("off", { state: "stopped" })] }).start("lifecycle");
  settled(w, "off");
  settled(w, "gone");
  await w.pass(600);
  expect(w.nodes.sent).toEqual([]);
  expect(w.nodes.names()).toEqual(["gone", "off"]);
  const entries = w.nodes.journal.entries();
  expect(entries.length).toBeLessThan(30);
  expect(new Set(entries.map(({ object, outcome }) => `${object} ${outcome}`))).toEqual(
    new Set(["node/off observed", "node/gone observed"]),
  );
});
