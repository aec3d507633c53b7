// The fields of every type that the test API server serves, one type per line, from the OpenAPI document of Kubernetes 1.35, and their parsed form.
//
// name[!]:type[@merge key]   ! required, @ strategic merge by that key (none: a set)
// s string, i integer, n number, b boolean, t time, q quantity, x integer or string, o anything, [T] list, {T} map, else a type

import { defined } from "../../../core/defined.ts";

const schemaTable = `
AttachedVolume devicePath!:s name!:s
ClientIPConfig timeoutSeconds:i
Condition lastTransitionTime!:t message!:s observedGeneration:i reason!:s status!:s type!:s
ConfigMap apiVersion:s binaryData:{s} data:{s} immutable:b kind:s metadata:ObjectMeta
ConfigMapNodeConfigSource kubeletConfigKey!:s name!:s namespace!:s resourceVersion:s uid:s
ContainerImage names:[s] sizeBytes:i
DaemonEndpoint Port!:i
DeleteOptions apiVersion:s dryRun:[s] gracePeriodSeconds:i kind:s orphanDependents:b preconditions:Preconditions propagationPolicy:s
Endpoint addresses!:[s] conditions:EndpointConditions deprecatedTopology:{s} hints:EndpointHints hostname:s nodeName:s targetRef:ObjectReference zone:s
EndpointConditions ready:b serving:b terminating:b
EndpointHints forNodes:[ForNode] forZones:[ForZone]
EndpointSlice addressType!:s apiVersion:s endpoints!:[Endpoint] kind:s metadata:ObjectMeta ports:[SlicePort]
Event action:s apiVersion:s count:i eventTime:t firstTimestamp:t involvedObject!:ObjectReference kind:s lastTimestamp:t message:s metadata!:ObjectMeta reason:s related:ObjectReference reportingComponent:s reportingInstance:s series:EventSeries source:EventSource type:s
EventSeries count:i lastObservedTime:t
EventSource component:s host:s
ForNode name!:s
ForZone name!:s
Lease apiVersion:s kind:s metadata:ObjectMeta spec:LeaseSpec
LeaseSpec acquireTime:t holderIdentity:s leaseDurationSeconds:i leaseTransitions:i preferredHolder:s renewTime:t strategy:s
LoadBalancerIngress hostname:s ip:s ipMode:s ports:[PortStatus]
LoadBalancerStatus ingress:[LoadBalancerIngress]
LocalObjectReference name:s
ManagedFieldsEntry apiVersion:s fieldsType:s fieldsV1:o manager:s operation:s subresource:s time:t
Namespace apiVersion:s kind:s metadata:ObjectMeta spec:NamespaceSpec status:NamespaceStatus
NamespaceCondition lastTransitionTime:t message:s reason:s status!:s type!:s
NamespaceSpec finalizers:[s]
NamespaceStatus conditions:[NamespaceCondition]@type phase:s
Node apiVersion:s kind:s metadata:ObjectMeta spec:NodeSpec status:NodeStatus
NodeAddress address!:s type!:s
NodeCondition lastHeartbeatTime:t lastTransitionTime:t message:s reason:s status!:s type!:s
NodeConfigSource configMap:ConfigMapNodeConfigSource
NodeConfigStatus active:NodeConfigSource assigned:NodeConfigSource error:s lastKnownGood:NodeConfigSource
NodeDaemonEndpoints kubeletEndpoint:DaemonEndpoint
NodeFeatures supplementalGroupsPolicy:b
NodeRuntimeHandler features:NodeRuntimeHandlerFeatures name:s
NodeRuntimeHandlerFeatures recursiveReadOnlyMounts:b userNamespaces:b
NodeSpec configSource:NodeConfigSource externalID:s podCIDR:s podCIDRs:[s]@ providerID:s taints:[Taint] unschedulable:b
NodeStatus addresses:[NodeAddress]@type allocatable:{q} capacity:{q} conditions:[NodeCondition]@type config:NodeConfigStatus daemonEndpoints:NodeDaemonEndpoints declaredFeatures:[s] features:NodeFeatures images:[ContainerImage] nodeInfo:NodeSystemInfo phase:s runtimeHandlers:[NodeRuntimeHandler] volumesAttached:[AttachedVolume] volumesInUse:[s]
NodeSwapStatus capacity:i
NodeSystemInfo architecture!:s bootID!:s containerRuntimeVersion!:s kernelVersion!:s kubeProxyVersion!:s kubeletVersion!:s machineID!:s operatingSystem!:s osImage!:s swap:NodeSwapStatus systemUUID!:s
NonResourceAttributes path:s verb:s
ObjectMeta annotations:{s} creationTimestamp:t deletionGracePeriodSeconds:i deletionTimestamp:t finalizers:[s]@ generateName:s generation:i labels:{s} managedFields:[ManagedFieldsEntry] name:s namespace:s ownerReferences:[OwnerReference]@uid resourceVersion:s selfLink:s uid:s
ObjectReference apiVersion:s fieldPath:s kind:s name:s namespace:s resourceVersion:s uid:s
OwnerReference apiVersion!:s blockOwnerDeletion:b controller:b kind!:s name!:s uid!:s
PortStatus error:s port!:i protocol!:s
Preconditions resourceVersion:s uid:s
ResourceAttributes group:s name:s namespace:s resource:s subresource:s verb:s version:s
Secret apiVersion:s data:{s} immutable:b kind:s metadata:ObjectMeta stringData:{s} type:s
SelfSubjectAccessReview apiVersion:s kind:s metadata:ObjectMeta spec:SelfSubjectAccessReviewSpec status:SubjectAccessReviewStatus
SelfSubjectAccessReviewSpec nonResourceAttributes:NonResourceAttributes resourceAttributes:ResourceAttributes
Service apiVersion:s kind:s metadata:ObjectMeta spec:ServiceSpec status:ServiceStatus
ServiceAccount apiVersion:s automountServiceAccountToken:b imagePullSecrets:[LocalObjectReference] kind:s metadata:ObjectMeta secrets:[ObjectReference]@name
ServicePort appProtocol:s name:s nodePort:i port!:i protocol:s targetPort:x
ServiceSpec allocateLoadBalancerNodePorts:b clusterIP:s clusterIPs:[s] externalIPs:[s] externalName:s externalTrafficPolicy:s healthCheckNodePort:i internalTrafficPolicy:s ipFamilies:[s] ipFamilyPolicy:s loadBalancerClass:s loadBalancerIP:s loadBalancerSourceRanges:[s] ports:[ServicePort]@port publishNotReadyAddresses:b selector:{s} sessionAffinity:s sessionAffinityConfig:SessionAffinityConfig trafficDistribution:s type:s
ServiceStatus conditions:[Condition]@type loadBalancer:LoadBalancerStatus
SessionAffinityConfig clientIP:ClientIPConfig
SlicePort appProtocol:s name:s port:i protocol:s
SubjectAccessReviewStatus allowed:b denied:b evaluationError:s reason:s
Taint effect!:s key!:s timeAdded:t value:s
`;

