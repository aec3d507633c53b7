// The identity of an object in the queue and in everything that is remembered about it: its key and its uid. A new object with the name of
// a deleted object has a different identity. Pure.

import type { Brand } from "../../core/brand.ts";
import { type KubeObject, keyOf } from "../../kube/objects.ts";

/** `default/data/UID`, or `node-1/UID`. */
export type ObjectRef = Brand<string, "ObjectRef">;

export const keyFor = ({ metadata }: KubeObject): string => keyOf(metadata);

export const refOf = (object: KubeObject): ObjectRef =>
  [keyFor(object), object.metadata.uid].join("/") as ObjectRef;

export const keyIn = (ref: ObjectRef): string => ref.slice(0, ref.lastIndexOf("/"));
export const uidIn = (ref: ObjectRef): string => ref.slice(ref.lastIndexOf("/") + 1);

/** Undefined if the object is gone, even if another object has its name. */
export function objectIn<T extends KubeObject>(
  store: { get(key: string): T | undefined },
  ref: ObjectRef,
): T | undefined {
  const found = store.get(keyIn(ref));
  return found?.metadata.uid === uidIn(ref) ? found : undefined;
}
