// Serves objects: GET for one object, a listing or a watch, as JSON, Table or metadata only; PATCH and DELETE.

import { defined } from "../../../core/defined.ts";
import { parseNodeSelector } from "../../../core/node-selector.ts";
import type { Clock } from "../../../platform/clock.ts";
import type { Random } from "../../../platform/random.ts";
import type { TransportRequest } from "../../../platform/transport.ts";
import { badRequest, methodNotAllowed, notFound } from "../objects/api-error.ts";
import { isObject, type Json, type JsonObject, textAt, valueAt } from "../objects/json.ts";
import type { KubeObject } from "../objects/kube-object.ts";
import { apiVersionOf, type Resource } from "../objects/resource-table.ts";
import { applyJsonPatch, applyMergePatch } from "../patch/json-patch.ts";
import { applyStrategicMergePatch } from "../patch/strategic-merge-patch.ts";
import type { Lister } from "../storage/list-objects.ts";
import type { ObjectRegistry, Preconditions, WriteOptions } from "../storage/object-registry.ts";
import type { Store } from "../storage/object-store.ts";
import { planWatch, type WatchSettings } from "../storage/plan-watch.ts";
import { type Frame, openWatch } from "../storage/serve-watch.ts";
import { answerJson, answerText } from "./answer.ts";
import {
  type IncludeObject,
  toMetadataOnly,
  toTable,
  wantsMetadataOnly,
  wantsTable,
} from "./kubectl-table.ts";
import {
  mediaTypeOf,
  type RequestInfo,
  readOptions,
  readPatch,
  unsupportedMediaType,
} from "./parse-request.ts";

export interface ReadDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly lister: Lister;
  readonly settings: WatchSettings;
}

type Accept = string | undefined;

function includeOf(query: URLSearchParams): IncludeObject {
  const asked = query.get("includeObject");
  return asked === "None" || asked === "Object" ? asked : "Metadata";
}

function selectorFor(resource: Resource, info: RequestInfo): (object: KubeObject) => boolean {
  const byLabel = readLabelSelector(info.query.get("labelSelector"));
  const byField = readFieldSelector(resource, info.query.get("fieldSelector"));
  const { name } = info;
  return (object) => (name === "" || object.metadata.name === name) && byLabel(object) && byField(object);
}

export function serveObject(
  deps: ReadDeps,
  resource: Resource,
  object: KubeObject,
  query: URLSearchParams,
  accept: Accept,
  code = 200,
  warnings: readonly string[] = [],
): Response {
  if (wantsMetadataOnly(accept)) return answerJson(code, toMetadataOnly(object), warnings);
  if (!wantsTable(accept)) return answerText(code, deps.store.jsonOf(object), warnings);
  const metadata = { resourceVersion: object.metadata.resourceVersion };
  const now = deps.clock.now();
  return answerJson(code, toTable(resource.plural, [object], metadata, includeOf(query), now), warnings);
}

export function serveGet(deps: ReadDeps, resource: Resource, info: RequestInfo, accept: Accept): Response {
  const stored = deps.store.get(resource.plural, info.namespace, info.name);
  if (stored === undefined) throw notFound(resource, info.name);
  return serveObject(deps, resource, stored, info.query, accept);
}

export function serveList(deps: ReadDeps, resource: Resource, info: RequestInfo, accept: Accept): Response {
  const { query, namespace } = info;
  const page = deps.lister.list(resource.plural, namespace, selectorFor(resource, info), query);
  const isSelective = query.has("labelSelector") || query.has("fieldSelector");
  const metadata: JsonObject = defined({
    resourceVersion: String(page.revision),
    continue: page.continueToken,
    remainingItemCount: isSelective ? undefined : page.remaining,
  });
  if (wantsTable(accept)) {
    const now = deps.clock.now();
    return answerJson(200, toTable(resource.plural, page.items, metadata, includeOf(query), now));
  }
  const items = page.items.map((object) => deps.store.jsonOf(object)).join(",");
  const head = JSON.stringify({ kind: `${resource.kind}List`, apiVersion: apiVersionOf(resource), metadata });
  return answerText(200, `${head.slice(0, -1)},"items":[${items}]}`);
}

