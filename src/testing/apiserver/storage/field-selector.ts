// Parses and matches field selectors, for the fields that each resource supports.

import { badRequest } from "../objects/api-error.ts";
import { type Json, valueAt } from "../objects/json.ts";
import type { KubeObject } from "../objects/kube-object.ts";
import type { Resource } from "../objects/resource-table.ts";

export type ObjectPredicate = (object: KubeObject) => boolean;

const involved = ["kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath"];

const selectable: Record<string, readonly string[]> = {
  nodes: ["spec.unschedulable"],
  services: ["spec.clusterIP", "spec.type"],
  pods: [
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.schedulerName",
    "spec.serviceAccountName",
    "spec.hostNetwork",
    "status.phase",
    "status.podIP",
    "status.nominatedNodeName",
  ],
  events: [
    ...involved.map((field) => `involvedObject.${field}`),
    ...involved.map((field) => `regarding.${field}`),
    "reason",
    "reportingComponent",
    "reportingController",
    "source",
    "type",
  ],
  namespaces: ["status.phase"],
  secrets: ["type"],
};

// Selectors may use the field names of both Event versions; core/v1 is stored.
function storedPath(field: string): string {
  if (field === "source") return "source.component";
  if (field === "reportingController") return "reportingComponent";
  return field.replace(/^regarding\./, "involvedObject.");
}

function asText(value: Json | undefined, field: string): string {
  if (value === undefined || value === null) return field === "spec.unschedulable" ? "false" : "";
  return String(value);
}

export function readFieldSelector(resource: Resource, text: string | undefined): ObjectPredicate {
  if (text === undefined || text.trim() === "") return () => true;
  const terms = text.split(",").map((term): ObjectPredicate => {
    const match = /^\s*([^=!]+?)\s*(==|!=|=)\s*(.*?)\s*$/.exec(term);
    const [, field, operator, wanted] = match ?? [];
    if (field === undefined || wanted === undefined) {
      throw badRequest(`invalid selector: '${text}'; can't understand '${term}'`);
    }
    const known = field === "metadata.name" || (field === "metadata.namespace" && resource.namespaced);
    if (!known && !(selectable[resource.storage] ?? []).includes(field)) {
      throw badRequest(`field label not supported: ${field}`);
    }
    const path = storedPath(field).split(".");
    return (object) => (asText(valueAt(object, ...path), field) === wanted) === (operator !== "!=");
  });
  return (object) => terms.every((matches) => matches(object));
}
