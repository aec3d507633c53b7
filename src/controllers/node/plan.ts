// What is to be written to a Node, given its machine: addresses first, then provider id, labels and taint in one write.
// Pure: reasons and problems are returned, nothing is asked and nothing is written.

import type { ProviderID } from "../../core/brand.ts";
import type { Problem } from "../../core/problem.ts";
import type { Labels, Node, NodeAddress } from "../../kube/objects.ts";
import type { Instance } from "../../provider/instances.ts";
import { isUninitialized } from "../node-facts.ts";
import { planAddresses, sameAddresses, sameAddressSet } from "./addresses.ts";
import { planLabels } from "./labels.ts";
import { nodeAnnotationProblems } from "./node-annotations.ts";
import type { NodeSettings } from "./settings.ts";

export interface NodePlan {
  /** Written to the status before anything else. */
  readonly addresses?: readonly NodeAddress[];
  readonly providerID?: ProviderID;
  readonly labels: Labels;
  readonly removeUninitializedTaint: boolean;
  readonly problems: readonly Problem[];
}

export interface NodePlanInput {
  readonly node: Node;
  readonly instance: Instance;
  readonly ownPrefixes: readonly string[];
  readonly settings: NodeSettings;
}

export function planNode({ node, instance, ownPrefixes, settings }: NodePlanInput): NodePlan {
  const isNew = isUninitialized(node);
  const { wanted, problems: addressProblems } = planAddresses(node, instance.addresses, settings.addresses);
  const labels = planLabels({ labels: node.metadata.labels ?? {}, instance, isNew, ownPrefixes, settings });
  const problems = [
    ...(instance.problems ?? []),
    ...nodeAnnotationProblems(node),
    ...addressProblems,
    ...labels.problems,
  ];
  // A node that joins with something wrong stays tainted: better not schedulable than wrongly so.
  if (isNew && problems.some(({ severity }) => severity === "error")) {
    return { labels: {}, removeUninitializedTaint: false, problems };
  }
  return {
    ...(wanted !== undefined && mustWrite(node, wanted) && { addresses: wanted }),
    ...(isNew && !hasProviderID(node) && { providerID: instance.id }),
    labels: labels.set,
    removeUninitializedTaint: isNew,
    problems,
  };
}

const hasProviderID = (node: Node): boolean => (node.spec.providerID ?? "") !== "";

/** Order matters while a node joins; later a mere reordering is left alone, so that a take-over writes nothing. */
function mustWrite(node: Node, wanted: readonly NodeAddress[]): boolean {
  const present = node.status.addresses ?? [];
  return isUninitialized(node) ? !sameAddresses(present, wanted) : !sameAddressSet(present, wanted);
}
