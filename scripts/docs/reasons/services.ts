// Reasons that appear on Services. Data only.

import { onlyIfItLasts, type Reasons, seeAnswer } from "./reason.ts";

export const onServices: Reasons = {
  EnsuringLoadBalancer: {
    type: "Normal",
    when: "The load balancer is about to be created or changed",
    upstream: true,
  },
  EnsuredLoadBalancer: { type: "Normal", when: "The load balancer was created or changed", upstream: true },
  UpdatedLoadBalancer: { type: "Normal", when: "Only the targets were changed", upstream: true },
  DeletingLoadBalancer: { type: "Normal", when: "The load balancer is about to be deleted", upstream: true },
  DeletedLoadBalancer: {
    type: "Normal",
    when: "The load balancer and all its parts were deleted, or the Service left a load balancer that other Services still use",
    upstream: true,
  },
  ReleasingLoadBalancer: {
    type: "Normal",
    when: "The load balancer is about to be released, as `on-delete` requires",
  },
  ReleasedLoadBalancer: {
    type: "Normal",
    when: "Fairlead removed its mark and kept the load balancer, because `on-delete` requires it or the cloud protects it against deletion. It may cost money. The message gives its name and address",
    whatToDo: "delete it in the cloud if it is not needed",
  },
  DeletionHeld: {
    type: "Warning",
    when: "The Service is deleted, but `on-delete` is invalid or the cloud cannot release a load balancer. The finalizer stays",
    whatToDo: "correct the annotation, or remove it to delete the load balancer",
  },
  ReleaseUnsupported: {
    type: "Warning",
    when: "`on-delete=release` is set, and the cloud cannot release a load balancer. A deletion would be held",
    whatToDo: "correct the annotation, or remove it",
  },
  WaitingForCloud: {
    type: "Normal",
    when: "The cloud is still applying a change, possibly for another Service that shares the load balancer",
  },
  LoadBalancerMissing: {
    type: "Warning",
    when: "A listing lacks a load balancer that existed, or shows only its duplicate. Nothing is created or removed until a lookup, or a second listing at least 30 s later, confirms the loss. Fairlead then creates a new load balancer, usually with a different address",
    whatToDo:
      "nothing; if a new load balancer is created, find out who deleted the previous one, and update DNS records",
  },
  AddressChanged: {
    type: "Warning",
    uncounted: "once",
    when: "The Service lost all its former addresses, because its load balancer was replaced or its settings changed. The message gives the former and the new addresses",
    whatToDo: "update DNS records and clients that use the former address",
  },
  CreatedButNotListed: {
    type: "Warning",
    when: "Fairlead sent two requests to create the load balancer, and no listing or lookup ever showed it. Fairlead does not try a third time until a listing shows the load balancer",
    whatToDo:
      "check the credential, project, region and filter in the cloud configuration; to try once more, change the Service or release the hold",
  },
  MassRecreationHeld: {
    type: "Warning",
    when: "More load balancers are absent than `--removal-limit` allows within ten minutes, or the cloud has not yet shown any object that the cluster records. No absent load balancer is recreated",
    whatToDo:
      "check the cloud, and that the credentials belong to its project; to create them anyway, run the command in the message",
  },
  MassRemovalHeld: {
    type: "Warning",
    when: "The Service no longer needs a load balancer, but its finalizer stays because too many load balancers are absent from the cloud. In `/debug/state`, it can mean that more Services vanished from the API within ten minutes than `--removal-limit` allows, so their load balancers are kept",
    whatToDo:
      "check the cloud, or restore the Services; to remove the load balancers anyway, run the command in the message",
  },
  TargetRemovalHeld: {
    type: "Warning",
    when: "The load balancer keeps its targets, because too many of them would be removed: more targets than the API server has shown Nodes since the start, or more Nodes vanished than are left, and Fairlead did not see their deletion. Or, with `--foreign-nodes=targets`, targets may be machines of Nodes about which the cloud does not answer",
    whatToDo:
      "check that the kubeconfig names the right cluster and that etcd was not restored; to remove the targets anyway, run the command in the message. For k3s and RKE2 Nodes, see which cloud requests fail",
  },
  ServiceVanished: {
    type: "Warning",
    uncounted: "hold",
    when: "Appears only in `/debug/state`. The Service vanished from the API less than 30 s ago, and Fairlead did not see its deletion. Its load balancer is kept for 30 s",
    whatToDo: "restore the Service to keep its load balancer",
  },
  DuplicateLoadBalancer: {
    type: "Warning",
    when: "The cloud has several load balancers with the mark of one Service. Fairlead manages the one whose address the Service has",
    whatToDo: "delete the others in the cloud; the message names them",
  },
  Paused: {
    type: "Normal",
    when: "`fairlead.dev/paused` pauses the Service. Neither it nor its load balancer is changed",
  },
  DeletionPaused: {
    type: "Warning",
    when: "The Service is being deleted while `fairlead.dev/paused` pauses it. Its load balancer and finalizer stay",
    whatToDo: "remove the annotation",
  },
  UpdateLoadBalancerFailed: {
    type: "Warning",
    when: "Updating the targets failed; a full reconcile follows",
    whatToDo: "nothing, unless `SyncLoadBalancerFailed` follows",
    upstream: true,
  },
  SyncLoadBalancerFailed: {
    type: "Warning",
    when: "The cloud or the API server refused a change; Fairlead retries it with backoff",
    whatToDo: seeAnswer,
    upstream: true,
  },
  DeleteLoadBalancerFailed: {
    type: "Warning",
    when: "The cloud refused a deletion; Fairlead retries it with backoff",
    whatToDo: seeAnswer,
    upstream: true,
  },
  LoadBalancerDrift: {
    type: "Warning",
    when: "The load balancer was changed in the cloud; the message says whether it is repaired",
    whatToDo:
      "change the Service instead, or set `--load-balancer-drift=report`; with that flag, change the Service to repair it",
  },
  InvalidAnnotation: {
    type: "Warning",
    when: "An annotation has an invalid value. The load balancer keeps its current value for this setting",
    whatToDo: "correct the value; the message lists the valid values",
  },
  UnknownAnnotation: {
    type: "Warning",
    when: "An annotation under a known prefix is unknown and ignored",
    whatToDo: "use the name that the message suggests",
  },
  RenamedAnnotation: {
    type: "Warning",
    when: "An annotation uses its old name, which still works",
    whatToDo: "use the new name",
  },
  MissingAnnotation: {
    type: "Warning",
    when: "A required annotation is missing",
    whatToDo: "add the annotation",
  },
  ImmutableAnnotation: {
    type: "Warning",
    when: "A changed setting is accepted by the cloud only at creation. The load balancer keeps its value",
    whatToDo: "revert the change, or create a new Service",
  },
  InvalidSourceRange: {
    type: "Warning",
    when: "`spec.loadBalancerSourceRanges` or its annotation has an invalid CIDR. The source ranges stay as they are",
    whatToDo: "correct the value",
  },
  InvalidAddress: {
    type: "Warning",
    when: "`spec.loadBalancerIP` is not an IP address",
    whatToDo: "correct the value",
  },
  UnsupportedRequest: {
    type: "Warning",
    when: "The cloud's load balancers do not support something that the Service requests: source ranges, session affinity, a protocol, or health checks for local traffic. Everything else is applied. If the cloud supports none of the protocols, no load balancer is created",
    whatToDo:
      "remove the request from the Service, or use an alternative, such as a NetworkPolicy instead of source ranges",
  },
  AddressIgnored: {
    type: "Warning",
    when: "`spec.loadBalancerIP` is set, but the cloud cannot assign a requested address. The load balancer gets a different address",
    whatToDo: "remove the field",
  },
  AnnotationIgnored: {
    type: "Warning",
    when: "An annotation has no effect, because another setting takes precedence or is missing; the message names it",
    whatToDo: "remove one of the two settings, or add the missing one",
  },
  MissingSelector: {
    type: "Warning",
    when: "The target policy is `selector`, and there is no selector",
    whatToDo: "set `fairlead.dev/target-selector`",
  },
  NoMatchingNode: {
    type: "Warning",
    when: "No Node matches the selector. The load balancer has no target",
    whatToDo: "correct the selector, or label Nodes",
  },
  TargetsUnreachable: {
    type: "Warning",
    when: "The load balancer cannot reach some Nodes because of their network, region or machine type; the message gives the causes. These Nodes are not targets",
    whatToDo: "correct the Nodes or the settings of the Service, or select other Nodes by label",
  },
  AllTargetsUnhealthy: {
    type: "Warning",
    when: "The cloud's health checks fail for all targets of the load balancer, two minutes or more after its last change. Requests to its address fail. The message names the targets and quotes the cloud. The event is sent once; it can be up to 30 minutes late, because it comes from the regular listings",
    whatToDo:
      "check that the Service has ready pods that listen on its target ports, and that no firewall blocks the node ports. `explain service` shows the current health",
  },
  TargetRefused: {
    type: "Warning",
    when: "The cloud rejects or ignores some Nodes as targets; the message quotes its answers. The load balancer works without these Nodes. Fairlead retries them after 1 minute to 1 hour, and when the Node or the Service changes",
    whatToDo: "follow the cloud's answer: correct the Node, or select other Nodes by label",
  },
  TargetLimit: {
    type: "Warning",
    when: "The load balancer reaches more Nodes than it supports as targets; Fairlead selected a subset",
    whatToDo: "select fewer Nodes by label, or use a larger load balancer",
  },
  UnAvailableLoadBalancer: {
    type: "Warning",
    when: "No Node can be a target",
    whatToDo: onlyIfItLasts,
    upstream: true,
  },
  NoEndpoints: {
    type: "Warning",
    when: "No Node has a ready endpoint of the Service, or its ready endpoints name no Node, as for a Cilium Gateway. All Nodes stay targets until a Node has a ready endpoint",
    whatToDo:
      "check the pods of the Service; where traffic is forwarded on every Node, set the annotation `fairlead.dev/target-policy` to `all`",
  },
  EndpointsUnreadable: {
    type: "Warning",
    when: "EndpointSlices cannot be read. All Nodes are targets",
    whatToDo: "grant list and watch on `endpointslices`",
  },
  DrainUnsupported: {
    type: "Warning",
    when: "`target-drain` is set, and the cloud cannot drain targets. Departing Nodes are removed immediately",
    whatToDo: "remove the annotation",
  },
  BelongsToOtherCluster: {
    type: "Warning",
    when: "The Service's load balancer is marked by another cluster, which the message names. Nothing is created, changed or deleted for the Service",
    whatToDo:
      "correct the setting that the message names, such as `--cluster-name`. If the cluster was renamed and its name is in the mark, move the marks with the command `marks`",
  },
  BelongsToOtherService: {
    type: "Warning",
    when: "The load balancer id that is stored on the Service belongs to another Service or cluster. Nothing is created, changed or deleted for the Service",
    whatToDo: "correct or remove the annotation or label with the id",
  },
  AdoptionNotFound: {
    type: "Warning",
    when: "The Service requests the adoption of a load balancer that does not exist. No load balancer is created",
    whatToDo: "correct the annotation, or remove it",
  },
  AdoptionRefused: {
    type: "Warning",
    when: "The Service requests the adoption of a load balancer that belongs to another Service or cluster. No load balancer is created",
    whatToDo: "correct the annotation, or remove it",
  },
  AdoptionIgnored: {
    type: "Warning",
    when: "The Service requests the adoption of a load balancer, but already has a different one",
    whatToDo: "restore or remove the annotation",
  },
  AmbiguousAdoption: {
    type: "Warning",
    when: "Several load balancers match the Service, or several Services request the same load balancer. Fairlead adopts none of them",
    whatToDo: "name one load balancer on one Service",
  },
};

export const onServiceLease: Reasons = {
  FirewallChangeHeld: {
    type: "Warning",
    when: "A change would close more Node ports than `--removal-limit` allows, and Fairlead did not see enough Services being deleted or changed to explain it. No port is closed; ports of new Services are opened",
    whatToDo:
      "check that the kubeconfig names the right cluster and that etcd was not restored; to close the ports anyway, set `--removal-limit=off` until they are closed",
  },
};
