// A patch that adds or removes finalizers, guarded against changes of other finalizers; undefined if nothing would change.

import type { KubeObject } from "../objects.ts";
import { jsonPatch, type Patch, testUID, testValue } from "./patch.ts";

const path = "/metadata/finalizers";

/** With `subresource` for roles that allow only `services/status`, such as the Go manager's. */
export function finalizerPatch(
  object: KubeObject,
  finalizer: string | readonly string[],
  desired: "present" | "absent",
  subresource?: "status",
): Patch | undefined {
  const present = object.metadata.finalizers;
  const names = [finalizer].flat();
  const isPresent = (name: string): boolean => (present ?? []).includes(name);
  if (desired === "present" ? names.every(isPresent) : !names.some(isPresent)) return undefined;
  const others = (present ?? []).filter((other) => !names.includes(other));
  const next = desired === "present" ? [...others, ...names] : others;
  const change =
    next.length === 0 ? ({ op: "remove", path } as const) : ({ op: "add", path, value: next } as const);
  // The server rejects a new finalizer on an object in deletion as invalid. The guard turns that into a failed precondition.
  const alive = desired === "present" ? [testValue("/metadata/deletionTimestamp", undefined)] : [];
  return jsonPatch([testUID(object), ...alive, testValue(path, present), change], subresource);
}
