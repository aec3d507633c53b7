// Reasons on Services. Data only.

import { onlyIfItLasts, type Reasons } from "./reason.ts";

export const onServices: Reasons = {
  EnsuringLoadBalancer: { type: "Normal", when: "something is about to be made or changed", upstream: true },
  EnsuredLoadBalancer: { type: "Normal", when: "it is done", upstream: true },
  UpdatedLoadBalancer: { type: "Normal", when: "only the targets were changed", upstream: true },
  DeletingLoadBalancer: { type: "Normal", when: "the balancer is about to be deleted", upstream: true },
  DeletedLoadBalancer: { type: "Normal", when: "nothing of it is left in the cloud", upstream: true },
  ReleasingLoadBalancer: {
    type: "Normal",
    when: "the balancer is about to be given back, as `on-delete` asks",
  },
  ReleasedLoadBalancer: {
    type: "Normal",
    when: "it stays in the cloud and is not ours any more; the message has its name",
  },
  DeletionHeld: {
    type: "Warning",
    when: "the Service ends, and `on-delete` cannot be followed: its value is wrong, or this cloud cannot give a balancer back",
    whatToDo: "correct the annotation; until then the finalizer stays",
  },
  ReleaseUnsupported: {
    type: "Warning",
    when: "the same, said before the Service ends",
    whatToDo: "as above",
  },
  WaitingForCloud: {
    type: "Normal",
    when: "what the cloud is still at, or a paused Service that shares its balancer",
  },
  UpdateLoadBalancerFailed: {
    type: "Warning",
    when: "a change of nothing but targets failed; a whole sync follows",
    whatToDo: "nothing, unless `SyncLoadBalancerFailed` follows",
    upstream: true,
  },
  SyncLoadBalancerFailed: {
    type: "Warning",
    when: "the cloud refused something; tried again, ever more rarely",
    whatToDo: "read the cloud's words",
    upstream: true,
  },
  DeleteLoadBalancerFailed: {
    type: "Warning",
    when: "the same of a deletion",
    whatToDo: "read the cloud's words",
    upstream: true,
  },
  LoadBalancerDrift: {
    type: "Warning",
    when: "somebody changed the balancer in the cloud; the message says what becomes of it",
    whatToDo: "change the Service instead, or choose `--load-balancer-drift=report`",
  },
  InvalidAnnotation: {
    type: "Warning",
    when: "a value is wrong; the setting keeps what the balancer has",
    whatToDo: "the message says what was expected and what came",
  },
  UnknownAnnotation: {
    type: "Warning",
    when: "an annotation under a prefix of ours is not known",
    whatToDo: "take the name that is proposed",
  },
  RenamedAnnotation: {
    type: "Warning",
    when: "an old name is used; it still counts",
    whatToDo: "take the new one",
  },
  MissingAnnotation: { type: "Warning", when: "one that must be there is not", whatToDo: "write it" },
  ImmutableAnnotation: {
    type: "Warning",
    when: "a setting was changed that this cloud takes only when the balancer is made",
    whatToDo: "change it back, or make a new Service",
  },
  InvalidSourceRange: {
    type: "Warning",
    when: "`spec.loadBalancerSourceRanges` or its annotation names what is no range",
    whatToDo: "correct it; until then the ranges stay as they are",
  },
  InvalidAddress: { type: "Warning", when: "`spec.loadBalancerIP` is no address", whatToDo: "correct it" },
  MissingSelector: {
    type: "Warning",
    when: "targets are to be chosen by labels, and no selector says by which",
    whatToDo: "write `fairlead.dev/target-selector`",
  },
  NoMatchingNode: {
    type: "Warning",
    when: "no Node matches the selector: there is no target",
    whatToDo: "correct it, or label Nodes",
  },
  TargetLimit: {
    type: "Warning",
    when: "there are more Nodes than the balancer takes; a part of them was chosen",
    whatToDo: "choose fewer by labels, or a larger balancer",
  },
  UnAvailableLoadBalancer: {
    type: "Warning",
    when: "there is no Node that could be a target",
    whatToDo: onlyIfItLasts,
    upstream: true,
  },
  NoEndpoints: {
    type: "Warning",
    when: "no Node has a ready endpoint of this Service: all stay targets until one has",
    whatToDo: "look at its pods",
  },
  EndpointsUnreadable: {
    type: "Warning",
    when: "we may not read which Nodes have endpoints: all are targets",
    whatToDo: "grant list and watch of `endpointslices`",
  },
  InputUnreadable: {
    type: "Warning",
    when: "a Secret or ConfigMap that the balancer needs may not be read (any more: then what was read last is used)",
    whatToDo: "grant get of it",
  },
  DrainUnsupported: {
    type: "Warning",
    when: "`target-drain` is asked for and this cloud cannot do it: Nodes that leave are left out at once",
    whatToDo: "take the annotation off",
  },
  AmbiguousAdoption: {
    type: "Warning",
    when: "more than one balancer, or more than one Service, fits what is to be adopted",
    whatToDo: "name one, on one Service",
  },
};
