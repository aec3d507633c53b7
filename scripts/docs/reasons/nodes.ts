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
    whatToDo: "let the kubelet report an identifier, or set its `--provider-id`",
  },
  NotFoundInCloud: {
    type: "Warning",
    when: "The cloud has no instance for the Node. It keeps its taint, and the lookup is retried",
    whatToDo:
      "compare the Node's name, or on vSphere its `systemUUID`, with the cloud; check whether the instance is in another account, region or datacenter, or not visible to the credentials",
  },
  PossibleNodeDeletion: {
    type: "Warning",
    when: "The instance exists but was renamed, so it may serve another purpose. The Node counts as gone: it is deleted when it is not Ready and the new name is confirmed",
    whatToDo: "to keep the Node, give the instance the Node's name again",
  },
  AmbiguousMatch: {
    type: "Warning",
    when: "Several instances match the Node; the message names them. A new Node keeps its taint, and any other Node is neither updated nor deleted",
    whatToDo:
      "rename all instances but one, or set the kubelet's `--provider-id`. If two accounts, regions or vCenters list the same provider id, remove one of them from the cloud settings",
  },
  ProviderIDInUse: {
    type: "Warning",
    when: "The instance that matches the Node has the provider id of another Node, which the message names. The Node keeps its taint",
    whatToDo:
      "if the instance's kubelet registers under a different name now, delete the former Node object. Otherwise compare the names and system UUIDs of both Nodes with the cloud; if the other Node has the wrong provider id, delete it and restart its kubelet",
  },
  UnconfirmedMatch: {
    type: "Warning",
    when: "One instance matches the Node, but an account or region that could contain a second match has not answered; the message names it and its error. The Node keeps its taint",
    whatToDo: "fix the error, set `--node-match-timeout`, or set the kubelet's `--provider-id`",
  },
  UnconfirmedMatchUsed: {
    type: "Warning",
    uncounted: "once",
    when: "`--node-match-timeout` expired, and the Node got the provider id of the only known match",
    whatToDo:
      "if the provider id is wrong, delete the Node object and restart its kubelet, which registers the Node again",
  },
  NodeIPMismatch: {
    type: "Warning",
    when: "The kubelet's `--node-ip` is not an address of the instance",
    whatToDo: "correct `--node-ip`",
  },
  MisconfiguredInternalIP: {
    type: "Warning",
    when: "Fairlead removed an InternalIP that the kubelet had reported: the cloud reports it as an ExternalIP, or the settings exclude its family",
    whatToDo: "correct the kubelet's `--node-ip`, or the address family in the cloud settings",
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
    whatToDo: "correct the value; the message lists the valid values",
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
      "run that cloud's cloud-controller-manager, or correct the kubelet's `--provider-id`, delete the Node object and restart the kubelet",
  },
  ForeignNode: {
    type: "Normal",
    when: "The Node has the provider id of another cloud. Fairlead leaves it alone",
  },
  ForeignNodeMatched: {
    type: "Normal",
    when: "With `--foreign-nodes=targets`: k3s or RKE2 initialized the Node, and Fairlead found its instance. The Node is a load balancer target, and gets missing labels",
  },
  ForeignNodeUnmatched: {
    type: "Warning",
    uncounted: "note",
    when: "With `--foreign-nodes=targets`: k3s or RKE2 initialized the Node, but Fairlead cannot identify its instance with certainty. The Node is not a load balancer target",
    whatToDo:
      "give the instance the name of the Node, and set `--node-ip` or `--node-external-ip` of k3s or RKE2 to an address that the cloud reports; nothing, if the Node is outside this cloud",
  },
  InstanceUnreadable: {
    type: "Warning",
    uncounted: "note",
    when: "The cloud settings give no access to the instance, such as a Hetzner dedicated server without Robot credentials. Fairlead leaves the Node alone, except that it is a load balancer target. The event is Normal once the Node is initialized",
    whatToDo: "to let Fairlead manage the Node, configure the access that the message names",
  },
  LabelDiffers: {
    type: "Warning",
    when: "A label differs from the cloud. Fairlead does not change it",
    whatToDo: "correct the label, or set `--label-policy=KEY=sync`",
  },
  CloudLabelsSkipped: {
    type: "Warning",
    when: "Fairlead skipped machine labels that `--node-labels-from` selects, because they are invalid in Kubernetes, are reserved for Kubernetes or the provider, or exceed the limit",
    whatToDo: "correct the labels in the cloud, or select other labels in `--node-labels-from`",
  },
  CloudTaintsSkipped: {
    type: "Warning",
    when: "Fairlead skipped machine labels that `--node-taints-from` selects, because they are not valid taints, their effect is neither `NoSchedule` nor `PreferNoSchedule`, or they exceed the limit",
    whatToDo: "correct the labels in the cloud",
  },
  KubernetesRefused: {
    type: "Warning",
    when: "The API server refused a write",
    whatToDo: "follow the message: grant the missing permission, or change the admission rule",
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
    whatToDo: "follow the message; usually a permission is missing",
    upstream: true,
  },
  DeletionForbidden: {
    type: "Warning",
    uncounted: "hold",
    when: "The instance is gone, but the annotation `fairlead.dev/node-deletion=never` keeps the Node",
    whatToDo: "delete the Node, or remove the annotation",
  },
  DeletionObserved: {
    type: "Warning",
    uncounted: "hold",
    when: "The instance is gone, but `--node-deletion=observe` keeps the Node",
    whatToDo: "set `--node-deletion=enforce` to delete such Nodes",
  },
  DeletionUnproved: {
    type: "Warning",
    uncounted: "hold",
    when: "The Node has no provider id. The cloud lists no instance with its name, but does not report the names of some instances, so the Node is kept",
    whatToDo:
      "wait until the cloud reports the name of the instance in the message, or delete the Node yourself if its instance is gone",
  },
  MassDeletionHeld: {
    type: "Warning",
    uncounted: "hold",
    when: "Too many instances appear to be gone at once, a Ready Node has no machine in the cloud, which holds all deletions, or the cloud has not yet shown any object that the cluster records. No Node is deleted. On a PersistentVolume or VolumeAttachment, too many volumes or claims appear to be gone, and the object stays",
    whatToDo:
      "check in the cloud console whether the instances exist and whether the token belongs to their project. For a Ready Node whose machine is in another account, set `fairlead.dev/node-deletion=never`. Only if they are gone: to delete all held Nodes, annotate the Lease with `fairlead.dev/release-hold=nodes` (`volumes` for volumes); to delete a single Node, annotate it with `fairlead.dev/node-deletion=confirmed`",
  },
  NodeOutOfService: {
    type: "Normal",
    when: "Several cloud answers proved that the Node's machine is stopped or gone, so Fairlead set the taint `node.kubernetes.io/out-of-service` (`--out-of-service-taint=enforce`). Pods are evicted, and their volumes are detached",
  },
  NodeBackInService: {
    type: "Normal",
    when: "Fairlead removed its taint `node.kubernetes.io/out-of-service`, because the machine runs or is suspended, or the Node is Ready",
  },
  OutOfServiceObserved: {
    type: "Warning",
    uncounted: "hold",
    when: "The Node's machine is proved to be stopped or gone. `--out-of-service-taint=observe` only reports this and does not set the taint `node.kubernetes.io/out-of-service`",
    whatToDo: "set `--out-of-service-taint=enforce` to taint such Nodes",
  },
  OutOfServiceHeld: {
    type: "Warning",
    uncounted: "hold",
    when: "Too many machines appear to be stopped or gone at once, or the cloud has not yet shown any object that the cluster records. No Node gets the taint `node.kubernetes.io/out-of-service`",
    whatToDo:
      "check in the cloud console whether the machines run and whether the token belongs to their project. Only if they do not run: to taint all held Nodes, annotate the Lease with `fairlead.dev/release-hold=nodes`; to taint a single Node, run the command in the message. Cordon Nodes before you stop many machines: cordoned Nodes do not count towards the limit",
  },
  ServingCertificateApproved: {
    type: "Normal",
    when: "The kubelet's request for a serving certificate was approved: its names and addresses match the instance",
  },
  ServingCertificateDenied: {
    type: "Warning",
    uncounted: "once",
    when: "The kubelet's request for a serving certificate was denied; the message gives the reason",
    whatToDo:
      "if a name or an address is missing in the cloud, add it there. A request by another user or for another machine means an attack or a misconfigured kubelet",
  },
  ServingCertificateWaiting: {
    type: "Warning",
    uncounted: "once",
    when: "The kubelet's request for a serving certificate cannot be approved or denied yet; the message gives the reason. The kubelet has no serving certificate until then",
    whatToDo: "fix the cause, or check the request and run `kubectl certificate approve`",
  },
};
