// Filters changes of a Node for those that concern the node controller: kubelets update their Node's status all the
// time, and almost none of these updates do. Pure.

import type { Node } from "../../kube/objects.ts";
import { cloudConditionOf } from "./cloud-condition.ts";

/** Ignores the order of keys: the API server sorts the labels. */
const same = (a: unknown, b: unknown): boolean => Bun.deepEquals(a, b);

export function isRelevantChange(before: Node | undefined, after: Node | undefined): boolean {
  if (before === undefined || after === undefined) return true;
  return !(
    before.metadata.uid === after.metadata.uid &&
    before.metadata.deletionTimestamp === after.metadata.deletionTimestamp &&
    before.spec.providerID === after.spec.providerID &&
    same(before.spec.taints, after.spec.taints) &&
    same(before.metadata.labels, after.metadata.labels) &&
    same(before.metadata.annotations, after.metadata.annotations) &&
    same(before.status.addresses, after.status.addresses) &&
    before.status.nodeInfo?.systemUUID === after.status.nodeInfo?.systemUUID &&
    same(cloudConditionOf(before), cloudConditionOf(after))
  );
}
