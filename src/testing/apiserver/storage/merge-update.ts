// Merges an update into the stored object: fields that this update may change come from the client, and all others stay
// unchanged.

import { defined } from "../../../core/defined.ts";
import { isSame, type JsonObject, objectAt, textAt } from "../objects/json.ts";
import type { KubeObject, ObjectMeta } from "../objects/kube-object.ts";
import type { Resource } from "../objects/resource-table.ts";

/** Keeps the identity of unchanged parts, so that later checks can skip them. */
export function shareUnchanged(object: KubeObject, before: KubeObject): KubeObject {
  const result: Record<string, unknown> = { ...object };
  for (const key in result) if (isSame(object[key], before[key])) result[key] = before[key];
  return result as KubeObject;
}

/** Everything except metadata and status; changes to it increase the generation. */
const withoutStatus = ({ metadata: _, status: __, ...rest }: KubeObject): JsonObject => rest as JsonObject;

/** The main resource does not change the status; the status subresource changes only status and metadata. */
export function mergeUpdate(
  resource: Resource,
  current: KubeObject,
  given: JsonObject,
  subresource: string,
): KubeObject {
  const own = current.metadata;
  const metadata = {
    ...objectAt(given, "metadata"),
    name: own.name,
    namespace: own.namespace,
    uid: textAt(given, "metadata", "uid") || own.uid,
    resourceVersion: own.resourceVersion,
    creationTimestamp: own.creationTimestamp,
    generation: own.generation,
    deletionTimestamp: own.deletionTimestamp,
    deletionGracePeriodSeconds: own.deletionGracePeriodSeconds,
  } as unknown as ObjectMeta;
  const shared = isSame(metadata as JsonObject, own as JsonObject) ? own : (defined(metadata) as ObjectMeta);
  if (subresource === "status") {
    return { ...current, metadata: shared, status: objectAt(given, "status") };
  }
  const next = { ...given, kind: current.kind, apiVersion: current.apiVersion, metadata: shared };
  if (resource.hasStatus !== true) return next as KubeObject;
  const { status: _, ...rest } = next as JsonObject;
  return { ...rest, ...(current.status !== undefined && { status: current.status }) } as KubeObject;
}

export function withGeneration(resource: Resource, object: KubeObject, before: KubeObject): KubeObject {
  // The labels of an EndpointSlice identify its Service, so changes of them count.
  const isRelabelled =
    resource.kind === "EndpointSlice" && !isSame(object.metadata.labels, before.metadata.labels);
  if (
    resource.tracksGeneration !== true ||
    (isSame(withoutStatus(object), withoutStatus(before)) && !isRelabelled)
  )
    return object;
  const generation = (before.metadata.generation ?? 0) + 1;
  return { ...object, metadata: { ...object.metadata, generation } };
}
