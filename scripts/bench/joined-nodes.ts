// Creates Nodes that are initialized already, with their machines.

import { nodes } from "../../src/kube/resources.ts";
import { inParallel } from "../../test/cluster/rig/in-parallel.ts";
import { kubeletNode } from "../../test/cluster/rig/kubelet-objects.ts";
import { never } from "../../test/kube/cluster/connect.ts";
import type { Bench } from "./world.ts";

const excluded = { "node.kubernetes.io/exclude-from-external-load-balancers": "" };

export async function joinNode(
  { api, cloud }: Pick<Bench, "api" | "cloud">,
  name: string,
  isTarget: boolean,
): Promise<void> {
  const { id } = cloud.machines.add(name);
  const draft = kubeletNode(name, { providerID: `fake://${id}`, taints: [] });
  const labels = { ...draft.metadata.labels, ...(isTarget ? {} : excluded) };
  await api.create(nodes, { ...draft, metadata: { ...draft.metadata, labels } }, never);
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
