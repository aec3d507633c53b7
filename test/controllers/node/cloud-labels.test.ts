import { afterEach, describe, expect, test } from "bun:test";
import { describePlan, planNode } from "../../../src/controllers/node/plan.ts";
import { type NodeSettings, nodeDefaults } from "../../../src/controllers/node/settings.ts";
import { cloudLabelsAnnotation } from "../../../src/controllers/well-known.ts";
import type { Node } from "../../../src/kube/objects.ts";
import { slimNode } from "../../../src/kube/slim.ts";
import type { Instance } from "../../../src/provider/instances.ts";
import { joins, NodeControllers, type SetupOptions } from "../../support/node-controllers.ts";
import { machine } from "../../support/scripted-source.ts";

let world: NodeControllers | undefined;
afterEach(() => world?.stop());
const setUp = (options?: SetupOptions): NodeControllers => {
  world = new NodeControllers(options);
  return world;
};

const labelsFrom = ["team", "example.com/*"];
const withLabels = (cloudLabels?: Instance["cloudLabels"], name = "n0") => machine(name, { cloudLabels });
const labelsOf = (w: NodeControllers, name = "n0") => w.nodes.node(name).metadata.labels ?? {};
const recordOf = (w: NodeControllers) => w.nodes.node("n0").metadata.annotations?.[cloudLabelsAnnotation];

/** The machine changes, and a listing shows the change. */
async function show(w: NodeControllers, instance: Instance) {
  await w.pass(1);
  w.cloud.put(instance);
  w.inventory.requestListing(w.clock.monotonic(), "refresh");
  await w.pass(30);
}

/** A cluster with one initialized Node of this machine. */
async function joined(cloudLabels: Instance["cloudLabels"], node: Partial<NodeSettings> = { labelsFrom }) {
  const w = setUp({ machines: [withLabels(cloudLabels)], node });
  w.start("node");
  joins(w);
  await w.until(() => w.initialized.includes("n0"), "the Node to be initialized");
  return w;
}

describe("labels from the cloud", () => {
  test("adds selected cloud labels to a joining Node in the write that removes its taint [F107]", async () => {
    const w = await joined({ team: "web", "example.com/rack": "r1", other: "x" });
    expect(labelsOf(w)).toMatchObject({ team: "web", "example.com/rack": "r1" });
    expect(labelsOf(w)).not.toHaveProperty("other");
    expect(recordOf(w)).toBe("example.com/rack,team");
    expect(w.nodes.sent).toHaveLength(2);
  });

  test("labels from the cloud change with the machine's labels, and are removed when the machine loses them [F107 N20]", async () => {
    const w = await joined({ team: "web", "example.com/rack": "r1" });
    await show(w, withLabels({ team: "shop" }));
    expect(labelsOf(w)).toMatchObject({ team: "shop" });
    expect(labelsOf(w)).not.toHaveProperty(["example.com/rack"]);
    expect(recordOf(w)).toBe("team");
    await show(w, withLabels({}));
    expect(recordOf(w)).toBeUndefined();
    expect(labelsOf(w)).not.toHaveProperty("team");
  });

  test("cloud labels cause no write in a settled cluster, and none without the setting [F107]", async () => {
    const w = await joined({ team: "web" });
    const sent = w.nodes.sent.length;
    await w.handOver();
    await show(w, withLabels({ team: "web", other: "y" }));
    expect(w.nodes.sent).toHaveLength(sent);
    await w.stop();
    const off = await joined({ team: "web" }, {});
    expect([labelsOf(off)["team"], recordOf(off)]).toStrictEqual([undefined, undefined]);
  });

  test("only plans cloud labels in observe mode [F107 N3]", async () => {
    const w = setUp({ machines: [withLabels({ team: "web" })], node: { labelsFrom }, mode: "observe" });
    w.nodes.add({ name: "n0", spec: { providerID: "fake://n0" } });
    w.start("node");
    await show(w, withLabels({ team: "shop" }));
    expect([w.nodes.sent, recordOf(w)]).toStrictEqual([[], undefined]);
    const actions = w.nodes.journal.entries().map(({ action }) => action);
    expect(actions.join("\n")).toContain("add /metadata/annotations");
  });

  test("keeps cloud labels while a cloud answer does not contain labels [F107]", async () => {
    const w = await joined({ team: "web" });
    const sent = w.nodes.sent.length;
    await show(w, machine("n0"));
    expect([labelsOf(w)["team"], w.nodes.sent.length]).toStrictEqual(["web", sent]);
  });

  test("reports cloud label keys that the Node cannot get once, however often they change [F107]", async () => {
    const w = await joined({ "example.com/a b": "1", team: "not a value" });
    for (const bad of ["c d", "e f"]) await show(w, withLabels({ [`example.com/${bad}`]: "1" }));
    expect(w.reasons("n0").filter((reason) => reason === "CloudLabelsSkipped")).toHaveLength(1);
    expect(w.reported.find(({ reason }) => reason === "CloudLabelsSkipped")?.message).toBe(
      'The Node does not get these labels of its machine, which --node-labels-from names: "example.com/a b", "team". A label must be valid in Kubernetes, and must not belong to Kubernetes or to the provider. A Node gets at most 32. Correct them in the cloud, or name other labels in --node-labels-from.',
    );
  });
});

