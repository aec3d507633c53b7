// Reasons on Nodes, of both Node controllers and the route controller. Data only.

import type { Reasons } from "./reason.ts";

export const onNodes: Reasons = {
  Synced: {
    type: "Normal",
    when: "The Node is initialized: it has addresses, provider id and labels, and the taint is removed",
    upstream: true,
  },
  NothingToMatchBy: {
    type: "Warning",
    when: "The Node has nothing that identifies its instance, such as a system UUID. It keeps its taint",
    whatToDo: "let the kubelet report it, or set `--provider-id` of the kubelet",
  },
  NotFoundInCloud: {
    type: "Warning",
    when: "The cloud has no instance for the Node. It keeps its taint, and the lookup is retried",
    whatToDo: "compare its name with the cloud; check whether the instance is in another account or region",
  },
  PossibleNodeDeletion: {
    type: "Warning",
    when: "The instance exists but has another name, which means that it is used for something else. The Node counts as gone: it is deleted when it is not Ready and this is confirmed",
    whatToDo: "to keep the Node, give the instance the Node's name again",
  },
  AmbiguousMatch: {
    type: "Warning",
    when: "Several instances match the Node; the message names them. A new Node keeps its taint, and any other Node is neither updated nor deleted",
    whatToDo:
      "rename all but one, or set `--provider-id` of the kubelet. If two accounts or regions list the same instances, remove one of them from the settings of the cloud",
  },
  UnconfirmedMatch: {
    type: "Warning",
    when: "One instance matches the Node, and an account or region that could have another match has not answered; the message names it and its error. The Node keeps its taint",
    whatToDo: "fix the error, set `--node-match-timeout`, or set `--provider-id` of the kubelet",
  },
  UnconfirmedMatchUsed: {
    type: "Warning",
    uncounted: "once",
    when: "`--node-match-timeout` ended that wait: the Node got the provider id of the only known match",
    whatToDo: "if the provider id is wrong, delete the Node object; its kubelet creates it again",
  },
  NodeIPMismatch: {
    type: "Warning",
    when: "`--node-ip` of the kubelet is not an address of the instance",
    whatToDo: "correct `--node-ip`",
  },
  MisconfiguredInternalIP: {
    type: "Warning",
    when: "An InternalIP that the kubelet reported is removed from the Node: the cloud has it as an ExternalIP, or its family does not fit the settings",
    whatToDo: "correct `--node-ip` of the kubelet, or the address family in the settings of the cloud",
  },
  NoAddressLeft: {
    type: "Warning",
    when: "The `--node-address-…` flags exclude all addresses of the instance. The Node keeps its previous addresses",
    whatToDo: "correct the flags",
  },
  Paused: {
    type: "Normal",
    when: "`fairlead.dev/paused` pauses the Node. Neither it nor its routes are changed, and it is not deleted",
  },
  InvalidAnnotation: {
    type: "Warning",
    uncounted: "note",
    when: "`fairlead.dev/paused` or `fairlead.dev/node-deletion` has an invalid value. The Node is paused, or not deleted",
    whatToDo: "correct the value; the message has the expected ones",
  },
  UnknownAnnotation: {
    type: "Warning",
    uncounted: "note",
    when: "An annotation under `fairlead.dev/` is unknown and ignored",
    whatToDo: "use the name that the message suggests",
  },
  ForeignProviderID: {
    type: "Warning",
    uncounted: "note",
    when: "The Node has the provider id of another cloud and is not initialized. Fairlead leaves it alone",
    whatToDo:
      "run the cloud-controller-manager of that cloud, or correct `--provider-id` of the kubelet and delete the Node object",
  },
  ForeignNode: {
    type: "Normal",
    when: "The Node has the provider id of another cloud. Fairlead leaves it alone",
  },
  ForeignNodeMatched: {
    type: "Normal",
    when: "With `--foreign-nodes=targets`: k3s or RKE2 has initialized the Node, and its instance is found. It is a target of load balancers, and gets the labels that it lacks",
  },
  ForeignNodeUnmatched: {
    type: "Warning",
    uncounted: "note",
    when: "With `--foreign-nodes=targets`: k3s or RKE2 has initialized the Node, and no instance is certain to be its own. It is no target of load balancers",
    whatToDo:
      "give the instance the name of the Node, and set `--node-ip` or `--node-external-ip` of k3s or RKE2 to an address that the cloud reports; leave a Node outside this cloud as it is",
  },
  InstanceUnreadable: {
    type: "Warning",
    uncounted: "note",
    when: "The settings of the cloud give no access to the instance, such as a dedicated server of Hetzner without credentials. Fairlead leaves the Node alone. Load balancers have it as a target. The event is Normal once the Node is initialized",
    whatToDo: "to have the Node managed, configure the access that the message names",
  },
  LabelDiffers: {
    type: "Warning",
    when: "A label differs from the cloud. Fairlead does not change it",
    whatToDo: "correct the label, or set `--label-policy=KEY=sync`",
  },
  CloudLabelsSkipped: {
    type: "Warning",
    when: "Labels of the machine that `--node-labels-from` names are not valid in Kubernetes, belong to Kubernetes or the provider, or are too many. The Node does not get them",
    whatToDo: "correct them in the cloud, or name other labels in `--node-labels-from`",
  },
  CloudTaintsSkipped: {
    type: "Warning",
    when: "Labels of the machine whose keys begin with `--node-taints-from` are no valid taints, have another effect than `NoSchedule` and `PreferNoSchedule`, or are too many. The Node does not get them",
    whatToDo: "correct them in the cloud",
  },
  KubernetesRefused: {
    type: "Warning",
    when: "The API server refused a write",
    whatToDo: "see the message: a missing permission, or an admission rule",
  },
  InternalError: {
    type: "Warning",
    when: "An internal error in Fairlead or the provider",
    whatToDo: "file a bug with the message",
  },
  DeletingNode: {
    type: "Normal",
    when: "The instance is gone and the Node was deleted",
    upstream: true,
  },
  DeletingNodeFailed: {
    type: "Warning",
    uncounted: "once",
    when: "The instance is gone, and the API server refused to delete the Node",
    whatToDo: "see the message; usually a permission is missing",
    upstream: true,
  },
  DeletionForbidden: {
    type: "Warning",
    uncounted: "hold",
    when: "The instance is gone, and `fairlead.dev/node-deletion=never` keeps the Node",
    whatToDo: "delete the Node, or remove the annotation",
  },
  DeletionObserved: {
    type: "Warning",
    uncounted: "hold",
    when: "The instance is gone, and `--node-deletion=observe` keeps the Node",
    whatToDo: "set `--node-deletion=enforce` to delete such Nodes",
  },
  DeletionUnproved: {
    type: "Warning",
    uncounted: "hold",
    when: "The Node has no provider ID, and the cloud has no instance with its name, but does not show the names of all instances",
    whatToDo:
      "see the message for the instance and the reason; the Node is not deleted before the cloud shows its name. Delete the Node yourself if its instance is gone",
  },
  MassDeletionHeld: {
    type: "Warning",
    uncounted: "hold",
    when: "The instance appears to be gone together with too many other instances, or the cloud has not shown any object yet that the cluster records. No Node is deleted. On a PersistentVolume or VolumeAttachment: the same for volumes or claims, and the object stays",
    whatToDo:
      "check first, in the console of the cloud, whether the instances exist, and whether the token belongs to their project; only if they are gone: to delete all held Nodes, annotate the Lease with `fairlead.dev/release-hold=nodes` (`volumes` for volumes); to delete one Node, annotate this Node with `fairlead.dev/node-deletion=confirmed`",
  },
  NodeOutOfService: {
    type: "Normal",
    when: "With `--out-of-service-taint=enforce`: several answers of the cloud proved that the machine of the Node is stopped or gone, and Fairlead set the taint `node.kubernetes.io/out-of-service`. Its pods are evicted, and their volumes are detached",
  },
  NodeBackInService: {
    type: "Normal",
    when: "Fairlead removed the taint `node.kubernetes.io/out-of-service` that it had set, because the machine runs, is suspended, or the Node is Ready",
  },
  OutOfServiceObserved: {
    type: "Warning",
    uncounted: "hold",
    when: "The machine of the Node is proved to be stopped or gone, and `--out-of-service-taint=observe` does not set the taint `node.kubernetes.io/out-of-service`",
    whatToDo: "set `--out-of-service-taint=enforce` to taint such Nodes",
  },
  OutOfServiceHeld: {
    type: "Warning",
    uncounted: "hold",
    when: "The machine of the Node appears to be stopped or gone, together with too many others, or the cloud has not shown any object yet that the cluster records. No Node gets the taint `node.kubernetes.io/out-of-service`",
    whatToDo:
      "check first, in the console of the cloud, whether the machines run, and whether the token belongs to their project; only if they do not run: to taint all held Nodes, annotate the Lease with `fairlead.dev/release-hold=nodes`; to taint one, run the command in the message. Cordon Nodes before you stop many machines: cordoned Nodes do not count",
  },
  ServingCertificateApproved: {
    type: "Normal",
    when: "The request of the kubelet for a serving certificate was approved: its names and addresses are those of the instance",
  },
  ServingCertificateDenied: {
    type: "Warning",
    uncounted: "once",
    when: "The request of the kubelet for a serving certificate was denied; the message names what is wrong",
    whatToDo:
      "if a name or an address is missing in the cloud, add it there. A request of another user or for another machine is an attack or a wrong configuration of the kubelet",
  },
  ServingCertificateWaiting: {
    type: "Warning",
    uncounted: "once",
    when: "The request of the kubelet for a serving certificate is neither proved nor certainly wrong; the message has the reason. The kubelet has no such certificate",
    whatToDo: "fix the reason, or check the request and run `kubectl certificate approve`",
  },
};
