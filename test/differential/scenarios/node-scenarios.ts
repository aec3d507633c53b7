// Nodes that join, change, stop and leave.

import type { SimulatedMachine } from "../../../providers/fake/simulator/machines.ts";
import type { Node } from "../../../src/kube/objects.ts";
import { isUninitialized } from "../../cluster/rig/cluster.ts";
import type { Batch, Explained, Scenario, Step } from "../rig/scenario.ts";
import type { NodeChanges, World } from "../rig/world.ts";

const nodeIP = "alpha.kubernetes.io/provided-node-ip";
const zone = "topology.kubernetes.io/zone";
const betaZone = "failure-domain.beta.kubernetes.io/zone";
const region = "topology.kubernetes.io/region";
const type = "node.kubernetes.io/instance-type";
const uninitialized = "node.cloudprovider.kubernetes.io/uninitialized";
const shutdown = "node.cloudprovider.kubernetes.io/shutdown";
const excluded = "node.kubernetes.io/exclude-from-external-load-balancers";

const isJoined = async (world: World, name: string): Promise<boolean> => {
  const node = await world.node(name);
  return node !== undefined && !isUninitialized(node);
};

const hasEvent = async (world: World, name: string): Promise<boolean> =>
  (await world.events()).some(({ involvedObject }) => involvedObject.name === name);

type Changes = NodeChanges | ((machine: SimulatedMachine) => NodeChanges);

interface Joining {
  readonly machine?: Partial<SimulatedMachine>;
  /** The name of the machine; by default, that of the Node. */
  readonly called?: string;
}

/** A machine starts, and its kubelet registers. */
export const registers = (
  name: string,
  changes: Changes = {},
  { machine = {}, called = name }: Joining = {},
): Step => ({
  what: `the kubelet of ${name} registers it`,
  act: async (world) => {
    const added = world.machine(called, machine);
    await world.join(name, typeof changes === "function" ? changes(added) : changes);
  },
});

export const joins = (name: string, changes?: Changes, joining?: Joining): Step => ({
  ...registers(name, changes, joining),
  until: (world) => isJoined(world, name),
});

export const act = (what: string, action: Step["act"], until?: Step["until"]): Step =>
  until === undefined ? { what, act: action } : { what, act: action, until };

export const notReady = (name: string): Step =>
  act(`${name} is not Ready`, (world) => world.ready(name, false));
export const ready = (name: string): Step => act(`${name} is Ready`, (world) => world.ready(name, true));
export const isGone = (name: string) => async (world: World) => (await world.node(name)) === undefined;

const taints = (...keys: readonly string[]): NodeChanges["spec"] => ({
  taints: keys.map((key) => ({ key, value: "true", effect: "NoSchedule" })),
});

/** An event, and after some failures a condition, with the reason why a Node waits. */
const reported = (name: string, reason: string): readonly Explained[] => [
  { at: `Node ${name}: event Warning ${reason}: *`, row: "D5" },
  { at: `Node ${name}: condition CloudReady`, row: "D5" },
];

