// The discovery documents: groups, resources, version, and the part of OpenAPI that `kubectl apply` reads.

import { defined } from "../../../core/defined.ts";
import type { JsonObject } from "../objects/json.ts";
import { apiVersionOf, objectVerbs, type Resource, resources, reviews } from "../objects/resource-table.ts";

const groups = [...new Set([...resources, ...reviews].map(({ group }) => group))].filter(
  (group) => group !== "",
);

const statusVerbs = ["get", "patch", "update"];

const resourcesIn = (group: string): readonly Resource[] => resources.filter((each) => each.group === group);

function apiResources(group: string): JsonObject[] {
  return [
    ...resourcesIn(group).flatMap((each): JsonObject[] => {
      const { plural: name, singular: singularName, namespaced, kind, shortNames, categories } = each;
      return [
        defined({
          name,
          singularName,
          namespaced,
          kind,
          verbs: [...objectVerbs],
          shortNames: shortNames.length > 0 ? [...shortNames] : undefined,
          categories: categories.length > 0 ? [...categories] : undefined,
        }),
        ...(each.hasStatus
          ? [{ name: `${name}/status`, singularName: "", namespaced, kind, verbs: statusVerbs }]
          : []),
      ];
    }),
    ...reviews
      .filter((each) => each.group === group)
      .map(({ plural, kind }) => ({
        name: plural,
        singularName: kind.toLowerCase(),
        namespaced: false,
        kind,
        verbs: ["create"],
      })),
  ];
}

function groupEntry(name: string): JsonObject {
  return {
    name,
    versions: [{ groupVersion: `${name}/v1`, version: "v1" }],
    preferredVersion: { groupVersion: `${name}/v1`, version: "v1" },
  };
}

/** `kubectl apply` reads here whether the server can validate the fields of a kind. */
function openApiFor(group: string): JsonObject {
  const paths: Record<string, JsonObject> = {};
  const root = group === "" ? "/api/v1" : `/apis/${group}/v1`;
  const parameters = ["dryRun", "fieldManager", "fieldValidation", "force"].map((name) => ({
    name,
    in: "query",
    schema: { type: "string", uniqueItems: true },
  }));
  for (const { plural, kind, version, namespaced } of resourcesIn(group)) {
    paths[`${root}/${namespaced ? "namespaces/{namespace}/" : ""}${plural}/{name}`] = {
      patch: {
        parameters,
        "x-kubernetes-action": "patch",
        "x-kubernetes-group-version-kind": { group, version, kind },
        responses: { "200": { description: "OK" } },
      },
    };
  }
  return {
    openapi: "3.0.0",
    info: { title: "Kubernetes", version: "test" },
    paths,
    components: { schemas: {} },
  };
}

function openApiIndex(): JsonObject {
  const paths: Record<string, JsonObject> = { "api/v1": { serverRelativeURL: "/openapi/v3/api/v1?hash=1" } };
  for (const group of groups) {
    paths[`apis/${group}/v1`] = { serverRelativeURL: `/openapi/v3/apis/${group}/v1?hash=1` };
  }
  return { paths };
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

/** The document at a path, or undefined when there is none. */
export function discover(path: string): JsonObject | undefined {
  const trimmed = path.replace(/\/+$/, "");
  if (trimmed === "/version") return version;
  if (trimmed === "/api") return { kind: "APIVersions", versions: ["v1"], serverAddressByClientCIDRs: [] };
  if (trimmed === "/apis") return { kind: "APIGroupList", apiVersion: "v1", groups: groups.map(groupEntry) };
  if (trimmed === "/openapi/v3") return openApiIndex();
  const [, root, ...rest] = trimmed.split("/");
  const parts = root === "openapi" ? rest.slice(1) : [root, ...rest];
  const [kind, group, name] = parts[0] === "api" ? ["api", "", parts[1]] : parts;
  if (group === undefined || (kind !== "api" && (kind !== "apis" || !groups.includes(group))))
    return undefined;
  if (kind === "apis" && name === undefined && root !== "openapi") {
    return { kind: "APIGroup", apiVersion: "v1", ...groupEntry(group) };
  }
  if (name !== "v1" || parts.length > (kind === "api" ? 2 : 3)) return undefined;
  if (root === "openapi") return openApiFor(group);
  const groupVersion =
    resourcesIn(group)[0] === undefined ? `${group}/v1` : apiVersionOf(resourcesIn(group)[0] as Resource);
  return { kind: "APIResourceList", apiVersion: "v1", groupVersion, resources: apiResources(group) };
}
