// The control planes that test files share: scripts/cluster-tests.ts starts one for each of its
// processes, because a test removes all Nodes and Services of earlier tests.

export const sharedPlanesVariable = "FAIRLEAD_CLUSTER_KUBECONFIG";

/** The kubeconfig for this process. */
export function sharedKubeconfig(): string | undefined {
  const paths = process.env[sharedPlanesVariable]?.split(":") ?? [];
  const index = Number(process.env["JEST_WORKER_ID"] ?? 1) - 1;
  return paths[index % paths.length];
}
