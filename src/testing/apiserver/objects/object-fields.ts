// The fields of every type that the test API server serves, one type per line, from the OpenAPI document of Kubernetes 1.35, and their parsed
// form. They are in the order of their numbers in protobuf, from the generated.proto files; "-" is a number that is not decoded, and fields
// after "|" have none.
//
// name[!]:type[@merge key]   ! required, @ strategic merge by that key (none: a set)
// s string, y bytes, i integer, n number, b boolean, t time, q quantity, x integer or string, o anything, [T] list, {T} map, else a type

import { defined } from "../../../core/defined.ts";

const schemaTable = `
AttachedVolume name!:s devicePath!:s
CSIVolume | controllerExpandSecretRef:o controllerPublishSecretRef:o driver!:s fsType:s nodeExpandSecretRef:o nodePublishSecretRef:o nodeStageSecretRef:o readOnly:b volumeAttributes:{s} volumeHandle!:s
ClientIPConfig timeoutSeconds:i
Condition type!:s status!:s observedGeneration:i lastTransitionTime!:t reason!:s message!:s
ConfigMap metadata:ObjectMeta data:{s} binaryData:{y} immutable:b | apiVersion:s kind:s
ConfigMapNodeConfigSource | kubeletConfigKey!:s name!:s namespace!:s resourceVersion:s uid:s
ContainerImage names:[s] sizeBytes:i
DaemonEndpoint Port!:i
DeleteOptions gracePeriodSeconds:i preconditions:Preconditions orphanDependents:b propagationPolicy:s dryRun:[s] | apiVersion:s kind:s
Endpoint addresses!:[s] conditions:EndpointConditions hostname:s targetRef:ObjectReference deprecatedTopology:{s} nodeName:s zone:s hints:EndpointHints
EndpointConditions ready:b serving:b terminating:b
EndpointHints forZones:[ForZone] forNodes:[ForNode]
EndpointSlice metadata:ObjectMeta endpoints!:[Endpoint] ports:[SlicePort] addressType!:s | apiVersion:s kind:s
Event metadata!:ObjectMeta involvedObject!:ObjectReference reason:s message:s source:EventSource firstTimestamp:t lastTimestamp:t count:i type:s eventTime:t series:EventSeries action:s related:ObjectReference reportingComponent:s reportingInstance:s | apiVersion:s kind:s
EventSeries count:i lastObservedTime:t
EventSource component:s host:s
ForNode name!:s
ForZone name!:s
Lease metadata:ObjectMeta spec:LeaseSpec | apiVersion:s kind:s
LeaseSpec holderIdentity:s leaseDurationSeconds:i acquireTime:t renewTime:t leaseTransitions:i strategy:s preferredHolder:s
LoadBalancerIngress ip:s hostname:s ipMode:s ports:[PortStatus]
LoadBalancerStatus ingress:[LoadBalancerIngress]
LocalObjectReference name:s
ManagedFieldsEntry | apiVersion:s fieldsType:s fieldsV1:o manager:s operation:s subresource:s time:t
Namespace metadata:ObjectMeta spec:NamespaceSpec status:NamespaceStatus | apiVersion:s kind:s
NamespaceCondition type!:s status!:s - lastTransitionTime:t reason:s message:s
NamespaceSpec finalizers:[s]
NamespaceStatus phase:s conditions:[NamespaceCondition]@type
Node metadata:ObjectMeta spec:NodeSpec status:NodeStatus | apiVersion:s kind:s
NodeAddress type!:s address!:s
NodeCondition type!:s status!:s lastHeartbeatTime:t lastTransitionTime:t reason:s message:s
NodeConfigSource | configMap:ConfigMapNodeConfigSource
NodeConfigStatus | active:NodeConfigSource assigned:NodeConfigSource error:s lastKnownGood:NodeConfigSource
NodeDaemonEndpoints kubeletEndpoint:DaemonEndpoint
NodeFeatures supplementalGroupsPolicy:b
NodeRuntimeHandler name:s features:NodeRuntimeHandlerFeatures
NodeRuntimeHandlerFeatures recursiveReadOnlyMounts:b userNamespaces:b
NodeSpec podCIDR:s externalID:s providerID:s unschedulable:b taints:[Taint] - podCIDRs:[s]@ | configSource:NodeConfigSource
NodeStatus capacity:{q} allocatable:{q} phase:s conditions:[NodeCondition]@type addresses:[NodeAddress]@type daemonEndpoints:NodeDaemonEndpoints nodeInfo:NodeSystemInfo images:[ContainerImage] volumesInUse:[s] volumesAttached:[AttachedVolume] - runtimeHandlers:[NodeRuntimeHandler] features:NodeFeatures declaredFeatures:[s] | config:NodeConfigStatus
NodeSwapStatus capacity:i
NodeSystemInfo machineID!:s systemUUID!:s bootID!:s kernelVersion!:s osImage!:s containerRuntimeVersion!:s kubeletVersion!:s kubeProxyVersion!:s operatingSystem!:s architecture!:s swap:NodeSwapStatus
NonResourceAttributes path:s verb:s
ObjectMeta name:s generateName:s namespace:s selfLink:s uid:s resourceVersion:s generation:i creationTimestamp:t deletionTimestamp:t deletionGracePeriodSeconds:i labels:{s} annotations:{s} ownerReferences:[OwnerReference]@uid finalizers:[s]@ | managedFields:[ManagedFieldsEntry]
ObjectReference kind:s namespace:s name:s uid:s apiVersion:s resourceVersion:s fieldPath:s
OwnerReference kind!:s - name!:s uid!:s apiVersion!:s controller:b blockOwnerDeletion:b
PersistentVolume metadata:ObjectMeta spec:PersistentVolumeSpec status:PersistentVolumeStatus | apiVersion:s kind:s
PersistentVolumeClaim metadata:ObjectMeta spec:PersistentVolumeClaimSpec status:PersistentVolumeClaimStatus | apiVersion:s kind:s
PersistentVolumeClaimCondition | lastProbeTime:t lastTransitionTime:t message:s reason:s status!:s type!:s
PersistentVolumeClaimSpec | accessModes:[s]@ dataSource:o dataSourceRef:o resources:VolumeResources selector:o storageClassName:s volumeAttributesClassName:s volumeMode:s volumeName:s
PersistentVolumeClaimStatus | accessModes:[s] allocatedResourceStatuses:{s} allocatedResources:{q} capacity:{q} conditions:[PersistentVolumeClaimCondition]@type currentVolumeAttributesClassName:s modifyVolumeStatus:o phase:s
PersistentVolumeSpec | accessModes:[s]@ capacity:{q} claimRef:ObjectReference csi:CSIVolume hostPath:o mountOptions:[s] nodeAffinity:o persistentVolumeReclaimPolicy:s storageClassName:s volumeAttributesClassName:s volumeMode:s
PersistentVolumeStatus | lastPhaseTransitionTime:t message:s phase:s reason:s
PortStatus port!:i protocol!:s error:s
Preconditions uid:s resourceVersion:s
ResourceAttributes namespace:s verb:s group:s version:s resource:s subresource:s name:s
Secret metadata:ObjectMeta data:{y} type:s stringData:{s} immutable:b | apiVersion:s kind:s
SelfSubjectAccessReview metadata:ObjectMeta spec:SelfSubjectAccessReviewSpec status:SubjectAccessReviewStatus | apiVersion:s kind:s
SelfSubjectAccessReviewSpec resourceAttributes:ResourceAttributes nonResourceAttributes:NonResourceAttributes
Service metadata:ObjectMeta spec:ServiceSpec status:ServiceStatus | apiVersion:s kind:s
ServiceAccount metadata:ObjectMeta secrets:[ObjectReference]@name imagePullSecrets:[LocalObjectReference] automountServiceAccountToken:b | apiVersion:s kind:s
ServicePort name:s protocol:s port!:i targetPort:x nodePort:i appProtocol:s
ServiceSpec ports:[ServicePort]@port selector:{s} clusterIP:s type:s externalIPs:[s] - sessionAffinity:s loadBalancerIP:s loadBalancerSourceRanges:[s] externalName:s externalTrafficPolicy:s healthCheckNodePort:i publishNotReadyAddresses:b sessionAffinityConfig:SessionAffinityConfig - - ipFamilyPolicy:s clusterIPs:[s] ipFamilies:[s] allocateLoadBalancerNodePorts:b loadBalancerClass:s internalTrafficPolicy:s trafficDistribution:s
ServiceStatus loadBalancer:LoadBalancerStatus conditions:[Condition]@type
SessionAffinityConfig clientIP:ClientIPConfig
SlicePort name:s protocol:s port:i appProtocol:s
StorageClass metadata:ObjectMeta | allowVolumeExpansion:b allowedTopologies:o apiVersion:s kind:s mountOptions:[s] parameters:{s} provisioner!:s reclaimPolicy:s volumeBindingMode:s
SubjectAccessReviewStatus allowed:b reason:s evaluationError:s denied:b
Taint key!:s value:s effect!:s timeAdded:t
VolumeAttachment metadata:ObjectMeta spec:VolumeAttachmentSpec status:VolumeAttachmentStatus | apiVersion:s kind:s
VolumeAttachmentSource | inlineVolumeSpec:PersistentVolumeSpec persistentVolumeName:s
VolumeAttachmentSpec | attacher!:s nodeName!:s source!:VolumeAttachmentSource
VolumeAttachmentStatus | attachError:VolumeError attached!:b attachmentMetadata:{s} detachError:VolumeError
VolumeError | errorCode:i message:s time:t
VolumeResources | limits:{q} requests:{q}
`;