// The parsed schema table: the type of each field, and how its lists are merged.

export type Scalar = "s" | "i" | "n" | "b" | "t" | "q" | "x" | "o";

export type FieldType =
  | { readonly is: "scalar"; readonly scalar: Scalar }
  | { readonly is: "list"; readonly item: FieldType }
  | { readonly is: "map"; readonly item: FieldType }
  | { readonly is: "type"; readonly name: string };

export interface Field {
  readonly name: string;
  readonly isRequired: boolean;
  readonly type: FieldType;
  /** The key by which a strategic merge patch merges the list; the empty key merges scalars as a set. */
  readonly mergeKey?: string;
}

export type Fields = ReadonlyMap<string, Field>;

function readType(text: string): FieldType {
  if (text.startsWith("[")) return { is: "list", item: readType(text.slice(1, -1)) };
  if (text.startsWith("{")) return { is: "map", item: readType(text.slice(1, -1)) };
  if (text.length === 1) return { is: "scalar", scalar: text as Scalar };
  return { is: "type", name: text };
}

function readField(text: string): Field {
  const [, name, bang, type, merge] = /^([^:!]+)(!?):([^@]+)(@.*)?$/.exec(text) ?? [];
  if (name === undefined || type === undefined)
    throw new TypeError(`Invalid field in the schema table: ${text}`);
  return defined({
    name,
    isRequired: bang === "!",
    type: readType(type),
    mergeKey: merge?.slice(1),
  });
}

const types = new Map(
  schemaTable
    .trim()
    .split("\n")
    .map((line): [string, Fields] => {
      const [name = "", ...fields] = line.split(" ");
      return [name, new Map(fields.map(readField).map((field) => [field.name, field]))];
    }),
);

/** The fields of a type, or undefined for a type that is not in the table. */
export const fieldsOf = (type: string): Fields | undefined => types.get(type);
