// Serves PATCH: the media type selects the kind of patch. Only server-side apply may create the object.

import type { TransportRequest } from "../../../platform/transport.ts";
import { badRequest, invalid, required } from "../objects/api-error.ts";
import { isObject, type JsonObject, textAt } from "../objects/json.ts";
import type { KubeObject } from "../objects/kube-object.ts";
import { apiVersionOf, type Resource } from "../objects/resource-table.ts";
import { applyJsonPatch } from "../patch/json-patch.ts";
import { applyMergePatch } from "../patch/merge-patch.ts";
import { applyConfiguration } from "../patch/server-side-apply.ts";
import { applyStrategicMergePatch } from "../patch/strategic-merge-patch.ts";
import type { ObjectRegistry, WriteOptions } from "../storage/object-registry.ts";
import type { Store } from "../storage/store.ts";
import { mediaTypeOf, readObject, readPatch, unsupportedMediaType } from "./read-body.ts";
import type { RequestInfo } from "./read-request.ts";

type Change = (current: KubeObject) => JsonObject;

function changeFor(request: TransportRequest, resource: Resource): Change {
  const type = mediaTypeOf(request);
  const isKnown = /^application\/(json|merge|strategic-merge)-patch\+json$/.test(type);
  if (!isKnown) throw unsupportedMediaType();
  const patch = readPatch(request);
  if (type === "application/json-patch+json") return (current) => applyJsonPatch(current, patch);
  if (!isObject(patch)) throw badRequest("error decoding patch: expected an object");
  if (type === "application/merge-patch+json") return (current) => applyMergePatch(current, patch);
  return (current) => applyStrategicMergePatch(current, patch, resource.schema);
}

export function patchObject(
  registry: ObjectRegistry,
  store: Store,
  request: TransportRequest,
  resource: Resource,
  info: RequestInfo,
  options: WriteOptions,
  time: string,
): { readonly object: KubeObject; readonly isNew: boolean } {
  const { namespace, name, subresource, query } = info;
  if (mediaTypeOf(request) !== "application/apply-patch+yaml") {
    const change = changeFor(request, resource);
    return { object: registry.patch(resource, namespace, name, subresource, change, options), isNew: false };
  }
  const manager = query.get("fieldManager") ?? "";
  if (manager === "") {
    throw invalid("PatchOptions", "meta.k8s.io", "", [
      required("fieldManager", "is required for apply patch"),
    ]);
  }
  const config = readObject(request, resource.kind);
  if (textAt(config, "metadata", "managedFields") !== "") {
    throw badRequest("metadata.managedFields must be nil");
  }
  const applied = {
    manager,
    apiVersion: apiVersionOf(resource),
    time,
    isForced: query.get("force") === "true",
  };
  const stored = store.get(resource.storage, namespace, name);
  if (stored === undefined) {
    const empty = { metadata: { name } };
    const first = applyConfiguration(empty, config, resource.schema, applied);
    return { object: registry.create(resource, namespace, first, options), isNew: true };
  }
  // Applying the same configuration again changes nothing, not even the time in managedFields.
  const change: Change = (current) => applyConfiguration(current, config, resource.schema, applied);
  return {
    object: registry.patch(resource, namespace, name, subresource, change, options),
    isNew: false,
  };
}
