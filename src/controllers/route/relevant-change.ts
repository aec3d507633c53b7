// Which changes of a Node concern its routes: kubelets write their status every few seconds, and nearly none of it does.
// Pure.

import type { Node } from "../../kube/objects.ts";
import { isPaused } from "../node-facts.ts";
import { addressesOf, podCIDRsOf } from "./plan-wanted.ts";

const aboutRoutes = (node: Node): string =>
  JSON.stringify([
    node.metadata.uid,
    node.spec.providerID ?? "",
    podCIDRsOf(node).map(({ text, range }) => range ?? text),
    addressesOf(node).toSorted(),
    isPaused(node),
  ]);

export const isRelevantForRoutes = (before: Node | undefined, after: Node | undefined): boolean => {
  const known = [before, after].filter((node) => node !== undefined);
  // Without a pod range it neither had nor gets a route.
  if (known.every((node) => podCIDRsOf(node).length === 0)) return false;
  if (before === undefined || after === undefined) return true;
  return aboutRoutes(before) !== aboutRoutes(after);
};