const joining: readonly Scenario[] = [
  { name: "by-name", title: "initializes a Node that it finds by name", steps: [joins("by-name")] },
  {
    name: "by-id",
    title: "initializes a Node by its provider id, with a machine of a different name",
    steps: [
      joins("by-id", ({ id }) => ({ spec: { providerID: `fake://${id}` } }), { called: "machine-of-by-id" }),
    ],
  },
  {
    name: "ip-external",
    title: "prefers the address of --node-ip",
    steps: [joins("ip-external", ({ public_ip }) => ({ annotations: { [nodeIP]: public_ip } }))],
  },
  {
    name: "ip-dual",
    title: "prefers the two addresses of a dual-stack --node-ip",
    steps: [
      joins(
        "ip-dual",
        ({ private_ip, public_ip }) => ({ annotations: { [nodeIP]: `${public_ip},${private_ip}` } }),
        { machine: { public_ip: "2001:db8:1::7" } },
      ),
    ],
  },
  {
    name: "ip-unknown",
    title: "keeps the taint while the cloud has no address of --node-ip",
    explained: reported("ip-unknown", "NodeIPMismatch"),
    steps: [registers("ip-unknown", { annotations: { [nodeIP]: "10.99.99.99" } })],
  },
  {
    name: "ip-invalid",
    title: "keeps the taint while --node-ip is not an address",
    explained: reported("ip-invalid", "NodeIPMismatch"),
    steps: [registers("ip-invalid", { annotations: { [nodeIP]: "10.0.0.300" } })],
  },
  {
    name: "ip-any",
    title: "keeps the taint while --node-ip is 0.0.0.0",
    explained: reported("ip-any", "NodeIPMismatch"),
    steps: [registers("ip-any", { annotations: { [nodeIP]: "0.0.0.0" } })],
  },
  {
    name: "late",
    title: "initializes a Node whose machine appears later",
    explained: [
      { at: "Node late: event Warning NotFoundInCloud: *", row: "D5" },
      { at: "Node late: condition CloudReady", row: "D5", isSometimes: true },
    ],
    steps: [
      act("the kubelet of late registers it", (world) => world.join("late")),
      act(
        "its machine appears",
        (world) => world.machine("late"),
        (world) => isJoined(world, "late"),
      ),
    ],
  },
  {
    name: "no-such-id",
    title: "keeps the taint of a Node whose provider id does not exist",
    explained: reported("no-such-id", "NotFoundInCloud"),
    steps: [
      act("the kubelet registers it", (world) =>
        world.join("no-such-id", { spec: { providerID: "fake://999" } }),
      ),
    ],
  },
  {
    name: "foreign-id",
    title: "leaves a Node with the provider id of another cloud alone",
    explained: [{ at: "Node foreign-id: event Warning ForeignProviderID: *", row: "D7" }],
    steps: [registers("foreign-id", { spec: { providerID: "other:///zone/1" } }), notReady("foreign-id")],
  },
  {
    name: "ambiguous",
    title: "keeps the taint while two machines have the name of a Node",
    explained: [
      { at: "Node ambiguous: event Warning AmbiguousMatch: *", row: "D6" },
      { at: "Node ambiguous: condition CloudReady", row: "D5" },
    ],
    steps: [
      act("two machines start", async (world) => {
        world.machine("ambiguous");
        world.machine("ambiguous");
        await world.join("ambiguous");
      }),
    ],
  },
  {
    name: "labeled",
    title: "overwrites zone, region and type while a Node joins",
    steps: [
      joins("labeled", { labels: { [zone]: "mine", [betaZone]: "mine", [region]: "mine", [type]: "mine" } }),
    ],
  },
  {
    name: "own-label",
    title: "decides about an existing label of the provider",
    explained: [{ at: "Node own-label: label fake.example/type", row: "D9" }],
    steps: [joins("own-label", { labels: { "fake.example/type": "mine" } })],
  },
  {
    name: "tainted",
    title: "removes every uninitialized taint, and keeps other taints",
    steps: [
      joins("tainted", {
        spec: {
          taints: [
            { key: "dedicated", value: "gpu", effect: "NoExecute" },
            { key: uninitialized, value: "other", effect: "PreferNoSchedule" },
            { key: uninitialized, effect: "NoSchedule" },
          ],
        },
      }),
    ],
  },
  {
    name: "excluded",
    title: "initializes a Node that is excluded from load balancers",
    steps: [joins("excluded", { labels: { [excluded]: "" } })],
  },
  {
    name: "without-taint",
    title: "decides about labels of a Node that never had the uninitialized taint",
    explained: [
      { at: "Node without-taint: label fake.example/type", row: "D15" },
      ...[type, region, zone].map((key) => ({ at: `Node without-taint: label ${key}`, row: "D14" })),
    ],
    steps: [registers("without-taint", { spec: { taints: [] } })],
  },
  {
    name: "cordoned",
    title: "initializes a Node that is cordoned and not Ready",
    steps: [joins("cordoned", { spec: { ...taints(uninitialized), unschedulable: true }, isReady: false })],
  },
];

const labels = (name: string, wanted: Readonly<Record<string, string | null>>): Step =>
  act(`a user changes labels of ${name}`, (world) => world.editNode(name, { metadata: { labels: wanted } }));

const joined: readonly Scenario[] = [
  {
    name: "zone-ga",
    title: "decides about a zone label that a user changed",
    explained: [
      { at: `Node zone-ga: label ${zone}`, row: "D16" },
      { at: "Node zone-ga: event Warning LabelDiffers: *", row: "D14" },
    ],
    steps: [joins("zone-ga"), labels("zone-ga", { [zone]: "mine" })],
  },
  {
    name: "zone-beta",
    title: "decides about a beta zone label that a user changed",
    explained: [{ at: `Node zone-beta: label ${zone}`, row: "D16" }],
    steps: [joins("zone-beta"), labels("zone-beta", { [betaZone]: "mine" })],
  },
  {
    name: "zone-lost",
    title: "restores a zone label that a user removed",
    steps: [joins("zone-lost"), labels("zone-lost", { [zone]: null })],
  },
  {
    name: "type-ga",
    title: "restores a type label that a user changed",
    steps: [joins("type-ga"), labels("type-ga", { [type]: "mine" })],
  },
  {
    name: "address",
    title: "restores the addresses that another writer changed",
    steps: [
      joins("address"),
      act("a writer replaces the addresses", (world) =>
        world.editNodeStatus("address", {
          status: { addresses: [{ type: "Hostname", address: "address" }] },
        }),
      ),
    ],
  },
];