interface Case {
  readonly present?: Readonly<Record<string, string>>;
  readonly record?: string;
  readonly cloud?: Readonly<Record<string, string>>;
  readonly settings?: Partial<NodeSettings>;
}

function planned({ present = {}, record, cloud, settings = {} }: Case) {
  const annotations = record === undefined ? {} : { [cloudLabelsAnnotation]: record };
  const node: Node = {
    metadata: { name: "n0", uid: "u", resourceVersion: "1", labels: present, annotations },
    spec: { providerID: "fake://n0" },
    status: { addresses: [{ type: "InternalIP", address: "10.0.0.1" }] },
  };
  const instance = machine("n0", { type: "", labels: { "cloud.example/type": "t" }, cloudLabels: cloud });
  const plan = planNode({
    node,
    instance,
    ownPrefixes: ["cloud.example/"],
    settings: { ...nodeDefaults, labelsFrom, ...settings },
  });
  const { "cloud.example/type": _own, ...labels } = plan.labels;
  return { labels, record: plan.annotations?.[cloudLabelsAnnotation], plan };
}

describe("the plan of labels from the cloud", () => {
  test.each([
    ["overwrites a different value", {}, { team: "cloud" }, "team"],
    ['keeps a different value with the policy "once"', { labelPolicies: { team: "once" } }, {}, undefined],
    [
      'reports a different value with the policy "report"',
      { labelPolicies: { team: "report" } },
      {},
      undefined,
    ],
    ["keeps a different value with --reconcile-labels=false", { reconcileLabels: false }, {}, undefined],
  ] as const)("%s [F107 N20]", (_, settings, labels, record) => {
    const result = planned({ present: { team: "hand" }, cloud: { team: "cloud" }, settings });
    expect([result.labels, result.record]).toStrictEqual([labels, record]);
  });

  test("a label that the Node already had with the same value is not Fairlead's, so it stays when the cloud removes it [F107]", () => {
    const equal = planned({ present: { team: "web" }, cloud: { team: "web" } });
    expect([equal.labels, equal.record]).toStrictEqual([{}, undefined]);
    expect(planned({ present: { team: "web" }, cloud: {} }).labels).toStrictEqual({});
  });

  test("removes its labels when the flag no longer selects them, and logs the removal [F107]", () => {
    const present = { team: "web", "example.com/rack": "r1" };
    const { labels, record, plan } = planned({
      present,
      record: "example.com/rack,team",
      cloud: present,
      settings: { labelsFrom: ["team"] },
    });
    expect([labels, record]).toStrictEqual([{ "example.com/rack": undefined }, "team"]);
    expect(describePlan(plan)).toContain("no label example.com/rack");
    const off = planned({ present, record: "team", cloud: present, settings: { labelsFrom: [] } });
    expect([off.labels, off.record]).toStrictEqual([{ team: undefined }, undefined]);
  });

  test('keeps written labels with the policy "once" [F107 N20]', () => {
    const settings = { labelPolicies: { team: "once" } } as const;
    expect(planned({ present: { team: "web" }, record: "team", cloud: {}, settings }).labels).toStrictEqual(
      {},
    );
  });
});

