// Applies an accepted JSON patch to the cached object, so that the server does not have to send it back (7 KB). It does not
// support paths into lists. Pure.

import type { KubeObject } from "../objects.ts";
import type { JsonPatchStep } from "./patch.ts";

type Tree = Readonly<Record<string, unknown>>;

const unescaped = (part: string): string => part.replaceAll("~1", "/").replaceAll("~0", "~");

function changed(tree: Tree, [head, ...tail]: readonly string[], step: JsonPatchStep): Tree {
  if (head === undefined) return tree;
  if (tail.length > 0) return { ...tree, [head]: changed((tree[head] ?? {}) as Tree, tail, step) };
  if (step.op !== "remove") return { ...tree, [head]: step.value };
  const { [head]: _, ...others } = tree;
  return others;
}

/** Ignores the guards: the server has accepted the patch. */
export function applySteps<T extends KubeObject>(object: T, steps: readonly JsonPatchStep[]): T {
  return steps
    .filter(({ op }) => op !== "test")
    .reduce<Tree>(
      (tree, step) => changed(tree, step.path.split("/").slice(1).map(unescaped), step),
      object as unknown as Tree,
    ) as unknown as T;
}
