// Names fixed by Kubernetes, the Go managers or Fairlead: taints, labels, annotations and conditions. None may ever change.

export const uninitializedTaint = "node.cloudprovider.kubernetes.io/uninitialized";
export const shutdownTaint = "node.cloudprovider.kubernetes.io/shutdown";
/**
 * Evicts the pods of a Node, and lets kube-controller-manager detach their volumes immediately. Administrators may set this taint.
 */
export const outOfServiceTaint = "node.kubernetes.io/out-of-service";
export const providedNodeIP = "alpha.kubernetes.io/provided-node-ip";

/** The current key of each label and its key in Kubernetes 1.16 and older; Go managers write both. */
export const labelPairs = {
  type: { current: "node.kubernetes.io/instance-type", beta: "beta.kubernetes.io/instance-type" },
  zone: { current: "topology.kubernetes.io/zone", beta: "failure-domain.beta.kubernetes.io/zone" },
  region: { current: "topology.kubernetes.io/region", beta: "failure-domain.beta.kubernetes.io/region" },
} as const;

/** The prefix of Fairlead's own annotations. */
export const ownPrefix = "fairlead.dev/";
/** On Nodes and Services: with "true", Fairlead makes no plans for the object and writes nothing to it. */
export const pausedAnnotation = "fairlead.dev/paused";
/** On Nodes: "never" prevents the deletion of the Node; "confirmed" allows it despite the mass limit. */
export const deletionAnnotation = "fairlead.dev/node-deletion";
/**
 * On Nodes, written with the out-of-service taint: when Fairlead set the taint. With a different time, or without one, another
 * client set the taint.
 */
export const outOfServiceAnnotation = "fairlead.dev/out-of-service-since";
/**
 * On Nodes: the comma-separated keys of labels that Fairlead wrote from the machine's labels. Fairlead removes only these labels.
 */
export const cloudLabelsAnnotation = "fairlead.dev/labels-from-cloud";
/** On the Lease of leader election: the removals that the mass limits count. */
export const removalsAnnotation = "fairlead.dev/removals";
/** On the Lease of leader election: the --cluster-name of the leader. */
export const clusterNameAnnotation = "fairlead.dev/cluster-name";
/** On the Lease of leader election: releases what a mass limit holds. The leader removes this annotation. */
export const releaseHoldAnnotation = "fairlead.dev/release-hold";
/** On Nodes: exists only while there is a problem between the Node and the cloud. A missing condition means healthy. */
export const cloudCondition = "CloudReady";
/** On Nodes: whether a route to the Node is missing. */
export const networkCondition = "NetworkUnavailable";

/** Taints that autoscalers set before they remove a Node. */
export const leavingTaints = [
  "ToBeDeletedByClusterAutoscaler",
  "karpenter.sh/disrupted",
  "karpenter.sh/disruption",
] as const;

/** Label keys that only Kubernetes may define; providers must not set them as additional labels. */
export const isReservedLabel = (key: string): boolean => /(^|\.)(kubernetes|k8s)\.io\//.test(key);

/** The sources of a manager's events. The Go managers use the first four. */
export const eventSources = [
  "cloud-node-controller",
  "cloud-node-lifecycle-controller",
  "service-controller",
  "route_controller",
  "volume-controller",
  "kubelet-serving-csr-controller",
  "tagging-controller",
] as const;
export type EventSource = (typeof eventSources)[number];
