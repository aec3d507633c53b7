// Runs the cases against a real API server if one is given, as `npm run test:cluster` does.

import { test } from "bun:test";
import { sharedKubeconfig } from "../../cluster/rig/shared-plane.ts";
import { cases as coordination } from "./coordination.cluster.ts";
import { cases as guards } from "./nodes.cluster.ts";
import { cases as watching } from "./watching.cluster.ts";

const kubeconfig = sharedKubeconfig();
if (kubeconfig === undefined) {
  // Skipped on purpose: `npm test` must pass on a plain clone, which has no API server. `npm run test:cluster` and `.ci/run` start
  // one and run this file against it; without one, the skip has a name.
  test.skip("runs against a real API server only when FAIRLEAD_CLUSTER_KUBECONFIG names its kubeconfig", () => {});
} else {
  guards(kubeconfig);
  watching(kubeconfig);
  coordination(kubeconfig);
}
