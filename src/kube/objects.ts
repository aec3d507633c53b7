// The Kubernetes objects we use, as they are on the wire (timestamps are strings), with only the fields we use.
// Not the whole API: fields not named here are dropped by `resources.ts` or were never needed.

export type Labels = Readonly<Record<string, string>>;

export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
}

export interface ObjectMeta {
  readonly name: string;
  readonly namespace?: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation?: number;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly labels?: Labels;
  readonly annotations?: Labels;
  readonly finalizers?: readonly string[];
  readonly ownerReferences?: readonly OwnerReference[];
}

export interface KubeObject {
  readonly metadata: ObjectMeta;
}

export interface Taint {
  readonly key: string;
  readonly value?: string;
  readonly effect: string;
  readonly timeAdded?: string;
}

export interface NodeAddress {
  readonly type: string;
  readonly address: string;
}

export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: string;
  readonly observedGeneration?: number;
}

export interface Node extends KubeObject {
  readonly spec: {
    readonly providerID?: string;
    readonly podCIDR?: string;
    readonly podCIDRs?: readonly string[];
    readonly taints?: readonly Taint[];
    readonly unschedulable?: boolean;
  };
  readonly status: {
    readonly addresses?: readonly NodeAddress[];
    readonly conditions?: readonly Condition[];
    readonly nodeInfo?: { readonly systemUUID?: string; readonly machineID?: string };
  };
}

export interface ServicePort {
  readonly name?: string;
  readonly protocol?: string;
  readonly appProtocol?: string;
  readonly port: number;
  readonly targetPort?: number | string;
  readonly nodePort?: number;
}

export interface LoadBalancerIngress {
  readonly ip?: string;
  readonly hostname?: string;
  readonly ipMode?: string;
  readonly ports?: readonly { readonly port: number; readonly protocol: string; readonly error?: string }[];
}

export interface Service extends KubeObject {
  readonly spec: {
    readonly type?: string;
    readonly ports?: readonly ServicePort[];
    readonly selector?: Labels;
    readonly clusterIP?: string;
    readonly clusterIPs?: readonly string[];
    readonly externalIPs?: readonly string[];
    readonly ipFamilies?: readonly string[];
    readonly ipFamilyPolicy?: string;
    readonly loadBalancerIP?: string;
    readonly loadBalancerClass?: string;
    readonly loadBalancerSourceRanges?: readonly string[];
    readonly allocateLoadBalancerNodePorts?: boolean;
    readonly externalTrafficPolicy?: string;
    readonly internalTrafficPolicy?: string;
    readonly healthCheckNodePort?: number;
    readonly publishNotReadyAddresses?: boolean;
    readonly sessionAffinity?: string;
    readonly sessionAffinityConfig?: { readonly clientIP?: { readonly timeoutSeconds?: number } };
  };
  readonly status: {
    readonly loadBalancer?: { readonly ingress?: readonly LoadBalancerIngress[] };
    readonly conditions?: readonly Condition[];
  };
}

export interface LeaseSpec {
  readonly holderIdentity?: string;
  readonly leaseDurationSeconds?: number;
  readonly acquireTime?: string;
  readonly renewTime?: string;
  readonly leaseTransitions?: number;
}

export interface Lease extends KubeObject {
  readonly spec?: LeaseSpec;
}

export interface ObjectReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
}

export interface Event extends KubeObject {
  readonly involvedObject: ObjectReference;
  readonly type?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly count?: number;
  readonly firstTimestamp?: string | null;
  readonly lastTimestamp?: string | null;
  readonly source?: { readonly component?: string; readonly host?: string };
  readonly reportingComponent?: string;
  readonly reportingInstance?: string;
}

export interface Secret extends KubeObject {
  readonly type?: string;
  /** Values are base64. */
  readonly data?: Labels;
}

export interface ConfigMap extends KubeObject {
  readonly data?: Labels;
}

export interface EndpointSlice extends KubeObject {
  readonly endpoints?: readonly {
    readonly nodeName?: string;
    /** Absent is ready. */
    readonly conditions?: { readonly ready?: boolean };
  }[];
}

export interface ServiceAccount extends KubeObject {}

/** Identifies an object of a resource. */
export interface ObjectKey {
  readonly name: string;
  readonly namespace?: string;
}

/** `namespace/name`, or the name alone: the key of stores, queues and messages. */
export function keyOf({ name, namespace }: ObjectKey): string {
  return namespace === undefined || namespace === "" ? name : `${namespace}/${name}`;
}

/** `metav1.Time`: whole seconds. */
export const toTime = (now: number): string => `${new Date(now).toISOString().slice(0, 19)}Z`;

/** `metav1.MicroTime`: always six digits, because the API server rejects fewer. */
export const toMicroTime = (now: number): string => `${new Date(now).toISOString().slice(0, 23)}000Z`;
