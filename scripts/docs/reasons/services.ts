// Reasons on Services. Data only.

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
    when: "The load balancer and everything that belongs to it is deleted",
    upstream: true,
  },
  ReleasingLoadBalancer: {
    type: "Normal",
    when: "The load balancer is about to be released, as `on-delete` requires",
  },
  ReleasedLoadBalancer: {
    type: "Normal",
    when: "The load balancer stays in the cloud without Fairlead's mark, where it may cost money: `on-delete` requires it, or the cloud protects it against deletion. The message has its name and address",
    whatToDo: "delete it in the cloud if it is not needed",
  },
  DeletionHeld: {
    type: "Warning",
    when: "The Service is deleted, but `on-delete` is invalid or the cloud cannot release a load balancer. The finalizer stays",
    whatToDo: "correct the annotation, or remove it to delete the load balancer",
  },
  ReleaseUnsupported: {
    type: "Warning",
    when: "`on-delete=release` is set, and the cloud cannot release a load balancer. A deletion will be put on hold",
    whatToDo: "correct the annotation, or remove it",
  },
  WaitingForCloud: {
    type: "Normal",
    when: "The cloud is still applying a change, maybe one for another Service of the same load balancer",
  },
  LoadBalancerMissing: {
    type: "Warning",
    when: "A listing does not show a load balancer that existed, or shows only a duplicate of it. Nothing is created or removed until a second listing, at least 30 s later, or a lookup confirms it. Then a new one is created, usually with another address",
    whatToDo:
      "nothing; if a new one is created, find out who deleted the load balancer, and update DNS records",
  },
  AddressChanged: {
    type: "Warning",
    uncounted: "once",
    when: "The Service has none of its former addresses, because its load balancer is another one, or its settings have changed. The message has the former and the new addresses",
    whatToDo: "update DNS records and clients that use the former address",
  },
  CreatedButNotListed: {
    type: "Warning",
    when: "Fairlead created the load balancer twice, and no listing or lookup ever showed one. No further one is created until a listing does",
    whatToDo:
      "check the credential, project, region and filter of the cloud configuration; a change of the Service, or a release of the hold, creates one more",
  },
  MassRecreationHeld: {
    type: "Warning",
    when: "More load balancers are absent than `--removal-limit` allows within ten minutes, or the cloud has not shown any object yet that the cluster records. No absent load balancer is created again",
    whatToDo:
      "check the cloud, and that the credentials belong to its project; to create them anyway, run the command in the message",
  },
  MassRemovalHeld: {
    type: "Warning",
    when: "The Service needs no load balancer any longer, and too many load balancers are absent from the cloud, so that its finalizer stays. In `/debug/state` also: the Service vanished from the API, together with more others than `--removal-limit` allows within ten minutes, and its load balancer is kept",
    whatToDo:
      "check the cloud, or restore the Services; to remove the load balancers anyway, run the command in the message",
  },
  TargetRemovalHeld: {
    type: "Warning",
    when: "The load balancer would lose more targets than the API server has shown Nodes since the start, or more Nodes have vanished than are left, and no deletion of the others was seen. Or, with `--foreign-nodes=targets`, targets may be the machines of Nodes about which the cloud does not answer. The load balancer keeps its targets",
    whatToDo:
      "check which cluster the kubeconfig names, and whether etcd was restored; to remove the targets anyway, run the command in the message. Of Nodes of k3s or RKE2, see which requests to the cloud fail",
  },
  ServiceVanished: {
    type: "Warning",
    uncounted: "hold",
    when: "Only in `/debug/state`: the Service vanished from the API without a deletion that Fairlead saw, less than 30 s ago. Its load balancer is kept until then",
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
    when: "An update of the targets failed; a full reconcile follows",
    whatToDo: "nothing, unless `SyncLoadBalancerFailed` follows",
    upstream: true,
  },
  SyncLoadBalancerFailed: {
    type: "Warning",
    when: "The cloud or the API server refused a change; it is retried with a growing delay",
    whatToDo: seeAnswer,
    upstream: true,
  },
  DeleteLoadBalancerFailed: {
    type: "Warning",
    when: "The cloud refused a deletion; it is retried with a growing delay",
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
    when: "An annotation has an invalid value. The setting keeps the value of the load balancer",
    whatToDo: "correct the value; the message has the expected ones",
  },
  UnknownAnnotation: {
    type: "Warning",
    when: "An annotation under a known prefix is unknown and ignored",
    whatToDo: "use the name that the message suggests",
  },
  RenamedAnnotation: {
    type: "Warning",
    when: "An annotation has its old name, which still works",
    whatToDo: "use the new name",
  },
  MissingAnnotation: {
    type: "Warning",
    when: "A required annotation is missing",
    whatToDo: "add the annotation",
  },
  ImmutableAnnotation: {
    type: "Warning",
    when: "A setting was changed that the cloud accepts only at creation. The load balancer keeps its value",
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
    when: "The load balancers of the cloud lack something that the Service requests: source ranges, session affinity, a protocol, or health checks for local traffic. Everything else is applied. If no port has a protocol that the cloud supports, no load balancer is created",
    whatToDo:
      "remove it from the Service, or ensure it in another way, such as a NetworkPolicy instead of source ranges",
  },
  AddressIgnored: {
    type: "Warning",
    when: "`spec.loadBalancerIP` is set, and the cloud cannot assign a requested address. The load balancer has another address",
    whatToDo: "remove the field",
  },
  AnnotationIgnored: {
    type: "Warning",
    when: "An annotation has no effect, because another setting takes precedence or is missing; the message names it",
    whatToDo: "remove one of them, or add the missing one",
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
    when: "The load balancer cannot reach some Nodes, because of their network, region or kind of machine; the message has the causes. They are not its targets",
    whatToDo: "correct the Nodes or the settings of the Service, or select other Nodes by label",
  },
  AllTargetsUnhealthy: {
    type: "Warning",
    when: "The health checks of the cloud fail for all targets of the load balancer, two minutes or more after its last change; the message has the targets and what the cloud says. Requests to its address fail. Reported once, from the listings of load balancers, so up to 30 minutes later",
    whatToDo:
      "check that the Service has ready pods that listen on its target ports, and that no firewall blocks the node ports. `explain service` shows the health as it is now",
  },
  TargetRefused: {
    type: "Warning",
    when: "The cloud refuses some Nodes as targets, or ignores them, while it accepts the others; the message has its answers. The load balancer works without them. They are tried again after 1 minute to 1 hour, and when the Node or the Service changes",
    whatToDo: "see the cloud's answer: correct the Node, or select other Nodes by label",
  },
  TargetLimit: {
    type: "Warning",
    when: "The load balancer supports fewer targets than there are Nodes that it reaches; a subset was selected",
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
    when: "No Node has a ready endpoint of the Service, or its ready endpoints name no Node, as those of a Gateway of Cilium. All Nodes stay targets until one has",
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
    when: "The load balancer of the Service has the mark of another cluster, which the message names. Nothing is created, changed or deleted for the Service",
    whatToDo:
      "correct the setting that the message names: `--cluster-name`, or where the mark is another id, that id. If the cluster was renamed and the mark is its name, move the marks with the command `marks`",
  },
  BelongsToOtherService: {
    type: "Warning",
    when: "The id of a load balancer that is stored on the Service leads to the load balancer of another Service or cluster. Nothing is created, changed or deleted for the Service",
    whatToDo: "correct or remove the annotation or label with the id",
  },
  AdoptionNotFound: {
    type: "Warning",
    when: "The Service asks to adopt a load balancer that does not exist. None is created",
    whatToDo: "correct the annotation, or remove it",
  },
  AdoptionRefused: {
    type: "Warning",
    when: "The Service asks to adopt a load balancer of another Service or cluster. None is created",
    whatToDo: "correct the annotation, or remove it",
  },
  AdoptionIgnored: {
    type: "Warning",
    when: "The Service asks to adopt a load balancer, but already has another one",
    whatToDo: "restore or remove the annotation",
  },
  AmbiguousAdoption: {
    type: "Warning",
    when: "Several load balancers match the Service, or several Services request the same load balancer. None is adopted",
    whatToDo: "name one load balancer on one Service",
  },
};

export const onServiceLease: Reasons = {
  FirewallChangeHeld: {
    type: "Warning",
    when: "More ports of the Nodes would be closed than `--removal-limit` allows, and too few Services were seen to be deleted or changed. No port is closed; ports of new Services are opened",
    whatToDo:
      "check which cluster the kubeconfig names, and whether etcd was restored; to close the ports anyway, set `--removal-limit=off` until they are closed",
  },
};
