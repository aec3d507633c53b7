// Serves DELETE, for one object with preconditions or for all that match a selector. object-registry.ts handles finalizers.

import { defined } from "../../../core/defined.ts";
import type { TransportRequest } from "../../../platform/transport.ts";
import type { JsonObject } from "../objects/json.ts";
import { textAt } from "../objects/json.ts";
import { apiVersionOf, type Resource } from "../objects/resource-table.ts";
import type { ObjectRegistry, Preconditions, WriteOptions } from "../storage/object-registry.ts";
import type { Store } from "../storage/store.ts";
import { answerJson } from "./answer.ts";
import { readOptions } from "./read-body.ts";
import type { RequestInfo } from "./read-request.ts";
import { selectorFor } from "./serve-read.ts";

// For these, the answer to a deletion is the deleted object; for others it is a Status.
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
