// Nodes in the state that the measured manager leaves, so that it has nothing to write for them.

import { uninitializedTaint } from "../../src/controllers/well-known.ts";
import { listAll } from "../../src/kube/client/list-all.ts";
import { nodes } from "../../src/kube/resources.ts";
import { inParallel } from "../../test/cluster/rig/in-parallel.ts";
import { never } from "../../test/kube/cluster/connect.ts";
import { Progress } from "./progress.ts";
import { type Bench, untilDone } from "./world.ts";

const excluded = { "node.kubernetes.io/exclude-from-external-load-balancers": "" };

/** Creates Nodes that no manager has initialized. The first `targets` are targets of load balancers; a label excludes the others. */
export async function createNodes(bench: Bench, count: number, targets: number): Promise<readonly string[]> {
  const names = Array.from({ length: count }, (_, index) => `node-${String(index).padStart(5, "0")}`);
  await inParallel([...names.entries()], 32, ([index, name]) =>
    bench.join(name, index < targets ? {} : excluded),
  );
  return names;
}

/** Creates Nodes, lets a manager initialize them, and ends the manager. */
export async function joinNodes(bench: Bench, count: number, targets: number): Promise<void> {
  if (count === 0) return;
  await createNodes(bench, count, targets);
  const manager = bench.start();
  let initialized = 0;
  using _ = new Progress(() => `${initialized} of ${count} Nodes initialized`);
  const areInitialized = async () => {
    const items = await listAll(bench.api, nodes, never);
    // Nothing removes the taint of a Node that is not ready.
    initialized = items.filter(
      ({ spec }) => !spec.taints?.some(({ key }) => key === uninitializedTaint),
    ).length;
    return initialized === count;
  };
  await untilDone(manager, "it initialized the Nodes", areInitialized, { seconds: 600, everyMs: 1000 });
  await manager.stop();
}
