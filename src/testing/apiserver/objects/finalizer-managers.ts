// Which client added each finalizer: the only part of the managed fields that the test API server keeps. The first part of the user
// agent names a client.

import { isSame, type Json, type JsonObject, objectAt } from "./json.ts";
import type { KubeObject } from "./kube-object.ts";

/** The object as it is stored after a write by this client. A write of a test, which has no user agent, may set the managed fields. */
export function withManagers(next: KubeObject, before: KubeObject, manager: string | undefined): KubeObject {
  const known = (manager === undefined ? next : before).metadata.managedFields ?? [];
  const earlier = before.metadata.finalizers ?? [];
  const finalizers = next.metadata.finalizers ?? [];
  const added = manager === undefined ? [] : finalizers.filter((each) => !earlier.includes(each));
  const entries = [
    ...known.filter((entry) => finalizers.some((each) => isOf(entry, each))),
    ...added.map((each) => entryOf(each, manager ?? "")),
  ];
  if (isSame(entries, next.metadata.managedFields ?? [])) return next;
  return { ...next, metadata: { ...next.metadata, managedFields: entries } };
}

const keyOf = (finalizer: string): string => `v:"${finalizer}"`;

function isOf(entry: Json, finalizer: string): boolean {
  return keyOf(finalizer) in objectAt(entry, "fieldsV1", "f:metadata", "f:finalizers");
}

function entryOf(finalizer: string, manager: string): JsonObject {
  return {
    ...{ manager, operation: "Update", apiVersion: "v1", fieldsType: "FieldsV1" },
    fieldsV1: { "f:metadata": { "f:finalizers": { [keyOf(finalizer)]: {} } } },
  };
}
