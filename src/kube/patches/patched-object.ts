// What a guarded patch that was accepted has made of an object, worked out here: the server need not send back seven
// kilobytes to say what we have told it. Pure; steps into lists are not for us.

import type { KubeObject } from "../objects.ts";
import type { JsonPatchStep } from "./patch.ts";

type Tree = Readonly<Record<string, unknown>>;

const unescaped = (part: string): string => part.replaceAll("~1", "/").replaceAll("~0", "~");

function changed(tree: Tree, [head, ...rest]: readonly string[], step: JsonPatchStep): Tree {
  if (head === undefined) return tree;
  if (rest.length > 0) return { ...tree, [head]: changed((tree[head] ?? {}) as Tree, rest, step) };
  if (step.op !== "remove") return { ...tree, [head]: step.value };
  const { [head]: _, ...others } = tree;
  return others;
}

/** The guards held, or the server would have refused. */
export function applySteps<T extends KubeObject>(object: T, steps: readonly JsonPatchStep[]): T {
  return steps
    .filter(({ op }) => op !== "test")
    .reduce<Tree>(
      (tree, step) => changed(tree, step.path.split("/").slice(1).map(unescaped), step),
      object as unknown as Tree,
    ) as unknown as T;
}