function bookmark(resource: Resource, revision: number, isEnd: boolean): JsonObject {
  return {
    kind: resource.kind,
    apiVersion: apiVersionOf(resource),
    metadata: defined({
      resourceVersion: String(revision),
      creationTimestamp: null,
      annotations: isEnd ? { "k8s.io/initial-events-end": "true" } : undefined,
    }),
  };
}

/** Encodes a frame as a line of JSON. All watches share the cached JSON of an object. */
function encoderFor(deps: ReadDeps, resource: Resource, query: URLSearchParams, accept: Accept) {
  const isTable = wantsTable(accept);
  return (frame: Frame): string => {
    if (frame.type === "ERROR") return frame.text;
    if (frame.type === "BOOKMARK") {
      const object = bookmark(resource, frame.revision, frame.isEndOfInitialEvents);
      return `${JSON.stringify({ type: "BOOKMARK", object })}\n`;
    }
    const { object } = frame;
    if (!isTable) return `{"type":"${frame.type}","object":${deps.store.jsonOf(object)}}\n`;
    const { resourceVersion } = object.metadata;
    const table = toTable(resource.plural, [object], { resourceVersion }, includeOf(query), deps.clock.now());
    return `${JSON.stringify({ type: frame.type, object: table })}\n`;
  };
}

export function serveWatch(
  deps: ReadDeps,
  resource: Resource,
  info: RequestInfo,
  accept: Accept,
  signal: AbortSignal,
): Response {
  if (info.method !== "GET") throw methodNotAllowed();
  const encode = encoderFor(deps, resource, info.query, accept);
  const { namespace, query } = info;
  const matches = selectorFor(resource, info);
  const request = { storage: resource.plural, namespace, matches, query, encode };
  const plan = planWatch(request, deps.settings, deps.store, deps.random);
  return answerText(200, openWatch(deps.store, deps.clock, plan, signal));
}

// Matches objects by label selectors, and by field selectors for the fields that each resource supports.

type ObjectPredicate = (object: KubeObject) => boolean;

const everything: ObjectPredicate = () => true;

function readLabelSelector(text: string | null): ObjectPredicate {
  if (text === null || text.trim() === "") return everything;
  const parsed = parseNodeSelector(text);
  if ("wrong" in parsed) throw badRequest(`unable to parse requirement: ${parsed.wrong}`);
  return ({ metadata }) => parsed.value.matches(metadata.labels ?? {});
}

const involved = ["kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath"];

const selectable: Record<string, readonly string[]> = {
  nodes: ["spec.unschedulable"],
  services: ["spec.clusterIP", "spec.type"],
  events: [
    ...involved.map((field) => `involvedObject.${field}`),
    "reason",
    "reportingComponent",
    "source",
    "type",
  ],
  namespaces: ["status.phase"],
  secrets: ["type"],
};

function asText(value: Json | undefined, field: string): string {
  if (value === undefined || value === null) return field === "spec.unschedulable" ? "false" : "";
  return String(value);
}

function readFieldSelector(resource: Resource, text: string | null): ObjectPredicate {
  if (text === null || text.trim() === "") return everything;
  const terms = text.split(",").map((term): ObjectPredicate => {
    const match = /^\s*([^=!]+?)\s*(==|!=|=)\s*(.*?)\s*$/.exec(term);
    const [, field, operator, wanted] = match ?? [];
    if (field === undefined || wanted === undefined) {
      throw badRequest(`invalid selector: '${text}'; can't understand '${term}'`);
    }
    const known = field === "metadata.name" || (field === "metadata.namespace" && resource.namespaced);
    if (!known && !(selectable[resource.plural] ?? []).includes(field)) {
      throw badRequest(`field label not supported: ${field}`);
    }
    const path = (field === "source" ? "source.component" : field).split(".");
    return (object) => (asText(valueAt(object, ...path), field) === wanted) === (operator !== "!=");
  });
  return (object) => terms.every((matches) => matches(object));
}

// Serves PATCH and DELETE: the media type selects the kind of patch. object-registry.ts handles finalizers.

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
