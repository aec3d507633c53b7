// Parses and matches label selectors, equality-based and set-based.

import { badRequest } from "../objects/api-error.ts";
import { type Json, valueAt } from "../objects/json.ts";
import type { KubeObject } from "../objects/kube-object.ts";
import type { Resource } from "../objects/resource-table.ts";

type Labels = Readonly<Record<string, string>> | undefined;
export type LabelPredicate = (labels: Labels) => boolean;

const everything: LabelPredicate = () => true;

const tokenize = (text: string): string[] => text.match(/!=|==|=|!|\(|\)|,|>|<|[^\s!=(),<>]+/g) ?? [];

function fail(found: string | undefined, expected: string): never {
  throw badRequest(`unable to parse requirement: found '${found ?? ""}', expected: ${expected}`);
}

function readValues(tokens: string[]): ReadonlySet<string> {
  if (tokens.shift() !== "(") return fail(tokens[0], "(");
  const values = new Set<string>();
  for (;;) {
    const token = tokens.shift();
    if (token === undefined) return fail("", "identifier or ')'");
    if (token === ")") return values;
    if (token !== ",") values.add(token);
  }
}

function isWord(token: string | undefined): token is string {
  return token !== undefined && /^[A-Za-z0-9][-A-Za-z0-9_./]*$/.test(token);
}

function readRequirement(tokens: string[]): LabelPredicate {
  const first = tokens.shift();
  if (first === "!") {
    const key = tokens.shift();
    return isWord(key) ? (labels) => labels?.[key] === undefined : fail(key, "identifier");
  }
  if (!isWord(first)) return fail(first, "!, identifier, or ','");
  const operator = tokens[0];
  if (operator === undefined || operator === ",") return (labels) => labels?.[first] !== undefined;
  tokens.shift();
  const value = () => (isWord(tokens[0]) ? (tokens.shift() ?? "") : "");
  switch (operator) {
    case "=":
    case "==": {
      const wanted = value();
      return (labels) => labels?.[first] === wanted;
    }
    case "!=": {
      const unwanted = value();
      return (labels) => labels?.[first] !== unwanted;
    }
    case "in": {
      const values = readValues(tokens);
      return (labels) => labels?.[first] !== undefined && values.has(labels[first]);
    }
    case "notin": {
      const values = readValues(tokens);
      return (labels) => labels?.[first] === undefined || !values.has(labels[first]);
    }
    case ">":
    case "gt": {
      const bound = Number(value());
      return (labels) => Number(labels?.[first]) > bound;
    }
    case "<":
    case "lt": {
      const bound = Number(value());
      return (labels) => Number(labels?.[first]) < bound;
    }
    default:
      return fail(operator, "in, notin, =, ==, !=, gt, lt");
  }
}

export function readLabelSelector(text: string | undefined): LabelPredicate {
  if (text === undefined || text.trim() === "") return everything;
  const tokens = tokenize(text);
  const requirements: LabelPredicate[] = [];
  while (tokens.length > 0) {
    requirements.push(readRequirement(tokens));
    if (tokens.length > 0 && tokens.shift() !== ",") fail(tokens[0], "',' or 'end of string'");
  }
  return (labels) => requirements.every((matches) => matches(labels));
}

// Parses and matches field selectors, for the fields that each resource supports.

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
