// Registers the cases for a real API server, when one is given; the cluster suite registers the same ones.

import { test } from "bun:test";
import { cases as coordination } from "./coordination.cluster.ts";
import { cases as guards } from "./nodes.cluster.ts";
import { cases as watching } from "./watching.cluster.ts";

const kubeconfig = Bun.env["FAIRLEAD_CLUSTER_KUBECONFIG"];
if (kubeconfig === undefined) {
  // Needs a server that a plain clone does not have; said by name, so that its absence is seen.
  test.skip("runs against a real API server only when FAIRLEAD_CLUSTER_KUBECONFIG names its kubeconfig", () => {});
} else {
  guards(kubeconfig);
  watching(kubeconfig);
  coordination(kubeconfig);
}
