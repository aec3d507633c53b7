import { afterEach, describe, expect, test } from "bun:test";
import type { NodeAddress, Taint } from "../../src/kube/objects.ts";
import type { Instance } from "../../src/provider/instances.ts";
import { NodeControllers, type SetupOptions } from "../support/node-controllers.ts";
import { machine, outage } from "../support/scripted-source.ts";
import { A2, A3, created, F, H, inCloud, nodeIP, readyUnknown, U } from "../support/upstream-nodes.ts";

// Rows of upstream's controllers/node/node_controller_test.go. V1 and V2 are one contract here: rows about a V1
// method, nil metadata or metadata without an id follow docs/decisions/0001-provider-contract.md.

let world: NodeControllers | undefined;
afterEach(() => world?.stop());

interface Row {
  readonly taints?: readonly Taint[];
  readonly addresses?: readonly NodeAddress[];
  readonly providerID?: string;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly labels?: Readonly<Record<string, string>>;
  /** The machine of node0 in the cloud. Without it, the cloud has no such machine. */
  readonly cloud?: Partial<Instance> & { readonly shows?: readonly NodeAddress[]; readonly spelled?: string };
  readonly options?: SetupOptions;
}

/** Reconciles node0 once and returns its state. */
const sync = async (row: Row) => {
  const { shows = A3, spelled = "fake://12345", ...rest } = row.cloud ?? {};
  const instance = machine("12345", { names: ["node0"], type: "", addresses: inCloud(shows), ...rest });
  const machines = row.cloud === undefined ? [] : [{ ...instance, id: spelled as Instance["id"] }];
  const scheme = (row.providerID ?? spelled).replace("12345", "");
  world = new NodeControllers({ machines, script: { scheme }, ...row.options });
  const before = world.nodes.add({
    name: "node0",
    createdAt: created,
    spec: {
      ...(row.taints !== undefined && { taints: row.taints }),
      ...(row.providerID !== undefined && { providerID: row.providerID }),
    },
    status: {
      conditions: [readyUnknown],
      ...(row.addresses !== undefined && { addresses: row.addresses }),
    },
    ...(row.annotations !== undefined && { annotations: row.annotations }),
    ...(row.labels !== undefined && { labels: row.labels }),
  });
  world.start("node");
  await world.pass(1);
  const { metadata, spec, status } = world.nodes.node("node0");
  expect(status.conditions).toEqual(before.status.conditions ?? []);
  return {
    world,
    isUnchanged: metadata.resourceVersion === before.metadata.resourceVersion,
    taints: spec.taints ?? [],
    providerID: spec.providerID,
    addresses: status.addresses ?? [],
    labels: metadata.labels ?? {},
    events: world.reasons("node0"),
  };
};

const synced = { events: ["Synced"], isUnchanged: false };
const topology = {
  "topology.kubernetes.io/zone": "us-west-1a",
  "failure-domain.beta.kubernetes.io/zone": "us-west-1a",
  "topology.kubernetes.io/region": "us-west",
  "failure-domain.beta.kubernetes.io/region": "us-west",
};
const west = { zone: "us-west-1a", region: "us-west" };
const asAWS = "aws://12345";
const preset = "node0.aws.12345";
const internal = [H("node0.cloud.internal")];

