// Reasons on Nodes: of the two node controllers and of routes. Data only.

import { onlyIfItLasts, type Reasons } from "./reason.ts";

export const onNodes: Reasons = {
  Synced: {
    type: "Normal",
    when: "it joined: addresses, provider id and labels are there, the taint is gone",
    upstream: true,
  },
  NothingToMatchBy: {
    type: "Warning",
    when: "it tells nothing by which its machine could be found, such as a system UUID",
    whatToDo: "have the kubelet set it, or give `--provider-id` to the kubelet",
  },
  NotFoundInCloud: {
    type: "Warning",
    when: "the cloud has no machine for it; it waits with its taint and is looked for again",
    whatToDo: "compare its name with the cloud's; look whether the machine is in another account or region",
  },
  AmbiguousMatch: {
    type: "Warning",
    when: "the cloud has several machines for it; the message names them",
    whatToDo: "rename all but one, or give `--provider-id` to the kubelet",
  },
  NodeIPMismatch: {
    type: "Warning",
    when: "the kubelet's `--node-ip` is not among the cloud's addresses",
    whatToDo: "correct `--node-ip`",
  },
  NoAddressLeft: {
    type: "Warning",
    when: "`--node-address-…` leaves none of the cloud's addresses; those of before stay",
    whatToDo: "widen the choice",
  },
  LabelDiffers: {
    type: "Warning",
    when: "a label is not what the cloud says, and is left as it is",
    whatToDo: "correct the label, or choose `--label-policy=KEY=sync`",
  },
  KubernetesRefused: {
    type: "Warning",
    when: "the API server refused a write",
    whatToDo: "read the message: a right is missing, or an admission rule is in the way",
  },
  InternalError: { type: "Warning", when: "a fault of ours or of the provider's", whatToDo: "report it" },
  DeletingNode: { type: "Normal", when: "its machine is gone; said after it was deleted", upstream: true },
  DeletingNodeFailed: {
    type: "Warning",
    when: "its machine is gone, and the API server refused to delete it",
    whatToDo: "read the message; mostly a right is missing",
    upstream: true,
  },
  DeletionForbidden: {
    type: "Warning",
    when: "its machine is gone, and `fairlead.dev/node-deletion=never` keeps it",
    whatToDo: "delete it by hand, or take the annotation off",
  },
  DeletionObserved: {
    type: "Warning",
    when: "its machine is gone, and `--node-deletion=observe` keeps it",
    whatToDo: "choose `--node-deletion=enforce` when you trust what you see",
  },
  MassDeletionHeld: {
    type: "Warning",
    when: "its machine looks gone, and so do too many others at once: none is deleted",
    whatToDo:
      "look whether the cloud lists everything; when they are gone indeed, `fairlead.dev/node-deletion=confirmed` lets each go",
  },
  FailedToCreateRoute: {
    type: "Warning",
    when: "a route could not be made; said at every attempt, as upstream does",
    whatToDo: "read the cloud's words",
    upstream: true,
  },
  RouteWaitsForMachine: {
    type: "Warning",
    when: "the cloud shows no machine for it yet, so its pod ranges get no route",
    whatToDo: "when it stays so, compare its name and provider id with the cloud's",
  },
  RouteUnknown: {
    type: "Warning",
    when: "the cloud is at a route, and for some attempts could not be asked what has become of it",
    whatToDo: onlyIfItLasts,
  },
  InvalidPodCIDR: {
    type: "Warning",
    when: "its pod range is none",
    whatToDo: "correct `spec.podCIDRs`, which means a new Node",
  },
  PodCIDROutsideCluster: {
    type: "Warning",
    when: "its pod range lies outside `--cluster-cidr`, so it gets no route",
    whatToDo: "widen the flag if the range is right",
  },
  PodCIDRTaken: {
    type: "Warning",
    when: "its pod range is another Node's",
    whatToDo: "look who gives out ranges: two allocators are at work",
  },
  RouteTaken: {
    type: "Warning",
    when: "there is a route for its pod range that is not ours and leads elsewhere",
    whatToDo: "remove that route, or give the Node another range",
  },
};
