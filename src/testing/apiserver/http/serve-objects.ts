// Serves objects: GET for one object, a listing or a watch, as JSON, Table or metadata only; PATCH and DELETE.

import { defined } from "../../../core/defined.ts";
import type { Clock } from "../../../platform/clock.ts";
import type { Random } from "../../../platform/random.ts";
import type { TransportRequest } from "../../../platform/transport.ts";
import { badRequest, methodNotAllowed, unsupportedMediaType } from "../objects/api-error.ts";
import { isObject, type JsonObject, objectAt } from "../objects/json.ts";
import type { KubeObject } from "../objects/kube-object.ts";
import { type Resource, versionOf } from "../objects/resource-table.ts";
import { applyJsonPatch, applyMergePatch } from "../patch/json-patch.ts";
import { applyStrategicMergePatch } from "../patch/strategic-merge-patch.ts";
import type { Lister } from "../storage/list-objects.ts";
import type { ObjectRegistry, WriteOptions } from "../storage/object-registry.ts";
import type { Store } from "../storage/object-store.ts";
import { type Frame, openWatch, type WatchSettings } from "../storage/watch-objects.ts";
import { answerJson, answerText } from "./answer.ts";
import { toMetadataOnly, toTable, wantsMetadataOnly, wantsTable } from "./kubectl-table.ts";
import { type ObjectPredicate, readFieldSelector, readLabelSelector } from "./object-selectors.ts";
import { mediaTypeOf, type RequestInfo, readOptions, readPatch } from "./parse-request.ts";

export interface ReadDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly lister: Lister;
  readonly settings: WatchSettings;
}

/** A request for a resource that exists. */
export type ResourceRequest = RequestInfo & { readonly resource: Resource };

function selectorFor({ resource, name, query }: ResourceRequest): ObjectPredicate {
  const byLabel = readLabelSelector(query.get("labelSelector"));
  const byField = readFieldSelector(resource, query.get("fieldSelector"));
  return (object) => (name === "" || object.metadata.name === name) && byLabel(object) && byField(object);
}

/** The objects as a Table, if the client requests it. */
function tableOf(
  { clock }: ReadDeps,
  { accept, query, resource }: ResourceRequest,
  objects: readonly KubeObject[],
  metadata: JsonObject,
): JsonObject | undefined {
  if (!wantsTable(accept)) return undefined;
  return toTable(resource.plural, objects, metadata, query.get("includeObject"), clock.now());
}

function tableOfOne(deps: ReadDeps, info: ResourceRequest, object: KubeObject): JsonObject | undefined {
  return tableOf(deps, info, [object], { resourceVersion: object.metadata.resourceVersion });
}

export function serveObject(
  deps: ReadDeps,
  info: ResourceRequest,
  object: KubeObject,
  code = 200,
  warnings: readonly string[] = [],
): Response {
  if (wantsMetadataOnly(info.accept)) return answerJson(code, toMetadataOnly(object), warnings);
  const table = tableOfOne(deps, info, object);
  return answerText(code, table === undefined ? deps.store.jsonOf(object) : JSON.stringify(table), warnings);
}

export function serveList(deps: ReadDeps, info: ResourceRequest): Response {
  const { query, namespace, resource } = info;
  const page = deps.lister.list(resource.plural, namespace, selectorFor(info), query);
  const isSelective = query.has("labelSelector") || query.has("fieldSelector");
  const metadata: JsonObject = defined({
    resourceVersion: String(page.revision),
    continue: page.continueToken,
    remainingItemCount: isSelective ? undefined : page.remaining,
  });
  const table = tableOf(deps, info, page.items, metadata);
  if (table !== undefined) return answerJson(200, table);
  const items = page.items.map((object) => deps.store.jsonOf(object)).join(",");
  const list = { kind: `${resource.kind}List`, apiVersion: versionOf(resource.group), metadata };
  return answerText(200, `${JSON.stringify(list).slice(0, -1)},"items":[${items}]}`);
}

function bookmark({ kind, group }: Resource, revision: number, isEnd: boolean): JsonObject {
  return {
    kind,
    apiVersion: versionOf(group),
    metadata: defined({
      resourceVersion: String(revision),
      creationTimestamp: null,
      annotations: isEnd ? { "k8s.io/initial-events-end": "true" } : undefined,
    }),
  };
}

export function serveWatch(deps: ReadDeps, info: ResourceRequest, signal: AbortSignal): Response {
  const { method, namespace, query, resource } = info;
  if (method !== "GET") throw methodNotAllowed();
  /** All watches share the cached JSON of an object. */
  const jsonOf = (frame: Frame): string => {
    if (frame.type === "ERROR") return JSON.stringify(frame.object);
    if (frame.type === "BOOKMARK")
      return JSON.stringify(bookmark(resource, frame.revision, frame.isEndOfInitialEvents));
    const table = tableOfOne(deps, info, frame.object);
    return table === undefined ? deps.store.jsonOf(frame.object) : JSON.stringify(table);
  };
  const encode = (frame: Frame): string => `{"type":"${frame.type}","object":${jsonOf(frame)}}\n`;
  const request = { storage: resource.plural, namespace, matches: selectorFor(info), query, encode };
  return answerText(200, openWatch(request, deps, signal));
}

/** The effect of the patch in the body on an object. */
export function changeFor(
  request: TransportRequest,
  { kind }: Resource,
): (current: KubeObject) => JsonObject {
  const [, type] = /^application\/(json|merge|strategic-merge)-patch\+json$/.exec(mediaTypeOf(request)) ?? [];
  if (type === undefined) throw unsupportedMediaType();
  const patch = readPatch(request);
  if (type === "json") return (current) => applyJsonPatch(current, patch);
  if (!isObject(patch)) throw badRequest("error decoding patch: expected an object");
  if (type === "merge") return (current) => applyMergePatch(current, patch);
  return (current) => applyStrategicMergePatch(current, patch, kind);
}

/** Resources whose deletion returns the deleted object. The deletion of any other kind returns a Status. */
const answersWithObject = new Set(["services", "serviceaccounts"]);

export function serveDelete(
  registry: ObjectRegistry,
  request: TransportRequest,
  { resource, namespace, name }: ResourceRequest,
  options: WriteOptions,
): Response {
  const body = readOptions(request);
  const dryRun = options.dryRun === true || JSON.stringify(body["dryRun"] ?? []).includes("All");
  const preconditions = objectAt(body, "preconditions");
  const { object, isGone } = registry.delete(resource, namespace, name, preconditions, { dryRun });
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