describe("Test_syncNode", () => {
  const kept: readonly [string, Row, Partial<Awaited<ReturnType<typeof sync>>>][] = [
    [
      "1: the cloud's hostname replaces the kubelet's",
      { taints: [U], addresses: [H("nodeoverriden")], cloud: {} },
      { ...synced, taints: [], providerID: "fake://12345", addresses: A3, labels: {} },
    ],
    [
      "2: the kubelet's hostname stays last when the cloud has none",
      { taints: [U], addresses: [H("nodeoverriden")], cloud: { shows: A2 } },
      { ...synced, addresses: [...A2, H("nodeoverriden")] },
    ],
    [
      "3: sets provider id and addresses and removes the taint",
      { taints: [U], cloud: {} },
      { ...synced, taints: [], providerID: "fake://12345", addresses: A3 },
    ],
    [
      "5: sets zone and region in both spellings",
      { taints: [U], cloud: { ...west, spelled: asAWS } },
      { ...synced, providerID: asAWS, labels: topology, addresses: A3 },
    ],
    [
      "6: keeps a foreign taint [F12]",
      { taints: [F, U], cloud: {} },
      { ...synced, taints: [F], addresses: A3, providerID: "fake://12345", labels: {} },
    ],
    [
      "8: accepts a provided node IP that the cloud lists [F8]",
      {
        taints: [F, U],
        annotations: nodeIP("10.0.0.1"),
        providerID: preset,
        addresses: internal,
        cloud: { shows: A2 },
      },
      { ...synced, taints: [F], providerID: preset, addresses: [...A2, ...internal] },
    ],
    [
      "9: refuses a malformed provided node IP [F8]",
      { taints: [F, U], annotations: nodeIP("invalid-ip"), providerID: preset, cloud: { shows: A2 } },
      { isUnchanged: true, taints: [F, U], events: ["NodeIPMismatch"] },
    ],
    [
      "10: refuses a provided node IP that the cloud does not list [F8]",
      { taints: [F, U], annotations: nodeIP("10.0.0.2"), providerID: preset, cloud: { shows: A2 } },
      { isUnchanged: true, taints: [F, U], events: ["NodeIPMismatch"] },
    ],
    [
      "13: keeps an existing provider id",
      { taints: [U], providerID: "fake://12345", cloud: {} },
      { ...synced, taints: [], addresses: A3, providerID: "fake://12345" },
    ],
    [
      "15: sets the provider id as the cloud spells it",
      { taints: [U], cloud: { ...west } },
      { ...synced, providerID: "fake://12345", labels: topology, addresses: A3 },
    ],
    [
      "16: keeps a foreign taint, like row 6",
      { taints: [F, U], cloud: {} },
      { ...synced, taints: [F], providerID: "fake://12345", addresses: A3 },
    ],
    [
      "17: accepts a provided node IP, like row 8",
      {
        taints: [F, U],
        annotations: nodeIP("10.0.0.1"),
        providerID: preset,
        addresses: internal,
        cloud: { shows: A2 },
      },
      { ...synced, taints: [F], addresses: [...A2, ...internal] },
    ],
    [
      "18: sets additional labels [F4]",
      {
        taints: [F, U],
        annotations: nodeIP("10.0.0.1"),
        providerID: "node0.cp.12345",
        addresses: internal,
        cloud: {
          ...west,
          shows: A2,
          labels: { "topology.k8s.cp/zone-id": "az1", "my.custom.label/foo": "bar" },
        },
      },
      {
        ...synced,
        taints: [F],
        addresses: [...A2, ...internal],
        labels: { ...topology, "topology.k8s.cp/zone-id": "az1", "my.custom.label/foo": "bar" },
      },
    ],
    [
      "19: leaves out additional labels that are reserved or already exist",
      {
        taints: [U],
        labels: { "my.custom.label/foo": "fizz", "my.custom.label/bar": "foo" },
        cloud: {
          ...west,
          labels: {
            "topology.kubernetes.io/region": "us-other-west",
            "topology.k8s.io/region": "us-other-west",
            "kubernetes.io/region": "us-other-west",
            "k8s.io/region": "us-other-west",
            "my.custom.label/foo": "bar",
            "my.custom.label/bar": "foo",
            "app.k8snio/bar": "foo",
            "k8snio/bar": "foo",
          },
        },
      },
      {
        ...synced,
        labels: {
          ...topology,
          "my.custom.label/foo": "fizz",
          "my.custom.label/bar": "foo",
          "app.k8snio/bar": "foo",
          "k8snio/bar": "foo",
        },
      },
    ],
  ];
  test.each(kept)("Test_syncNode %s", async (_, row, expected) => {
    expect(await sync(row)).toMatchObject(expected as object);
  });

  test.each([11, 20])(
    "Test_syncNode %d: keeps a preset provider id and needs one cloud answer [F2]",
    async (_) => {
      const row = { taints: [F, U], providerID: "test-provider-12345", cloud: {} };
      const result = await sync(row);
      expect(result).toMatchObject({
        ...synced,
        taints: [F],
        providerID: "test-provider-12345",
        addresses: A3,
      });
      expect(result.world.cloud.calls).toHaveLength(1);
    },
  );

  test.each([4, 14])("Test_syncNode %d: leaves a Node without the taint unchanged", async (_) => {
    const result = await sync({ cloud: { ...west, type: "big" } });
    expect(result).toMatchObject({ isUnchanged: true, events: [] });
    expect(result.world.cloud.calls).toEqual([]);
  });

  const afterListing = async (options: SetupOptions) => {
    const { world: at } = await sync({ cloud: { ...west, type: "big" }, options });
    at.inventory.requestListing(at.clock.monotonic(), "refresh");
    await at.pass(1);
    return at.nodes.node("node0");
  };
  const typed = { "node.kubernetes.io/instance-type": "big" };

  test("Test_syncNode 4, refreshed (upstream): sets addresses and no labels with reconcileLabels off", async () => {
    const { metadata, spec, status } = await afterListing({ node: { reconcileLabels: false } });
    expect([metadata.labels, spec.providerID, status.addresses]).toEqual([undefined, undefined, [...A3]]);
  });

  test("Test_syncNode 4, refreshed (Fairlead): sets addresses and labels, and still no provider id [F5]", async () => {
    const { metadata, spec, status } = await afterListing({});
    expect(metadata.labels).toMatchObject(typed);
    expect([spec.providerID, status.addresses]).toEqual([undefined, [...A3]]);
  });

  // Upstream's nil metadata means "not mine". Here a provider id of no known source means that (decision 0001).
  test("Test_syncNode 7: leaves a Node of another cloud unchanged [F12]", async () => {
    const result = await sync({
      taints: [F, U],
      annotations: nodeIP("10.0.0.1"),
      providerID: preset,
      addresses: internal,
      cloud: {},
      options: { script: { scheme: "other://" } },
    });
    expect(result).toMatchObject({ isUnchanged: true, taints: [F, U], events: ["ForeignProviderID"] });
  });

  // A machine always has an id (decision 0001), so its Node gets one; an empty list of taints is absent.
  test("Test_syncNode 12: a machine without addresses gives its Node an id and removes the taint", async () => {
    const result = await sync({ taints: [U], cloud: { shows: [] } });
    expect(result).toMatchObject({ ...synced, taints: [], providerID: "fake://12345", addresses: [] });
  });

  // Metadata without an id does not exist (decision 0001), so this is a machine that the cloud does not know.
  test("Test_syncNode 21: a Node with an unknown machine keeps its taint and gets an event with the reason [F14]", async () => {
    expect(await sync({ taints: [U] })).toMatchObject({
      isUnchanged: true,
      taints: [U],
      events: ["NotFoundInCloud"],
    });
  });

  test("Test_syncNode 22: a failing cloud changes nothing and the Node gets an event [F14 F23]", async () => {
    world = new NodeControllers();
    world.cloud.failure = { error: outage() };
    world.nodes.add({ name: "node0", spec: { taints: [U] } });
    world.start("node");
    await world.pass(1);
    expect(world.nodes.sent).toEqual([]);
    expect(world.reasons("node0")).toEqual(["CloudUnavailable"]);
  });
});
