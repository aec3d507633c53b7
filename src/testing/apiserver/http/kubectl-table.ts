// Objects as a Table, which `kubectl get` requests, or as metadata only.

import type { JsonObject } from "../objects/json.ts";
import type { KubeObject } from "../objects/kube-object.ts";
import { plainColumns, tableColumns } from "./table-columns.ts";

export const wantsTable = (accept: string): boolean => /as=Table;.*v=v1\b|v=v1;.*as=Table/.test(accept);

export const wantsMetadataOnly = (accept: string): boolean => /^[^,]*as=PartialObjectMetadata;/.test(accept);

export const toMetadataOnly = ({ metadata }: KubeObject): JsonObject => ({
  kind: "PartialObjectMetadata",
  apiVersion: "meta.k8s.io/v1",
  metadata,
});

export function toTable(
  storage: string,
  objects: readonly KubeObject[],
  metadata: JsonObject,
  include: string | null,
  now: number,
): JsonObject {
  const columns = tableColumns[storage] ?? plainColumns;
  return {
    kind: "Table",
    apiVersion: "meta.k8s.io/v1",
    metadata,
    columnDefinitions: columns.map(({ name, isWide }) => ({
      name,
      type: "string",
      format: name === "Name" ? "name" : "",
      description: name,
      priority: isWide ? 1 : 0,
    })),
    rows: objects.map((object) => {
      const cells = columns.map(({ cell }) => cell(object, now));
      if (include === "None") return { cells };
      return { cells, object: include === "Object" ? object : toMetadataOnly(object) };
    }),
  };
}
