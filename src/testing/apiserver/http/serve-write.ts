// Serves PATCH and DELETE: the media type selects the kind of patch. object-registry.ts handles finalizers.

import { defined } from "../../../core/defined.ts";
import type { TransportRequest } from "../../../platform/transport.ts";
import { badRequest } from "../objects/api-error.ts";
import { isObject, type JsonObject, textAt } from "../objects/json.ts";
import type { KubeObject } from "../objects/kube-object.ts";
import type { Resource } from "../objects/resource-table.ts";
import { applyJsonPatch, applyMergePatch } from "../patch/json-patch.ts";
import { applyStrategicMergePatch } from "../patch/strategic-merge-patch.ts";
import type { ObjectRegistry, Preconditions, WriteOptions } from "../storage/object-registry.ts";
import { answerJson } from "./answer.ts";
import {
  mediaTypeOf,
  type RequestInfo,
  readOptions,
  readPatch,
  unsupportedMediaType,
} from "./parse-request.ts";

type Change = (current: KubeObject) => JsonObject;

/** What the patch in the body does to an object. */
export function changeFor(request: TransportRequest, resource: Resource): Change {
  const type = mediaTypeOf(request);
  const isKnown = /^application\/(json|merge|strategic-merge)-patch\+json$/.test(type);
  if (!isKnown) throw unsupportedMediaType();
  const patch = readPatch(request);
  if (type === "application/json-patch+json") return (current) => applyJsonPatch(current, patch);
  if (!isObject(patch)) throw badRequest("error decoding patch: expected an object");
  if (type === "application/merge-patch+json") return (current) => applyMergePatch(current, patch);
  return (current) => applyStrategicMergePatch(current, patch, resource.kind);
}

// Resources for which a deletion returns the deleted object. For all others it returns a Status.
const answersWithObject = new Set(["services", "serviceaccounts"]);

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
