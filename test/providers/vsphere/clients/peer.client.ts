// The Go manager of vSphere and Fairlead on the same vcsim and the same real control plane: the Nodes that
// each creates, field by field, and what each writes when it takes over from the other.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { swapped } from "../../../../providers/vsphere/uuids.ts";
import { buildInto } from "../../../../scripts/test-runs.ts";
import type { Node } from "../../../../src/kube/objects.ts";
import { nodes } from "../../../../src/kube/resources.ts";
import { type ControlPlane, startControlPlane } from "../../../cluster/rig/control-plane.ts";
import { freePort } from "../../../cluster/rig/free-port.ts";
import { type KeptProcess, startProcess } from "../../../cluster/rig/kept-process.ts";
import { kubeletNode } from "../../../cluster/rig/kubelet-objects.ts";
import { until } from "../../../cluster/rig/until.ts";
import { OfficialClient } from "../../../support/official-client.ts";
import { CountingProxy } from "./rig/counting-proxy.ts";
import { Vcsim } from "./rig/vcsim.ts";

const count = Number(process.env["FAIRLEAD_PEER_NODES"] ?? 20);
const programs = { go: process.env["VSPHERE_GO_MANAGER"] ?? "", fairlead: "" };
const uninitialized = "node.cloudprovider.kubernetes.io/uninitialized";

let plane: ControlPlane;
let vcsim: Vcsim;
let proxy: CountingProxy;
let api: OfficialClient;
let config: string;

beforeAll(async () => {
  [plane, vcsim] = await Promise.all([
    startControlPlane(),
    Vcsim.start("-dc=1", `-vm=${count}`, "-tags", "-autostart=false"),
  ]);
  programs.fairlead = buildInto(plane.folder, "vsphere", "ignore");
  proxy = new CountingProxy(vcsim.started.host, 20);
  api = OfficialClient.open(plane.kubeconfig);
  await vcsim.installTools();
  for (const { name } of await vcsim.machines()) await vcsim.change(name, { power: "poweredOn" });
  const { user, password } = vcsim.started;
  config = plane.file(
    "vsphere.yaml",
    `global:\n  port: ${proxy.port}\n  insecureFlag: true\n  user: ${user}\n  password: ${password}\nvcenter:\n  sim:\n    server: 127.0.0.1\nlabels:\n  zone: k8s-zone\n  region: k8s-region\n`,
  );
});
afterAll(async () => {
  await proxy?.[Symbol.asyncDispose]();
  await vcsim?.[Symbol.asyncDispose]();
  await plane?.stop();
});

function start(name: keyof typeof programs): KeptProcess {
  return startProcess([
    programs[name],
    "--cloud-provider=vsphere",
    `--cloud-config=${config}`,
    `--kubeconfig=${plane.kubeconfig}`,
    `--secure-port=${freePort()}`,
    "--bind-address=127.0.0.1",
    "--controllers=*,-service,-route",
    // No manager waits until the Lease of the previous one has expired.
    `--leader-elect-resource-name=ccm-${crypto.randomUUID().slice(0, 8)}`,
  ]);
}

const nodeOf = (name: string) => name.toLowerCase().replaceAll("_", "-");
const isInitialized = ({ spec }: Node) => !(spec.taints ?? []).some(({ key }) => key === uninitialized);

/** Registers a new Node for each machine. */
async function register(): Promise<void> {
  for (const { metadata } of await api.list(nodes)) await api.delete(nodes, { name: metadata.name });
  for (const { name, uuid } of await vcsim.machines()) {
    const draft = kubeletNode(nodeOf(name));
    const { nodeInfo } = draft.status as unknown as { readonly nodeInfo: object };
    const status = { ...draft.status, nodeInfo: { ...nodeInfo, systemUUID: swapped(uuid) } };
    await api.create(nodes, { ...draft, status: status as unknown as Node["status"] });
  }
}

/** The fields that a cloud manager writes to a Node. */
function written({ metadata, spec, status }: Node) {
  const labels = Object.entries(metadata.labels ?? {}).filter(([key]) =>
    /node\.kubernetes\.io|topology/.test(key),
  );
  const addresses = (status.addresses ?? []).map(({ type, address }) => `${type} ${address}`);
  return {
    name: metadata.name,
    providerID: spec.providerID,
    taints: (spec.taints ?? []).map(({ key }) => key),
    labels: Object.fromEntries(labels.toSorted()),
    addresses,
  };
}

async function allNodes(): Promise<readonly Node[]> {
  const all = await api.list(nodes);
  return all.toSorted((one, other) => one.metadata.name.localeCompare(other.metadata.name));
}

/** Registers Nodes, which the manager initializes. The manager continues to run. */
async function initialize(name: keyof typeof programs) {
  await register();
  proxy.take();
  const started = performance.now();
  const manager = start(name);
  await until(`all Nodes to be initialized by ${name}`, async () => (await allNodes()).every(isInitialized), {
    seconds: 600,
    explain: () => manager.output().slice(-3000),
  });
  const seconds = (performance.now() - started) / 1000;
  const calls = proxy.take();
  console.log(`${name}: ${count} Nodes in ${seconds.toFixed(1)} s with ${calls.total} calls`, calls.byName);
  return { manager, seconds, calls: calls.total, result: (await allNodes()).map(written) };
}

const versions = async () =>
  (await allNodes()).map(({ metadata }) => [metadata.name, metadata.resourceVersion]);

/** Runs the manager on the Nodes of the other one until it has called vCenter, and for some seconds more. */
async function takeOver(name: keyof typeof programs): Promise<void> {
  const before = await versions();
  proxy.take();
  const manager = start(name);
  await until(`calls of ${name}`, () => proxy.take().total > 0, {
    seconds: 60,
    explain: () => manager.output().slice(-3000),
  });
  await Bun.sleep(15_000);
  const calls = proxy.take();
  console.log(`take-over by ${name}: ${calls.total} further calls`, calls.byName);
  const sessions = await vcsim.sessions();
  await manager.stop(10);
  console.log(`sessions of vcsim: ${sessions} while it ran, ${await vcsim.sessions()} afterwards`);
  expect(await versions()).toEqual(before);
}

let ofGo: Awaited<ReturnType<typeof initialize>>;

test("the Go manager initializes the Nodes", async () => {
  ofGo = await initialize("go");
  await ofGo.manager.stop(10);
  expect(ofGo.result).toHaveLength(count);
});

test("Fairlead takes over without a write to a Node", () => takeOver("fairlead"));

test("the Go manager takes over again without a write to a Node", () => takeOver("go"));

test("Fairlead creates the same Nodes as the Go manager with fewer calls", async () => {
  const { manager, result, calls } = await initialize("fairlead");
  await manager.stop(10);
  expect(result).toEqual(ofGo.result);
  expect(calls).toBeLessThanOrEqual(14);
  expect(await vcsim.sessions()).toBe(0);
});

test("the Go manager takes over from Fairlead without a write to a Node", () => takeOver("go"));