describe("hostile labels of the cloud", () => {
  const everything = ["*"];
  test.each([
    "kubernetes.io/hostname",
    "node.kubernetes.io/exclude-from-external-load-balancers",
    "node-restriction.kubernetes.io/tier",
    "node-role.kubernetes.io/control-plane",
    "topology.k8s.io/zone",
    "k8s.io/x",
    "node-role",
    "node-role/control-plane",
    "cloud.example/type",
    "cloud.example/other",
    "a..b/c",
    "-a/b",
    "A/b",
    "a/b/c",
    "/b",
    "a/",
    "",
    "__proto__",
    "a b",
    "é",
    `${"a".repeat(64)}`,
    `${"a".repeat(254)}/b`,
    "team\n",
  ])("hostile cloud labels never set the key %j [F107 N25]", (key) => {
    const cloud = Object.fromEntries([[key, "x"]]);
    const set = planned({ cloud, settings: { labelsFrom: everything } });
    expect(Object.keys(set.labels)).toStrictEqual([]);
    expect(set.plan.problems.map(({ reason }) => reason)).toStrictEqual(["CloudLabelsSkipped"]);
  });

  test.each(["kubernetes.io/hostname", "node-restriction.kubernetes.io/tier", "cloud.example/other"])(
    "the record in a Node's annotation never removes %s [F107 N25]",
    (key) => {
      const { labels } = planned({ present: { [key]: "x" }, record: key, cloud: {} });
      expect(labels).toStrictEqual({});
    },
  );

  test.each(["a b", "x".repeat(64), "-x", "x\u0000", "a/b", "{}"])(
    "hostile cloud labels never set the value %j [F107 N25]",
    (value) => {
      expect(planned({ cloud: { team: value } }).labels).toStrictEqual({});
    },
  );

  test("treats names of inherited object properties like any other key [F107 N25]", () => {
    const settings = { labelsFrom: everything };
    const first = planned({ cloud: { constructor: "x" }, settings } as Case);
    expect([first.labels, first.record]).toStrictEqual([{ constructor: "x" } as never, "constructor"]);
    const second = planned({
      cloud: { constructor: "x" },
      present: { constructor: "x" },
      record: "constructor",
      settings,
    } as unknown as Case);
    expect([second.labels, second.record]).toStrictEqual([{}, "constructor"]);
  });

  test("limits cloud labels to 32, the first by key, with a short report and an annotation that is kept when it is read [F107 N25]", () => {
    const many = (prefix: string) =>
      Object.fromEntries(
        Array.from({ length: 500 }, (_, index) => [`${prefix}${String(index).padStart(3, "0")}`, "x"]),
      );
    const { labels, plan } = planned({ cloud: many("example.com/k") });
    expect(Object.keys(labels)).toHaveLength(32);
    expect(Object.keys(labels).at(-1)).toBe("example.com/k031");
    expect(plan.problems[0]?.text.length).toBeLessThan(800);
    const long = planned({ cloud: many(`example.com/${"k".repeat(50)}`) });
    const annotations = { [cloudLabelsAnnotation]: long.record ?? "" };
    const metadata = { name: "n0", uid: "u", resourceVersion: "1", annotations };
    expect(slimNode({ metadata, spec: {}, status: {} }).metadata.annotations).toStrictEqual(annotations);
    expect(long.record?.split(",")).toStrictEqual(Object.keys(long.labels));
  });
});
