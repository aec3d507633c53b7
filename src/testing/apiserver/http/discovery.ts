// The discovery documents: groups, resources, version, and the part of OpenAPI that `kubectl apply` reads.

import { defined } from "../../../core/defined.ts";
import type { JsonObject } from "../objects/json.ts";
import { resources, reviews, versionOf } from "../objects/resource-table.ts";

const groups = [...new Set([...resources, ...reviews].map(({ group }) => group))].filter(
  (group) => group !== "",
);

const objectVerbs = ["create", "delete", "get", "list", "patch", "update", "watch"];
const statusVerbs = ["get", "patch", "update"];

function apiResources(group: string): JsonObject[] {
  const ofObjects = resources.flatMap((each): JsonObject[] => {
    const { plural: name, namespaced, kind, shortNames } = each;
    if (each.group !== group) return [];
    // `kubectl get all` shows resources of this category.
    const categories = name === "services" ? ["all"] : undefined;
    const singularName = kind.toLowerCase();
    return [
      defined({ name, singularName, namespaced, kind, verbs: objectVerbs, shortNames, categories }),
      ...(each.hasStatus === true
        ? [{ name: `${name}/status`, singularName: "", namespaced, kind, verbs: statusVerbs }]
        : []),
    ];
  });
  const ofReviews = reviews.flatMap(({ group: ownGroup, plural: name, kind }): JsonObject[] =>
    ownGroup === group
      ? [{ name, singularName: kind.toLowerCase(), namespaced: false, kind, verbs: ["create"] }]
      : [],
  );
  return [...ofObjects, ...ofReviews];
}

function groupEntry(name: string): JsonObject {
  const version = { groupVersion: versionOf(name), version: "v1" };
  return { name, versions: [version], preferredVersion: version };
}

/** `kubectl apply` reads here whether the server can validate the fields of a kind. */
function openApiFor(group: string): JsonObject {
  const root = group === "" ? "/api/v1" : `/apis/${group}/v1`;
  const parameters = ["dryRun", "fieldManager", "fieldValidation", "force"].map((name) => ({
    name,
    in: "query",
    schema: { type: "string", uniqueItems: true },
  }));
  const paths = resources.flatMap(({ group: ownGroup, plural, kind, namespaced }) => {
    if (ownGroup !== group) return [];
    const patch = {
      parameters,
      "x-kubernetes-action": "patch",
      "x-kubernetes-group-version-kind": { group, version: "v1", kind },
      responses: { "200": { description: "OK" } },
    };
    return [[`${root}/${namespaced ? "namespaces/{namespace}/" : ""}${plural}/{name}`, { patch }]];
  });
  return {
    openapi: "3.0.0",
    info: { title: "Kubernetes", version: "test" },
    paths: Object.fromEntries(paths),
    components: { schemas: {} },
  };
}

function openApiIndex(): JsonObject {
  const roots = ["api/v1", ...groups.map((group) => `apis/${group}/v1`)];
  const paths = roots.map((root) => [root, { serverRelativeURL: `/openapi/v3/${root}?hash=1` }]);
  return { paths: Object.fromEntries(paths) };
}

const version: JsonObject = {
  major: "1",
  minor: "35",
  gitVersion: "v1.35.4",
  gitCommit: "",
  gitTreeState: "clean",
  buildDate: "1970-01-01T00:00:00Z",
  goVersion: "",
  compiler: "bun",
  platform: "test",
};

const fixed: Readonly<Record<string, JsonObject>> = {
  "/version": version,
  "/api": { kind: "APIVersions", versions: ["v1"], serverAddressByClientCIDRs: [] },
  "/apis": { kind: "APIGroupList", apiVersion: "v1", groups: groups.map(groupEntry) },
  "/openapi/v3": openApiIndex(),
};

/** The document at a path; undefined if there is none. */
export function discover(path: string): JsonObject | undefined {
  const trimmed = path.replace(/\/+$/, "");
  if (trimmed in fixed) return fixed[trimmed];
  const match = /^(\/openapi\/v3)?\/(?:api|apis\/([^/]+))(\/v1)?$/.exec(trimmed);
  const [, openApi, group = "", ownVersion] = match ?? [];
  if (match === null || (group !== "" && !groups.includes(group))) return undefined;
  if (ownVersion === undefined) {
    return group === "" || openApi !== undefined
      ? undefined
      : { kind: "APIGroup", apiVersion: "v1", ...groupEntry(group) };
  }
  if (openApi !== undefined) return openApiFor(group);
  return {
    kind: "APIResourceList",
    apiVersion: "v1",
    groupVersion: versionOf(group),
    resources: apiResources(group),
  };
}
