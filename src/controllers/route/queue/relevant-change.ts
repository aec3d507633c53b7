// Filters changes of a Node for those that concern its routes: kubelets update the status of their Node all the time,
// and almost none of these updates do. Pure.

import type { Node } from "../../../kube/objects.ts";
import { ipsOf, isUninitialized } from "../../node-facts.ts";
import { isPaused } from "../../pause.ts";
import { networkCondition } from "../../well-known.ts";
import { podCIDRsOf } from "../desired/plan-desired.ts";

export function isRelevantForRoutes(
  before: Node | undefined,
  after: Node | undefined,
  isSelected: (node: Node) => boolean = () => true,
): boolean {
  const known = [before, after].filter((node) => node !== undefined);
  // Without a pod range, it neither had a route nor gets one.
  if (known.every((node) => podCIDRsOf(node).length === 0)) return false;
  if (before === undefined || after === undefined) return true;
  return (
    routeInputs(before, isSelected) !== routeInputs(after, isSelected) || becameUnavailable(before, after)
  );
}

function routeInputs(node: Node, isSelected: (node: Node) => boolean): string {
  const { addresses, internalIPs } = ipsOf(node);
  return JSON.stringify([
    node.metadata.uid,
    node.spec.providerID ?? "",
    podCIDRsOf(node).map(({ text, range }) => range ?? text),
    addresses.toSorted(),
    internalIPs,
    isPaused(node),
    isUninitialized(node),
    isSelected(node),
  ]);
}

/**
 * A kubelet or another program set the condition to True after Fairlead set it to False. Without a sync it would
 * stay until the next full one. A foreign reason with the right status may wait: a network plugin that restores its
 * own reason immediately would cause an endless loop of writes.
 */
function becameUnavailable(before: Node, after: Node): boolean {
  return isUnavailable(after) && !isUnavailable(before);
}

function isUnavailable({ status }: Node): boolean {
  const condition = status.conditions?.find(({ type }) => type === networkCondition);
  return condition?.status === "True";
}
