// The shape of a patch, and the steps of guarded JSON patches. A `test` against null succeeds if the key is missing and its
// parent exists, so a patch can also guard absence. Pure.

import { defined } from "../../core/defined.ts";
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
      readonly subresource?: "status" | "approval";
    };

export function jsonPatch(body: readonly JsonPatchStep[], subresource?: "status"): Patch {
  return {
    contentType: "application/json-patch+json",
    body,
    ...defined({ subresource }),
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

/** Succeeds only while the value equals the given value; undefined means absent. */
export function testValue(path: string, value: unknown): JsonPatchStep {
  return {
    op: "test",
    path,
    value: value ?? null,
  };
}

/** Sets keys of a map that may not exist yet; undefined removes a key. Returns no steps if nothing would change. */
export function changeMap(
  path: string,
  present: Readonly<Record<string, string>> | undefined,
  desired: Readonly<Record<string, string | undefined>>,
): readonly JsonPatchStep[] {
  const different = Object.entries(desired).filter(([key, value]) => present?.[key] !== value);
  if (different.length === 0) return [];
  if (present === undefined) {
    const value = Object.fromEntries(different);
    // Guarded, because another client may have created the map since, and `add` would replace it.
    return [testValue(path, undefined), { op: "add", path, value }];
  }
  return different.map(([key, value]): JsonPatchStep => {
    const at = `${path}${jsonPointer(key)}`;
    return value === undefined ? { op: "remove", path: at } : { op: "add", path: at, value };
  });
}

type Tree = Record<string, unknown>;

/** A part of a JSON pointer. */
export const unescaped = (part: string): string =>
  part.includes("~") ? part.replaceAll("~1", "/").replaceAll("~0", "~") : part;

/**
 * Applies an accepted patch to the cached object, so that the server need not send the object back (7 KB). Does not support paths
 * into lists. Ignores the guards, because the server has accepted the patch.
 */
export function applySteps<T extends KubeObject>(object: T, steps: readonly JsonPatchStep[]): T {
  const result: T = { ...object };
  // Each map on the path of a change is copied once.
  const copies = new Set<unknown>([result]);
  for (const step of steps) {
    if (step.op === "test") continue;
    const parts = step.path.split("/");
    const key = unescaped(parts.pop() ?? "");
    let tree = result as unknown as Tree;
    for (let index = 1; index < parts.length; index++) {
      const part = unescaped(parts[index] ?? "");
      if (!copies.has(tree[part])) {
        tree[part] = { ...(tree[part] as object) };
        copies.add(tree[part]);
      }
      tree = tree[part] as Tree;
    }
    if (step.op === "remove") delete tree[key];
    else tree[key] = step.value;
  }
  return result;
}
