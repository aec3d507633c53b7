// Parses a method and a URL into verb, resource, namespace, name, subresource and parameters.

import { findResource, type Resource } from "../objects/resource-table.ts";

export interface RequestInfo {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  /** get, list, watch, create, update, patch, delete, deletecollection; the lower-case method for other paths. */
  readonly verb: string;
  readonly group: string;
  readonly version: string;
  /** Empty when the path is not below a group and version. */
  readonly plural: string;
  readonly resource: Resource | undefined;
  readonly namespace: string;
  readonly name: string;
  readonly subresource: string;
}

const isTrue = (value: string | null): boolean => value === "true" || value === "1";

function verbFor(method: string, name: string, query: URLSearchParams): string {
  switch (method) {
    case "POST":
      return "create";
    case "PUT":
      return "update";
    case "PATCH":
      return "patch";
    case "DELETE":
      return name === "" ? "deletecollection" : "delete";
    default:
      if (isTrue(query.get("watch"))) return "watch";
      return name === "" ? "list" : "get";
  }
}

export function readRequest(method: string, url: string): RequestInfo {
  const { pathname: path, searchParams: query } = new URL(url, "http://test-api-server");
  const parts = path.split("/").filter(Boolean).map(decodeURIComponent);
  const [root, ...rest] = parts;
  const group = root === "apis" ? (rest.shift() ?? "") : "";
  const version = root === "api" || root === "apis" ? (rest.shift() ?? "") : "";
  const isInNamespace =
    rest[0] === "namespaces" && rest.length > 2 && rest[2] !== "status" && rest[2] !== "finalize";
  const namespace = isInNamespace ? (rest[1] ?? "") : "";
  const [plural = "", name = "", subresource = ""] = isInNamespace ? rest.slice(2) : rest;
  return {
    method,
    path,
    query,
    verb: plural === "" ? method.toLowerCase() : verbFor(method, name, query),
    group,
    version,
    plural,
    resource: findResource(group, version, plural),
    namespace,
    name,
    subresource,
  };
}
