// Copies the fields that Fairlead reads (`keptFields`) out of a decoded object, so that images, managed fields and applied
// configurations can be garbage-collected. Renames, defaults and validates nothing.

import {
  type CertificateSigningRequest,
  type Condition,
  type Endpoint,
  type EndpointSlice,
  type KubeObject,
  keptFields,
  type Labels,
  type Node,
  type ObjectMeta,
  type Service,
} from "./objects.ts";

/** A longer annotation of a Node belongs to another program and is dropped. */
const maxNodeAnnotation = 2048;
const maxConditionMessage = 256;
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration";

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };

/** Assigns field by field and deletes none, because this runs for every object of every list and its results stay in memory. */
function keep<T extends object, Field extends keyof T>(
  raw: T,
  fields: readonly Field[],
): Mutable<Pick<T, Field>> {
  const kept: Partial<T> = {};
  for (const field of fields) {
    const value = raw[field];
    // Go encodes an empty list as null.
    if (value != null) kept[field] = value;
  }
  return kept as Mutable<Pick<T, Field>>;
}

/** Empty instead of undefined when every annotation is dropped, because a patch must know whether the map exists. */
function slimAnnotations(annotations: Labels, maxLength: number): Labels {
  const kept: Record<string, string> = {};
  for (const key in annotations) {
    const value = annotations[key];
    if (value === undefined || key === lastApplied || value.length > maxLength) continue;
    kept[key] = value;
  }
  return kept;
}

function slimMeta(raw: ObjectMeta, maxAnnotation = Number.POSITIVE_INFINITY): ObjectMeta {
  const kept = keep(raw, keptFields.metadata);
  if (kept.annotations !== undefined) kept.annotations = slimAnnotations(kept.annotations, maxAnnotation);
  if (kept.ownerReferences !== undefined) {
    kept.ownerReferences = kept.ownerReferences.map((owner) => keep(owner, keptFields.ownerReference));
  }
  return kept;
}

/** For kinds with few objects, or whose objects are written back: only their metadata is slimmed. */
export function slimMetaOnly<T extends KubeObject>(raw: T): T {
  return { ...raw, metadata: slimMeta(raw.metadata) };
}

/** Every Node has these three conditions, which Fairlead does not read. */
const kubeletConditions: readonly string[] = ["MemoryPressure", "DiskPressure", "PIDPressure"];
const fieldsWithoutMessage = keptFields.nodeCondition.filter((field) => field !== "message");

function slimCondition(raw: Condition): Condition {
  const isLong = raw.message != null && raw.message.length > maxConditionMessage;
  return keep<Condition, keyof Condition>(raw, isLong ? fieldsWithoutMessage : keptFields.nodeCondition);
}

export function slimNode(raw: Node): Node {
  // The API server always sends both; a Node in a test may lack them.
  const { spec = {}, status: rawStatus = {} } = raw as Partial<Node>;
  const status = keep(rawStatus, keptFields.nodeStatus);
  if (status.conditions !== undefined) {
    status.conditions = status.conditions
      .filter(({ type }) => !kubeletConditions.includes(type))
      .map(slimCondition);
  }
  if (status.nodeInfo !== undefined) status.nodeInfo = keep(status.nodeInfo, keptFields.nodeInfo);
  return {
    metadata: slimMeta(raw.metadata, maxNodeAnnotation),
    spec: keep(spec, keptFields.nodeSpec),
    status,
  };
}

/** In base64, far above the reader's limit. */
const maxSigningRequest = 65_536;
const tooLong = "A".repeat(maxSigningRequest);

/**
 * A kubelet can send thousands of one-megabyte requests. A request that is decided, or too long to be read, is kept
 * without its content.
 */
export function slimSigningRequest(raw: CertificateSigningRequest): CertificateSigningRequest {
  const { status = {} } = raw;
  const isDecided = (status.conditions ?? []).length > 0;
  const spec = keep(raw.spec, keptFields.signingRequest) as CertificateSigningRequest["spec"];
  const request = isDecided ? "" : raw.spec.request.length > maxSigningRequest ? tooLong : raw.spec.request;
  return { metadata: slimMeta(raw.metadata), spec: { ...spec, request }, status };
}

export function slimService(raw: Service): Service {
  const { spec = {}, status = {} } = raw as Partial<Service>;
  const slimmed = { metadata: slimMeta(raw.metadata), spec, status };
  if (spec.loadBalancerClass === undefined) return slimmed;
  // The object of Fairlead's write is slimmed a second time.
  return { ...slimmed, finalizerWriters: raw.finalizerWriters ?? finalizerWriters(raw.metadata) };
}

interface ManagedFields {
  readonly manager?: string;
  readonly fieldsV1?: {
    readonly "f:metadata"?: { readonly "f:finalizers"?: Readonly<Record<string, unknown>> };
  };
}

/** The API server records the program whose write added an entry. */
function finalizerWriters(metadata: ObjectMeta): Readonly<Record<string, string>> {
  const { managedFields = [] } = metadata as { readonly managedFields?: readonly ManagedFields[] };
  return Object.fromEntries(
    managedFields.flatMap(({ manager = "", fieldsV1 }) =>
      Object.keys(fieldsV1?.["f:metadata"]?.["f:finalizers"] ?? {})
        .filter((key) => key.startsWith("v:"))
        .map((key) => [JSON.parse(key.slice(2)) as string, manager]),
    ),
  );
}

function slimEndpoint(raw: Endpoint): Endpoint {
  const kept = keep(raw, keptFields.endpoint);
  if (kept.conditions !== undefined) kept.conditions = keep(kept.conditions, keptFields.endpointConditions);
  return kept;
}

/**
 * The Node of each endpoint and whether the endpoint is ready. Addresses and ports are numerous, and Fairlead does not read them.
 */
export function slimEndpointSlice(raw: EndpointSlice): EndpointSlice {
  const metadata = slimMeta(raw.metadata);
  return raw.endpoints == null ? { metadata } : { metadata, endpoints: raw.endpoints.map(slimEndpoint) };
}
