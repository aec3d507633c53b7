// What a patch is, and the small steps guarded patches are made of. Pure: it sends nothing and decides nothing.
// A `test` against null holds where the key is absent (and only if its parent is there), so absence can be guarded too.

import type { KubeObject } from "../objects.ts";

export type JsonPatchStep =
  | { readonly op: "test" | "add" | "replace"; readonly path: string; readonly value: unknown }
  | { readonly op: "remove"; readonly path: string };

export type Patch =
  | {
      readonly contentType: "application/json-patch+json";
      readonly body: readonly JsonPatchStep[];
      readonly subresource?: "status";
    }
  | {
      readonly contentType: "application/strategic-merge-patch+json" | "application/merge-patch+json";
      readonly body: object;
      readonly subresource?: "status";
    };

export function jsonPatch(body: readonly JsonPatchStep[], subresource?: "status"): Patch {
  return {
    contentType: "application/json-patch+json",
    body,
    ...(subresource !== undefined && { subresource }),
  };
}

/** A path inside a JSON document (RFC 6901). */
export function jsonPointer(...parts: readonly (string | number)[]): string {
  return parts.map((part) => `/${String(part).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}

export function testUID({ metadata }: KubeObject): JsonPatchStep {
  return {
    op: "test",
    path: "/metadata/uid",
    value: metadata.uid,
  };
}

/** Holds only while the value there is still this one; undefined stands for "absent". */
export function testValue(path: string, value: unknown): JsonPatchStep {
  return {
    op: "test",
    path,
    value: value ?? null,
  };
}

/** Sets keys of a map that may not be there yet; undefined takes a key away. Nothing when nothing would change. */
export function changeMap(
  path: string,
  present: Readonly<Record<string, string>> | undefined,
  wanted: Readonly<Record<string, string | undefined>>,
): readonly JsonPatchStep[] {
  const different = Object.entries(wanted).filter(([key, value]) => present?.[key] !== value);
  if (different.length === 0) return [];
  if (present === undefined) {
    const value = Object.fromEntries(different);
    // Guarded: someone may have made the map meanwhile, and adding the whole would wipe theirs.
    return [testValue(path, undefined), { op: "add", path, value }];
  }
  return different.map(([key, value]): JsonPatchStep => {
    const at = `${path}${jsonPointer(key)}`;
    return value === undefined ? { op: "remove", path: at } : { op: "add", path: at, value };
  });
}
