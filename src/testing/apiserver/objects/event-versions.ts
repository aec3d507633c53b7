// Converts Events between core/v1, which is stored, and events.k8s.io/v1. Other kinds have one version.

import { type Json, type JsonObject, without } from "./json.ts";
import type { KubeObject } from "./kube-object.ts";
import { apiVersionOf, type Resource } from "./resource-table.ts";

const names: readonly (readonly [stored: string, shown: string])[] = [
  ["involvedObject", "regarding"],
  ["message", "note"],
  ["source", "deprecatedSource"],
  ["firstTimestamp", "deprecatedFirstTimestamp"],
  ["lastTimestamp", "deprecatedLastTimestamp"],
  ["count", "deprecatedCount"],
  ["reportingComponent", "reportingController"],
];

function rename(object: JsonObject, from: 0 | 1, apiVersion: string): JsonObject {
  let result: JsonObject = { ...object, apiVersion };
  for (const pair of names) {
    const value: Json | undefined = object[pair[from]];
    if (value === undefined) continue;
    // events.k8s.io/v1 omits empty fields that core/v1 prints.
    if (from === 0 && value === "") {
      result = without(result, pair[from]);
      continue;
    }
    result = { ...without(result, pair[from]), [pair[from === 0 ? 1 : 0]]: value };
  }
  return result;
}

function shown(stored: JsonObject, apiVersion: string): JsonObject {
  const renamed = rename(stored, 0, apiVersion);
  return renamed["reportingInstance"] === "" ? without(renamed, "reportingInstance") : renamed;
}

const isNewEvent = (resource: Resource): boolean => resource.group === "events.k8s.io";

export function asServed(resource: Resource, stored: KubeObject): KubeObject {
  return isNewEvent(resource) ? (shown(stored, apiVersionOf(resource)) as KubeObject) : stored;
}

export function asStored(resource: Resource, served: JsonObject): JsonObject {
  return isNewEvent(resource) ? rename(served, 1, "v1") : served;
}
