// Which changes of a Node concern us: kubelets write their status every few seconds, and nearly none of it does. Pure.

import type { Node } from "../../kube/objects.ts";
import { conditionOf } from "./troubles.ts";

const same = (a: unknown, b: unknown): boolean => a === b || JSON.stringify(a) === JSON.stringify(b);

export const isRelevantChange = (before: Node | undefined, after: Node | undefined): boolean => {
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
    same(conditionOf(before), conditionOf(after))
  );
};
