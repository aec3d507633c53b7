// The node controllers of the executable with a real API server and a cloud over HTTP: Nodes join, machines are shut down
// and deleted, and cloud faults delete no Node.

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { Fault } from "../../providers/fake/simulator/fake-cloud.ts";
import { shutdownTaint } from "../../src/controllers/well-known.ts";
import type { Node } from "../../src/kube/objects.ts";
import { nodes } from "../../src/kube/resources.ts";
import { watch } from "../../src/kube/watch/watch.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { systemRandom } from "../../src/platform/random.ts";
import { connect } from "../kube/cluster/connect.ts";
import { type Cluster, isUninitialized, openCluster } from "./rig/cluster.ts";

let cluster: Cluster;
beforeEach(async () => {
  cluster = await openCluster();
});
afterEach(async () => {
  await cluster[Symbol.asyncDispose]();
});

/** Deletes a Node soon after the proof of absence. */
const quick = ["--absence-confirmation=2s", "--leader-elect=false"];
const always = 1_000_000;

const isShutdown = (node: Node | undefined): boolean =>
  (node?.spec.taints ?? []).some(({ key }) => key === shutdownTaint);

const joined = async (...names: readonly string[]): Promise<void> => {
  for (const name of names) {
    cluster.cloud.machines.add(name);
    await cluster.join(name);
  }
  for (const name of names) await cluster.initialized(name);
};

/** Waits for this many additional cloud listings. */
const listed = (count: number): Promise<true> => {
  const seen = () => cluster.cloud.seen.filter(({ operation }) => operation === "GET /machines").length;
  const before = seen();
  return cluster.until(`${count} more cloud listings`, () => seen() >= before + count);
};

test("a new Node gets addresses, provider id and labels before it loses its taint [F1 S4]", async () => {
  const { cloud, join } = cluster;
  const api = await connect(cluster.kubeconfig);
  const machine = cloud.machines.add("worker-1");
  const stop = new AbortController();
  const states: Node[] = [];
  const watching = (async () => {
    const options = { api, resource: nodes, clock: systemClock, random: systemRandom };
    for await (const step of watch(options, stop.signal))
      if (step.type === "object") states.push(step.object);
  })();
  cluster.manager({ flags: ["--leader-elect=false"] });
  await join("worker-1");
  const node = await cluster.initialized("worker-1");
  await cluster.until("the watch to show it", () => states.some((state) => !isUninitialized(state)));
  stop.abort();
  await watching;
  expect(node.spec.providerID).toBe(`fake://${machine.id}`);
  expect(node.metadata.labels).toMatchObject({
    "node.kubernetes.io/instance-type": "small-2",
    "topology.kubernetes.io/region": "nowhere",
    "topology.kubernetes.io/zone": machine.zone,
    "fake.example/type": "small-2",
    "kubernetes.io/hostname": "worker-1",
  });
  expect(node.status.addresses).toEqual([
    { type: "Hostname", address: "worker-1" },
    { type: "InternalIP", address: machine.private_ip },
    { type: "ExternalIP", address: machine.public_ip },
  ]);
  // Pods are scheduled once the taint is removed, so everything else must be set by then.
  for (const state of states) {
    const isComplete =
      state.spec.providerID !== undefined &&
      state.status.addresses?.length === 3 &&
      state.metadata.labels?.["topology.kubernetes.io/zone"] !== undefined;
    expect(isUninitialized(state) || isComplete).toBe(true);
  }
  expect(
    states.filter(({ spec }) => spec.providerID !== undefined).every((state) => !isUninitialized(state)),
  ).toBe(true);
  const [event] = await cluster.until("the event", async () => {
    const found = (await cluster.eventsOf("worker-1")).filter(({ reason }) => reason === "Synced");
    return found.length > 0 && found;
  });
  expect(event).toMatchObject({
    type: "Normal",
    message: "Node synced successfully",
    source: { component: "cloud-node-controller" },
    involvedObject: { kind: "Node", uid: node.metadata.uid },
  });
});

test("a Node that joined before the cloud listed its machine is initialized later [F1 F25]", async () => {
  await cluster.join("early");
  cluster.manager({ flags: ["--leader-elect=false"] });
  await listed(2);
  expect(isUninitialized((await cluster.node("early")) as Node)).toBe(true);
  cluster.cloud.machines.add("early");
  await cluster.initialized("early");
});

test("the Node of a stopped machine has the shutdown taint until the machine runs again [F19]", async () => {
  cluster.manager({ flags: ["--leader-elect=false", "--node-status-update-frequency=2s"] });
  await joined("sleeper");
  cluster.cloud.machines.setStatus("sleeper", "stopped");
  await cluster.ready("sleeper", false);
  await cluster.until("the taint", async () => isShutdown(await cluster.node("sleeper")));
  cluster.cloud.machines.setStatus("sleeper", "running");
  await cluster.ready("sleeper", true);
  await cluster.until("the removal of the taint", async () => !isShutdown(await cluster.node("sleeper")));
});

test("the Node of a deleted machine is deleted after the proof of absence, with an event [F18 F21]", async () => {
  cluster.manager({ flags: quick });
  await joined("staying", "leaving");
  cluster.cloud.machines.remove("leaving");
  await cluster.ready("leaving", false);
  const node = await cluster.node("leaving");
  await cluster.until("the deletion", async () => (await cluster.node("leaving")) === undefined);
  expect((await cluster.node("staying"))?.spec.providerID).toStartWith("fake://");
  const event = await cluster.until("the event", async () =>
    (await cluster.eventsOf("leaving")).find(({ reason }) => reason === "DeletingNode"),
  );
  expect(event.involvedObject.uid).toBe(node?.metadata.uid ?? "none");
});

test("a Ready Node stays although its machine is gone [F18]", async () => {
  cluster.manager({ flags: [...quick, "--node-status-update-frequency=1s"] });
  await joined("alive");
  cluster.cloud.machines.remove("alive");
  await listed(6);
  expect(await cluster.node("alive")).toBeDefined();
});

describe("a Node stays without proof of absence", () => {
  const faults: readonly (readonly [string, Fault])[] = [
    ["answers 429 [F23]", { kind: "status", status: 429, calls: always }],
    ["answers 401 [F23]", { kind: "status", status: 401, calls: always }],
    ["answers with an empty list [F18 F21]", { kind: "empty-list", calls: 1 }],
    ["answers with half a body [F23]", { kind: "cut", calls: always }],
    ["breaks the connection [F23]", { kind: "reset", calls: always }],
  ];
  test.each(faults)("keeps a Node when the cloud %s", async (_, fault) => {
    cluster.manager({ flags: [...quick, "--cloud-call-timeout=1s"] });
    await joined("doubtful");
    cluster.cloud.faults.add(fault);
    // With an empty list the machine still exists; with the other faults it is gone, but the cloud never reports that.
    if (fault.kind !== "empty-list") cluster.cloud.machines.remove("doubtful");
    await cluster.ready("doubtful", false);
    await listed(2);
    expect(await cluster.node("doubtful")).toBeDefined();
  });

  test("keeps a Node when the cloud answers 500, and deletes it once the cloud recovers [F18 F23]", async () => {
    cluster.manager({ flags: quick });
    await joined("doubtful");
    cluster.cloud.faults.add({ kind: "status", status: 500, calls: always });
    cluster.cloud.machines.remove("doubtful");
    await cluster.ready("doubtful", false);
    await listed(3);
    expect(await cluster.node("doubtful")).toBeDefined();
    cluster.cloud.faults.clear();
    await cluster.until("the deletion", async () => (await cluster.node("doubtful")) === undefined);
  });
});