const hasTaint = (node: Node | undefined): boolean =>
  (node?.spec.taints ?? []).some(({ key }) => key === shutdown);

const stops = (name: string): Step =>
  act(
    `the machine of ${name} stops`,
    async (world) => {
      world.cloud.machines.setStatus(name, "stopped");
      await world.ready(name, false);
    },
    async (world) => hasTaint(await world.node(name)),
  );

const leaving: readonly Scenario[] = [
  {
    name: "stopped",
    title: "taints a Node whose machine stopped, until it is Ready again",
    steps: [
      joins("stopped"),
      stops("stopped"),
      act(
        "it starts, and is Ready",
        async (world) => {
          world.cloud.machines.setStatus("stopped", "running");
          await world.ready("stopped", true);
        },
        async (world) => !hasTaint(await world.node("stopped")),
      ),
    ],
  },
  {
    name: "gone",
    title: "deletes a Node that is not Ready and has no machine",
    steps: [
      joins("gone"),
      act(
        "its machine is removed",
        async (world) => {
          world.cloud.machines.remove("gone");
          await world.ready("gone", false);
        },
        isGone("gone"),
      ),
    ],
  },
  {
    name: "denied",
    title: "keeps a Node whose machine the cloud denies for a moment",
    explained: [
      { at: "Node denied: exists", row: "D20" },
      { at: "Node denied: event Normal DeletingNode: *", row: "D20" },
    ],
    steps: [
      joins("denied"),
      act("the cloud denies its machine for 5 seconds", async (world) => {
        world.cloud.faults.hide({ resource: "denied", from: "both", milliseconds: 5000 });
        await world.ready("denied", false);
      }),
    ],
  },
  {
    name: "gone-ready",
    title: "keeps a Ready Node without a machine",
    steps: [
      joins("gone-ready"),
      act("its machine is removed", (world) => world.cloud.machines.remove("gone-ready")),
    ],
  },
  {
    name: "terminating",
    title: "keeps a Node whose machine is being deleted",
    steps: [
      joins("terminating"),
      act("its machine is being deleted", async (world) => {
        world.cloud.machines.setStatus("terminating", "terminating");
        await world.ready("terminating", false);
      }),
    ],
  },
  {
    name: "young",
    title: "decides about a young Node without provider id and machine that is not Ready",
    explained: [
      { at: "Node young: exists", row: "D22" },
      { at: "Node young: event Normal DeletingNode: *", row: "D22" },
      // With the profile, the Node may be deleted first.
      { at: "Node young: event Warning NotFoundInCloud: *", row: "D5", isSometimes: true },
    ],
    steps: [
      act(
        "the kubelet of young registers it",
        (world) => world.join("young", { isReady: false }),
        async (world) => (await isGone("young")(world)) || hasEvent(world, "young"),
      ),
    ],
  },
  {
    name: "finalized",
    title: "decides about a Node without a machine that is being deleted",
    explained: [
      { at: "Node finalized: event Normal DeletingNode: *", row: "D24" },
      { at: "Node finalized: event Warning DeletingNodeFailed: *", row: "D24", isSometimes: true },
    ],
    steps: [
      joins("finalized"),
      act("a user deletes it, and a finalizer holds it", async (world) => {
        await world.editNode("finalized", { metadata: { finalizers: ["example.com/hold"] } });
        await world.deleteNode("finalized");
        world.cloud.machines.remove("finalized");
        await world.ready("finalized", false);
      }),
      act("the finalizer is removed", (world) =>
        world.editNode("finalized", { metadata: { finalizers: null } }),
      ),
    ],
  },
  {
    name: "deleted",
    title: "leaves the machine of a Node that a user deletes",
    steps: [
      joins("deleted"),
      act("a user deletes it", (world) => world.deleteNode("deleted"), isGone("deleted")),
    ],
  },
];

export const nodes: Batch = [...joining, ...joined, ...leaving];
