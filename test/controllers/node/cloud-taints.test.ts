import { afterEach, describe, expect, test } from "bun:test";
import { planCloudTaints } from "../../../src/controllers/node/desired/cloud-taints.ts";
import type { Taint } from "../../../src/kube/objects.ts";
import type { Instance } from "../../../src/provider/instances.ts";
import { joins, NodeControllers, type SetupOptions } from "../../support/node-controllers.ts";
import { machine } from "../../support/scripted-source.ts";

let world: NodeControllers | undefined;
afterEach(() => world?.stop());
const setUp = (options?: SetupOptions): NodeControllers => {
  world = new NodeControllers(options);
  return world;
};

const taintsFrom = "example.com/";
const withLabels = (cloudLabels?: Instance["cloudLabels"]) => machine("n0", { cloudLabels });
const taintsOf = (w: NodeControllers) => w.nodes.node("n0").spec.taints ?? [];

async function show(w: NodeControllers, instance: Instance) {
  await w.pass(1);
  w.cloud.put(instance);
  w.inventory.requestListing(w.clock.monotonic(), "refresh");
  await w.pass(30);
}

async function joined(cloudLabels: Instance["cloudLabels"], node: SetupOptions["node"] = { taintsFrom }) {
  const w = setUp({ machines: [withLabels(cloudLabels)], node });
  w.start("node");
  joins(w);
  await w.until(() => w.initialized.includes("n0"), "the Node to be initialized");
  return w;
}

describe("taints from the cloud", () => {
  test("cloud taints replace the uninitialized taint of a joining Node in one write [F107]", async () => {
    const w = await joined({ "example.com/gpu": "true.NoSchedule", other: "NoSchedule" });
    expect(taintsOf(w)).toStrictEqual([{ key: "example.com/gpu", value: "true", effect: "NoSchedule" }]);
    expect(w.nodes.sent).toHaveLength(2);
  });

  test("cloud taints follow the machine, including removals, and do not affect taints of other clients [F107]", async () => {
    const w = await joined({ "example.com/gpu": "true:NoSchedule" });
    const others = [
      { key: "team", effect: "NoSchedule" },
      { key: "example.com/evict", effect: "NoExecute" },
    ];
    w.nodes.change("n0", (node) => ({
      ...node,
      spec: { ...node.spec, taints: [...taintsOf(w), ...others] },
    }));
    await show(
      w,
      withLabels({ "example.com/gpu": "a100:NoSchedule", "example.com/spot": "PreferNoSchedule" }),
    );
    expect(taintsOf(w)).toStrictEqual([
      ...others,
      { key: "example.com/gpu", value: "a100", effect: "NoSchedule" },
      { key: "example.com/spot", effect: "PreferNoSchedule" },
    ]);
    await show(w, withLabels({}));
    expect(taintsOf(w)).toStrictEqual(others);
  });

  test("cloud taints cause no write in a settled cluster, and stay while a cloud answer contains no labels [F107]", async () => {
    const w = await joined({ "example.com/gpu": "NoSchedule" });
    const sent = w.nodes.sent.length;
    await w.handOver();
    await show(w, machine("n0"));
    expect(taintsOf(w)).toHaveLength(1);
    await show(w, withLabels({ "example.com/gpu": "NoSchedule", other: "x" }));
    expect(w.nodes.sent).toHaveLength(sent);
  });

  test("adds no cloud taints without the setting [F107]", async () => {
    const w = await joined({ "example.com/gpu": "NoSchedule" }, {});
    expect(taintsOf(w)).toStrictEqual([]);
  });

  test("reports invalid cloud taints once [F107]", async () => {
    const w = await joined({ "example.com/evil": "NoExecute" });
    await show(w, withLabels({ "example.com/evil": "x:NoExecute" }));
    expect(taintsOf(w)).toStrictEqual([]);
    const reported = w.reported.filter(({ reason }) => reason === "CloudTaintsSkipped");
    expect(reported.map(({ message }) => message)).toStrictEqual([
      'The Node does not get these labels of its machine as taints, although their keys begin with --node-taints-from: "example.com/evil". Their value must be NoSchedule or PreferNoSchedule, or a value, a dot or colon, and one of these. Their key must be valid in Kubernetes, and must not belong to Kubernetes, the provider or an autoscaler. A Node gets at most 32. Correct them in the cloud.',
    ]);
  });
});

describe("hostile labels of the cloud", () => {
  const plan = (
    cloudLabels: Readonly<Record<string, string>>,
    taints: readonly Taint[] = [],
    prefix = "example.com/",
  ) =>
    planCloudTaints({
      taints,
      instance: machine("n0", { labels: {}, cloudLabels }),
      ownPrefixes: ["cloud.example/"],
      taintsFrom: prefix,
    });

  test.each([
    ["example.com/a", "NoExecute"],
    ["example.com/a", "x:NoExecute"],
    ["example.com/a", "NoSchedule:NoExecute"],
    ["example.com/a", ""],
    ["example.com/a", "true"],
    ["example.com/a", "a b:NoSchedule"],
    ["example.com/a", `${"x".repeat(64)}:NoSchedule`],
    ["example.com/a", "x\n:NoSchedule"],
    ["example.com/a b", "NoSchedule"],
    ["example.com/", "NoSchedule"],
    ["example.com/a/b", "NoSchedule"],
  ])("hostile cloud labels never set the taint %j with the value %j [F107 N25]", (key, value) => {
    const { changes, problems } = plan({ [key]: value });
    expect([changes, problems.map(({ reason }) => reason)]).toStrictEqual([
      undefined,
      ["CloudTaintsSkipped"],
    ]);
  });

  test.each([
    ["node.", "node.kubernetes.io/not-ready"],
    ["node.", "node.cloudprovider.kubernetes.io/shutdown"],
    ["To", "ToBeDeletedByClusterAutoscaler"],
    ["karpenter.sh/", "karpenter.sh/disrupted"],
    ["node-role", "node-role.kubernetes.io/control-plane"],
    ["cloud", "cloud.example/x"],
  ])(
    "hostile cloud labels with the prefix %s neither set nor remove the taint %s [F107 N25]",
    (prefix, key) => {
      expect(plan({ [key]: "NoSchedule" }, [], prefix).changes).toBeUndefined();
      expect(plan({}, [{ key, effect: "NoSchedule" }], prefix).changes).toBeUndefined();
    },
  );

  test("hostile cloud labels set at most 32 taints, the first by key [F107 N25]", () => {
    const labels = Object.fromEntries(
      Array.from({ length: 200 }, (_, index) => [
        `example.com/k${String(index).padStart(3, "0")}`,
        "NoSchedule",
      ]),
    );
    const { changes, problems } = plan(labels);
    expect(changes?.set.map(({ key }) => key).at(-1)).toBe("example.com/k031");
    expect(problems[0]?.text.length).toBeLessThan(900);
  });
});
