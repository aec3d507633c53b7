// Names that Kubernetes, the Go managers or we have given for good. None of them may ever change.

export const uninitializedTaint = "node.cloudprovider.kubernetes.io/uninitialized";
export const shutdownTaint = "node.cloudprovider.kubernetes.io/shutdown";
export const providedNodeIP = "alpha.kubernetes.io/provided-node-ip";

/** Each fact in its present spelling and the one that Kubernetes 1.16 and older used; Go managers write both. */
export const labelPairs = {
  type: { current: "node.kubernetes.io/instance-type", beta: "beta.kubernetes.io/instance-type" },
  zone: { current: "topology.kubernetes.io/zone", beta: "failure-domain.beta.kubernetes.io/zone" },
  region: { current: "topology.kubernetes.io/region", beta: "failure-domain.beta.kubernetes.io/region" },
} as const;

/** Of everything under it the meaning is ours. */
export const ownPrefix = "fairlead.dev/";
/** Ours, on Nodes and Services: "true" means that we plan nothing for this object and write nothing to it. */
export const pausedAnnotation = "fairlead.dev/paused";
/** Ours, on Nodes: "never" keeps the Node whatever the cloud says; "confirmed" lets it go in spite of the mass limit. */
export const deletionAnnotation = "fairlead.dev/node-deletion";
/** Ours, on Nodes: there only while something is wrong between this Node and the cloud. Absent means fine. */
export const cloudCondition = "CloudReady";

/** Taints by which autoscalers announce that a Node is about to leave. */
export const leavingTaints = [
  "ToBeDeletedByClusterAutoscaler",
  "karpenter.sh/disrupted",
  "karpenter.sh/disruption",
] as const;

/** Label keys that only Kubernetes itself may define; an additional label of a provider never does. */
export const isReservedLabel = (key: string): boolean => /(^|\.)(kubernetes|k8s)\.io\//.test(key);
