// Creates Nodes as a manager left them, with their machines, so that it has nothing to write for them.

import type { SimulatedMachine } from "../../providers/fake/simulator/machines.ts";
import { nodes } from "../../src/kube/resources.ts";
import { inParallel } from "../../test/cluster/rig/in-parallel.ts";
import { kubeletNode } from "../../test/cluster/rig/kubelet-objects.ts";
import { never } from "../../test/kube/cluster/connect.ts";
import type { Bench } from "./world.ts";

const excluded = { "node.kubernetes.io/exclude-from-external-load-balancers": "" };

const labelsOf = ({ type, zone }: SimulatedMachine): Record<string, string> => ({
  "node.kubernetes.io/instance-type": type,
  "beta.kubernetes.io/instance-type": type,
  "topology.kubernetes.io/zone": zone,
  "failure-domain.beta.kubernetes.io/zone": zone,
  "topology.kubernetes.io/region": "nowhere",
  "failure-domain.beta.kubernetes.io/region": "nowhere",
  "fake.example/type": type,
});

export async function joinNode(
  { api, cloud }: Pick<Bench, "api" | "cloud">,
  name: string,
  isTarget: boolean,
): Promise<void> {
  const machine = cloud.machines.add(name);
  const { metadata, spec, status } = kubeletNode(name, { providerID: `fake://${machine.id}`, taints: [] });
  const labels = { ...metadata.labels, ...labelsOf(machine), ...(isTarget ? {} : excluded) };
  const addresses = [
    { type: "Hostname", address: name },
    { type: "InternalIP", address: machine.private_ip },
    { type: "ExternalIP", address: machine.public_ip },
  ];
  await api.create(
    nodes,
    { metadata: { ...metadata, labels }, spec, status: { ...status, addresses } },
    never,
  );
}

/** The first `targets` Nodes are targets of load balancers; a label excludes the others. */
export function joinNodes(
  bench: Pick<Bench, "api" | "cloud">,
  count: number,
  targets: number,
): Promise<void> {
  const indexes = Array.from({ length: count }, (_, index) => index);
  return inParallel(indexes, 32, (index) => joinNode(bench, `node-${index}`, index < targets));
}
