// The Kubernetes objects that Fairlead reads: the models of @kubernetes/client-node in their JSON form, with the
// fields that slimming keeps. Reading a field that `slim.ts` drops does not compile. Only types of client-node are
// used.

import type {
  CoreV1Event,
  V1CertificateSigningRequest,
  V1Condition,
  V1ConfigMap,
  V1Endpoint,
  V1EndpointConditions,
  V1Lease,
  V1LeaseSpec,
  V1LoadBalancerIngress,
  V1NodeAddress,
  V1NodeCondition,
  V1NodeSpec,
  V1NodeStatus,
  V1NodeSystemInfo,
  V1ObjectMeta,
  V1ObjectReference,
  V1OwnerReference,
  V1PersistentVolume,
  V1PersistentVolumeClaim,
  V1Secret,
  V1ServiceAccount,
  V1ServicePort,
  V1ServiceSpec,
  V1ServiceStatus,
  V1StorageClass,
  V1Taint,
  V1VolumeAttachment,
} from "@kubernetes/client-node";

/** A model in its JSON form: times are strings. Read-only, because stores share their objects. */
export type Wire<T> = T extends Date
  ? string
  : T extends readonly (infer Item)[]
    ? readonly Wire<Item>[]
    : T extends object
      ? { readonly [Key in keyof T]: Wire<T[Key]> }
      : T;

/** The fields that slimming keeps. The types below and the functions of `slim.ts` follow from these lists. */
export const keptFields = {
  metadata: [
    "name",
    "namespace",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "labels",
    "annotations",
    "finalizers",
    "ownerReferences",
  ],
  ownerReference: ["apiVersion", "kind", "name", "uid"],
  nodeSpec: ["providerID", "podCIDR", "podCIDRs", "taints", "unschedulable"],
  nodeStatus: ["addresses", "conditions", "nodeInfo", "volumesInUse"],
  nodeCondition: ["type", "status", "reason", "message", "lastTransitionTime"],
  nodeInfo: ["systemUUID"],
  endpoint: ["nodeName", "conditions"],
  endpointConditions: ["ready"],
  signingRequest: ["username", "groups", "usages", "signerName", "request"],
} as const;

type Kept<Name extends keyof typeof keptFields> = (typeof keptFields)[Name][number];
/** T with different types for some of its fields. */
type Replace<T, Changes> = Omit<T, keyof Changes> & Changes;
/** Objects of which only the metadata is slimmed. Items of a list have no `apiVersion` and no `kind`. */
type Whole<T> = Omit<Wire<T>, "apiVersion" | "kind" | "metadata"> & KubeObject;

export type Labels = Readonly<Record<string, string>>;
export interface OwnerReference extends Pick<Wire<V1OwnerReference>, Kept<"ownerReference">> {}

/** The server always sends the fields that are required here. */
export interface ObjectMeta extends Pick<Wire<V1ObjectMeta>, Exclude<Kept<"metadata">, "ownerReferences">> {
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly ownerReferences?: readonly OwnerReference[];
}

export interface KubeObject {
  readonly metadata: ObjectMeta;
}

export interface Taint extends Wire<V1Taint> {}
export interface NodeAddress extends Wire<V1NodeAddress> {}
/** A condition of a Node. The conditions of a Service have more fields (`ServiceCondition`). */
export interface Condition extends Pick<Wire<V1NodeCondition>, Kept<"nodeCondition">> {}
export interface NodeSpec extends Pick<Wire<V1NodeSpec>, Kept<"nodeSpec">> {}
export interface NodeInfo extends Pick<Wire<V1NodeSystemInfo>, Kept<"nodeInfo">> {}
export interface NodeStatus
  extends Replace<
    Pick<Wire<V1NodeStatus>, Kept<"nodeStatus">>,
    { readonly conditions?: readonly Condition[]; readonly nodeInfo?: NodeInfo }
  > {}

export interface Node extends KubeObject {
  readonly spec: NodeSpec;
  readonly status: NodeStatus;
}

export interface ServiceCondition extends Wire<V1Condition> {}
export interface ServicePort extends Wire<V1ServicePort> {}
export interface LoadBalancerIngress extends Wire<V1LoadBalancerIngress> {}
export interface ServiceSpec extends Wire<V1ServiceSpec> {}
export interface ServiceStatus extends Wire<V1ServiceStatus> {}

export interface Service extends KubeObject {
  readonly spec: ServiceSpec;
  readonly status: ServiceStatus;
  /**
   * The program that added each finalizer. Set only for a Service with a class, because the finalizer itself does not
   * identify the owner.
   */
  readonly finalizerWriters?: Readonly<Record<string, string>>;
}

export interface Endpoint extends Pick<Wire<V1Endpoint>, Exclude<Kept<"endpoint">, "conditions">> {
  /** Ready unless `ready` is false. */
  readonly conditions?: Pick<Wire<V1EndpointConditions>, Kept<"endpointConditions">>;
}

export interface EndpointSlice extends KubeObject {
  readonly endpoints?: readonly Endpoint[];
}

export interface LeaseSpec extends Wire<V1LeaseSpec> {}
export interface Lease extends Whole<V1Lease> {}
/** The object that an event is about. */
export interface ObjectReference extends Wire<V1ObjectReference> {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
}
export interface Event extends Whole<CoreV1Event> {}

/** The component that wrote an event, with the older or with the newer API of events. */
export const eventSourceOf = ({
  source,
  reportingComponent,
}: Pick<Event, "source" | "reportingComponent">): string =>
  source?.component || reportingComponent || "an unknown component";

/** The values of `data` are in base64. */
export interface Secret extends Whole<V1Secret> {}
export interface ConfigMap extends Whole<V1ConfigMap> {}
export interface CertificateSigningRequest
  extends Replace<
    Whole<V1CertificateSigningRequest>,
    { readonly spec: Pick<Wire<V1CertificateSigningRequest["spec"]>, Kept<"signingRequest">> }
  > {}
export interface ServiceAccount extends Whole<V1ServiceAccount> {}
export interface PersistentVolumeClaim extends Whole<V1PersistentVolumeClaim> {}
export interface PersistentVolume extends Whole<V1PersistentVolume> {}
export interface StorageClass extends Whole<V1StorageClass> {}
export interface VolumeAttachment extends Whole<V1VolumeAttachment> {}

/** Identifies an object of a resource. */
export interface ObjectKey {
  readonly name: string;
  readonly namespace?: string;
}

/** `namespace/name`, or only the name: the key in stores, queues and messages. */
export function keyOf({ name, namespace }: ObjectKey): string {
  return namespace === undefined || namespace === "" ? name : `${namespace}/${name}`;
}

/**
 * Resource versions are numbers of any length. Comparing them is guaranteed since Kubernetes 1.35, and worked before.
 */
export function isNewer(a: string, b: string): boolean {
  return a.length > b.length || (a.length === b.length && a > b);
}

/** `metav1.Time`: whole seconds. */
export const toTime = (now: number): string => `${new Date(now).toISOString().slice(0, 19)}Z`;

/** `metav1.MicroTime`: always six digits, because the API server rejects fewer. */
export const toMicroTime = (now: number): string => `${new Date(now).toISOString().slice(0, 23)}000Z`;
