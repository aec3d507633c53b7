// What an update leaves of an object: the fields it may change taken from the client, the rest kept. Validation is elsewhere.

import { isSame, type JsonObject, objectAt, textAt } from "../objects/json.ts";
import type { KubeObject, ObjectMeta } from "../objects/kube-object.ts";
import type { Resource } from "../objects/resource-table.ts";

/** Unchanged parts become the very same object again, so that later checks can skip them. */
export function shareUnchanged(object: KubeObject, before: KubeObject): KubeObject {
  const result: Record<string, unknown> = { ...object };
  for (const key in result) if (isSame(object[key], before[key])) result[key] = before[key];
  return result as KubeObject;
}

/** Everything but metadata and status: what a generation counts. */
const desired = ({ metadata: _, status: __, ...rest }: KubeObject): JsonObject => rest as JsonObject;

function dropUndefined(meta: ObjectMeta): ObjectMeta {
  return Object.fromEntries(
    Object.entries(meta).filter(([, value]) => value !== undefined),
  ) as unknown as ObjectMeta;
}

/** The main resource leaves the status alone; the status leaves everything but metadata alone. */
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
    ...(own.namespace !== undefined && { namespace: own.namespace }),
    uid: textAt(given, "metadata", "uid") || own.uid,
    resourceVersion: own.resourceVersion,
    creationTimestamp: own.creationTimestamp,
    generation: own.generation,
    deletionTimestamp: own.deletionTimestamp,
    deletionGracePeriodSeconds: own.deletionGracePeriodSeconds,
  } as unknown as ObjectMeta;
  const shared = isSame(metadata as JsonObject, own as JsonObject) ? own : dropUndefined(metadata);
  if (subresource === "status") {
    return { ...current, metadata: shared, status: objectAt(given, "status") };
  }
  const next = { ...given, kind: current.kind, apiVersion: current.apiVersion, metadata: shared };
  if (!resource.hasStatus) return next as KubeObject;
  const { status: _, ...rest } = next as JsonObject;
  return { ...rest, ...(current.status !== undefined && { status: current.status }) } as KubeObject;
}

export function withGeneration(resource: Resource, object: KubeObject, before: KubeObject): KubeObject {
  // Who a slice belongs to is said by its labels, so they count there.
  const isRelabelled =
    resource.kind === "EndpointSlice" && !isSame(object.metadata.labels, before.metadata.labels);
  if (!resource.tracksGeneration || (isSame(desired(object), desired(before)) && !isRelabelled))
    return object;
  const generation = (before.metadata.generation ?? 0) + 1;
  return { ...object, metadata: { ...object.metadata, generation } };
}
