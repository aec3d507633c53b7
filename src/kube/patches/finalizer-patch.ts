// Adds or takes away one finalizer and guards the others. Pure; undefined when there is nothing to do.

import type { KubeObject } from "../objects.ts";
import { jsonPatch, type Patch, testUID, testValue } from "./patch.ts";

const path = "/metadata/finalizers";

/** Written through the status subresource where the Go manager's role allows only that (`services/status`). */
export function finalizerPatch(
  object: KubeObject,
  finalizer: string,
  wanted: "present" | "absent",
  subresource?: "status",
): Patch | undefined {
  const present = object.metadata.finalizers;
  if ((present ?? []).includes(finalizer) === (wanted === "present")) return undefined;
  const others = (present ?? []).filter((each) => each !== finalizer);
  const next = wanted === "present" ? [...others, finalizer] : others;
  const change =
    next.length === 0 ? ({ op: "remove", path } as const) : ({ op: "add", path, value: next } as const);
  // An object that goes takes no finalizer any more: the server would call that invalid, and it is only a lost race.
  const alive = wanted === "present" ? [testValue("/metadata/deletionTimestamp", undefined)] : [];
  return jsonPatch([testUID(object), ...alive, testValue(path, present), change], subresource);
}
