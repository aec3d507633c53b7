// A guarded JSON patch as a strategic merge patch, which costs the API server less, because it need not convert the whole object to
// JSON and back. Pure.

import { defined } from "../../core/defined.ts";
import type { KubeObject } from "../objects.ts";
import { type JsonPatchStep, type Patch, unescaped } from "./patch.ts";

type Tree = Record<string, unknown>;

const partsOf = (path: string): readonly string[] => path.split("/").slice(1).map(unescaped);

function valueAt(object: KubeObject, path: string): unknown {
  return partsOf(path).reduce<unknown>((tree, part) => (tree as Tree | undefined)?.[part], object);
}

/** Undefined if a merge can have another effect than the step. */
function mergedValue(object: KubeObject, step: Exclude<JsonPatchStep, { op: "test" }>): unknown {
  if (step.op === "remove") return null;
  const { path, value } = step;
  if (typeof value !== "object") return value;
  if (Array.isArray(value)) {
    // Addresses are merged by type unless a directive requests a replacement; taints are always replaced.
    if (path === "/status/addresses") return [{ $patch: "replace" }, ...value];
    return path === "/spec/taints" ? value : undefined;
  }
  return valueAt(object, path) === undefined ? value : undefined;
}

/**
 * The same change of exactly this version of the object, which replaces the guards. Undefined if a guard fails for this version, or
 * if only a JSON patch can make the change.
 */
export function asMergePatch(
  object: KubeObject,
  { body, subresource }: { readonly body: readonly JsonPatchStep[]; readonly subresource?: "status" },
): Patch | undefined {
  const { uid, resourceVersion } = object.metadata;
  const merged: Tree = { metadata: { uid, resourceVersion } };
  for (const step of body) {
    if (step.op === "test") {
      if (!Bun.deepEquals(valueAt(object, step.path) ?? null, step.value)) return undefined;
      continue;
    }
    const value = mergedValue(object, step);
    if (value === undefined) return undefined;
    const parts = partsOf(step.path);
    let tree = merged;
    for (const part of parts.slice(0, -1)) {
      tree[part] ??= {};
      tree = tree[part] as Tree;
    }
    tree[parts.at(-1) ?? ""] = value;
  }
  return {
    contentType: "application/strategic-merge-patch+json",
    body: merged,
    ...defined({ subresource }),
  };
}