export type Scalar = "s" | "y" | "i" | "n" | "b" | "t" | "q" | "x" | "o";

export type FieldType =
  | { readonly is: "scalar"; readonly scalar: Scalar }
  | { readonly is: "list"; readonly item: FieldType }
  | { readonly is: "map"; readonly item: FieldType }
  | { readonly is: "type"; readonly name: string };

export interface Field {
  readonly name: string;
  /** The field's number in protobuf. */
  readonly number: number | undefined;
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

function readField(text: string, number: number | undefined): Field {
  const [, name, bang, type, merge] = /^([^:!]+)(!?):([^@]+)(@.*)?$/.exec(text) ?? [];
  if (name === undefined || type === undefined)
    throw new TypeError(`Invalid field in the schema table: ${text}`);
  const mergeKey = merge?.slice(1);
  return { name, number, isRequired: bang === "!", type: readType(type), ...defined({ mergeKey }) };
}

function readLine(line: string): [string, Fields] {
  const [name = "", ...words] = line.split(" ");
  const end = words.includes("|") ? words.indexOf("|") : words.length;
  const fields = words.flatMap((word, index) =>
    word === "-" || word === "|" ? [] : readField(word, index < end ? index + 1 : undefined),
  );
  return [name, new Map(fields.map((field) => [field.name, field]))];
}

const types = new Map(schemaTable.trim().split("\n").map(readLine));

export const typeNames: readonly string[] = [...types.keys()];

/** The fields of a type, or undefined for a type that is not in the table. */
export const fieldsOf = (type: string): Fields | undefined => types.get(type);
