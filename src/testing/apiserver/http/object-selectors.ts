// Matches objects by label selectors, and by field selectors for the fields that each resource supports.

import { parseNodeSelector } from "../../../core/node-selector.ts";
import { badRequest } from "../objects/api-error.ts";
import { type Json, valueAt } from "../objects/json.ts";
import type { KubeObject } from "../objects/kube-object.ts";
import type { Resource } from "../objects/resource-table.ts";

export type ObjectPredicate = (object: KubeObject) => boolean;

const everything: ObjectPredicate = () => true;

export function readLabelSelector(text: string | null): ObjectPredicate {
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

export function readFieldSelector(resource: Resource, text: string | null): ObjectPredicate {
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
