// Which changes of a Node concern its routes: kubelets write their status every few seconds, and nearly none of it does.
// Pure.

import type { Node } from "../../../kube/objects.ts";
import { isPaused } from "../../node-facts.ts";
import { addressesOf, podCIDRsOf } from "../desired/plan-desired.ts";
import { networkCondition } from "../status/plan-condition.ts";

function aboutRoutes(node: Node, isSelected: (node: Node) => boolean): string {
  return JSON.stringify([
    node.metadata.uid,
    node.spec.providerID ?? "",
    podCIDRsOf(node).map(({ text, range }) => range ?? text),
    addressesOf(node).toSorted(),
    isPaused(node),
    isSelected(node),
  ]);
}

/**
 * A kubelet or somebody else says so after we said otherwise: without a look it would stay until the next full check. A
 * foreign reason under the right status may wait for the next pass: a network plugin that puts its own back at once would
 * have us write for ever.
 */
function becameUnavailable(before: Node, after: Node): boolean {
  const [was, is] = [before, after].map(({ status }) =>
    status.conditions?.some(({ type, status: said }) => type === networkCondition && said === "True"),
  );
  return is === true && was !== true;
}

export function isRelevantForRoutes(
  before: Node | undefined,
  after: Node | undefined,
  isSelected: (node: Node) => boolean = () => true,
): boolean {
  const known = [before, after].filter((node) => node !== undefined);
  // Without a pod range it neither had nor gets a route.
  if (known.every((node) => podCIDRsOf(node).length === 0)) return false;
  if (before === undefined || after === undefined) return true;
  return (
    aboutRoutes(before, isSelected) !== aboutRoutes(after, isSelected) || becameUnavailable(before, after)
  );
}
