// Windows Nodes in a whole manager, next to Linux Nodes: nothing depends on the operating system of a Node.

import { expect, test } from "bun:test";
import type { Node } from "../../src/kube/objects.ts";
import type { KubeObject } from "../../src/testing/apiserver/objects/kube-object.ts";
import { resourceNamed } from "../../src/testing/apiserver/objects/resource-table.ts";
import { toNode } from "../support/api-server-nodes.ts";
import { uninitialized } from "../support/node-controllers.ts";
import { ServiceWorld } from "../support/service-world.ts";

const nodes = resourceNamed("nodes");
/** Pools of Windows Nodes often have this taint, because most images are for Linux. */
const osTaint = { key: "os", value: "windows", effect: "NoSchedule" } as const;

/** A Node as the kubelet registers it on Windows. */
function joinWindows(w: ServiceWorld, name: string, index: number, providerID?: string): void {
  const podCIDR = `10.244.${index}.0/24`;
  const labels = {
    "kubernetes.io/os": "windows",
    "kubernetes.io/arch": "amd64",
    "node.kubernetes.io/windows-build": "10.0.20348",
  };
  const spec = { taints: [uninitialized, osTaint], podCIDR, podCIDRs: [podCIDR] };
  const id = providerID === undefined ? {} : { providerID };
  const status = { addresses: [{ type: "Hostname", address: name }] } as const;
  const node = toNode({ name, uid: `uid-${name}`, labels, spec: { ...spec, ...id }, status });
  w.server.store.put(nodes, node as unknown as KubeObject);
}

async function start(): Promise<ServiceWorld> {
  const w = new ServiceWorld({ nodes: 0 });
  for (const name of ["linux-0", "linux-1"]) w.addNode(name);
  for (const name of ["linux-0", "linux-1"]) {
    const labels = { "kubernetes.io/os": "linux" };
    w.changeNode(name, (node) => ({ ...node, metadata: { ...node.metadata, labels } }));
  }
  w.cloud.machines.add("win-0", { zone: "zone-2", type: "large-8" });
  await w.start("--controllers=*", "--cluster-cidr=10.244.0.0/16", "--configure-cloud-routes");
  joinWindows(w, "win-0", 7);
  await w.pass(90);
  return w;
}

const nodeNamed = (w: ServiceWorld, name: string) =>
  w.server.store.get("nodes", undefined, name) as unknown as Node | undefined;

const targetsOf = (w: ServiceWorld, service: string): readonly string[] => {
  const { uid } = w.get(service).metadata;
  const balancer = w.cloud.balancers.list().find(({ labels }) => labels["owner-uid"] === uid);
  const nameOf = new Map(w.cloud.machines.list().map(({ id, name }) => [id, name]));
  return (balancer?.targets ?? []).map((id) => nameOf.get(id) ?? id).toSorted();
};

test("a Windows Node is initialized with id, addresses and labels, and keeps the labels and taints of its pool [F98]", async () => {
  const w = await start();
  const [machine] = w.cloud.machines.find("win-0");
  const node = nodeNamed(w, "win-0");
  expect(node?.spec).toMatchObject({ providerID: `fake://${machine?.id}`, taints: [osTaint] });
  expect(node?.metadata.labels).toMatchObject({
    "kubernetes.io/os": "windows",
    "node.kubernetes.io/windows-build": "10.0.20348",
    "node.kubernetes.io/instance-type": "large-8",
    "topology.kubernetes.io/zone": "zone-2",
  });
  expect(node?.status.addresses).toContainEqual({
    type: "InternalIP",
    address: machine?.private_ip as string,
  });
});

test("a Windows Node gets the route to its pods [F98 F58]", async () => {
  const w = await start();
  const [machine] = w.cloud.machines.find("win-0");
  expect(w.cloud.routes.list()).toMatchObject([
    { destination: "10.244.7.0/24", machine: machine?.id as string },
  ]);
  expect(nodeNamed(w, "win-0")?.status.conditions).toContainEqual(
    expect.objectContaining({ type: "NetworkUnavailable", status: "False" }),
  );
});

test("a Windows Node is a load balancer target, unless a Service selects Linux Nodes by their label [F98 F42]", async () => {
  const w = await start();
  w.create("web");
  w.create("linux-only", { annotations: { "fairlead.dev/target-selector": "kubernetes.io/os=linux" } });
  await w.pass(60);
  expect(targetsOf(w, "web")).toEqual(["linux-0", "linux-1", "win-0"]);
  expect(targetsOf(w, "linux-only")).toEqual(["linux-0", "linux-1"]);
});

test("a Windows Node is deleted when its machine is proved to be gone [F98 F18]", async () => {
  const w = await start();
  w.create("web");
  await w.pass(60);
  w.cloud.machines.remove("win-0");
  w.setReady("win-0", "False");
  await w.pass(300);
  expect(nodeNamed(w, "win-0")).toBeUndefined();
  expect([targetsOf(w, "web"), w.cloud.routes.list()]).toEqual([["linux-0", "linux-1"], []]);
});

test("a Windows Node with a name truncated to 15 characters reports a remedy, and is initialized by its provider id [F98 F13]", async () => {
  const w = await start();
  const { id } = w.cloud.machines.add("win-pool-7f9c4d8b5-x2x9k");
  joinWindows(w, "win-pool-7f9c4d", 8);
  await w.pass(60);
  expect(nodeNamed(w, "win-pool-7f9c4d")?.spec.providerID).toBeUndefined();
  const [event] = w.events("win-pool-7f9c4d");
  expect(event).toContain(
    'The cloud has no instance named "win-pool-7f9c4d", so the Node stays uninitialized.',
  );
  expect(event).toContain("set --provider-id on the kubelet");
  w.removeNode("win-pool-7f9c4d");
  joinWindows(w, "win-pool-7f9c4d", 8, `fake://${id}`);
  await w.pass(60);
  expect(nodeNamed(w, "win-pool-7f9c4d")?.spec.taints).toEqual([osTaint]);
});
