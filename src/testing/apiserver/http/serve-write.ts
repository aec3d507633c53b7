// Serves PATCH: the media type selects the kind of patch. Only server-side apply may create the object.

import { defined } from "../../../core/defined.ts";
import type { TransportRequest } from "../../../platform/transport.ts";
import { badRequest, invalid, required } from "../objects/api-error.ts";
import { isObject, type JsonObject, textAt } from "../objects/json.ts";
import type { KubeObject } from "../objects/kube-object.ts";
import { apiVersionOf, type Resource } from "../objects/resource-table.ts";
import { applyJsonPatch, applyMergePatch } from "../patch/json-patch.ts";
import { applyConfiguration } from "../patch/server-side-apply.ts";
import { applyStrategicMergePatch } from "../patch/strategic-merge-patch.ts";
import type { ObjectRegistry, Preconditions, WriteOptions } from "../storage/object-registry.ts";
import type { Store } from "../storage/store.ts";
import { answerJson } from "./answer.ts";
import {
  mediaTypeOf,
  type RequestInfo,
  readObject,
  readOptions,
  readPatch,
  unsupportedMediaType,
} from "./request.ts";
import { selectorFor } from "./serve-read.ts";

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

// Serves DELETE, for one object with preconditions or for all that match a selector. object-registry.ts handles finalizers.

// Resources for which a deletion returns the deleted object. For all others it returns a Status.
const answersWithObject = new Set([
  "pods",
  "services",
  "serviceaccounts",
  "persistentvolumes",
  "persistentvolumeclaims",
]);

function preconditionsIn(body: JsonObject): Preconditions {
  return defined({
    uid: textAt(body, "preconditions", "uid") || undefined,
    resourceVersion: textAt(body, "preconditions", "resourceVersion") || undefined,
  });
}

export function serveDelete(
  registry: ObjectRegistry,
  request: TransportRequest,
  resource: Resource,
  { namespace, name }: RequestInfo,
  options: WriteOptions,
): Response {
  const body = readOptions(request);
  const isDry = options.dryRun === true || JSON.stringify(body["dryRun"] ?? []).includes("All");
  const { object, isGone } = registry.delete(resource, namespace, name, preconditionsIn(body), {
    dryRun: isDry,
  });
  if (!isGone || answersWithObject.has(resource.plural)) return answerJson(200, object);
  const { uid } = object.metadata;
  const group = resource.group === "" ? {} : { group: resource.group };
  return answerJson(200, {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Success",
    details: { name, ...group, kind: resource.plural, uid },
  });
}

export function serveDeleteCollection(
  registry: ObjectRegistry,
  store: Store,
  resource: Resource,
  info: RequestInfo,
  options: WriteOptions,
): Response {
  const matches = selectorFor(resource, info);
  const matching = store.list(resource.storage, info.namespace).filter(matches);
  const items = matching.map(
    ({ metadata }) => registry.delete(resource, metadata.namespace ?? "", metadata.name, {}, options).object,
  );
  return answerJson(200, {
    kind: `${resource.kind}List`,
    apiVersion: apiVersionOf(resource),
    metadata: { resourceVersion: String(store.revision) },
    items,
  });
}
