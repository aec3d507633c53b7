// Plans what to write to a Node, given its instance: addresses, provider id, labels and taint. Returns problems. Pure.

import type { ProviderID } from "../../core/brand.ts";
import { defined } from "../../core/defined.ts";
import type { Problem } from "../../core/problem.ts";
import { shortList } from "../../core/text.ts";
import type { Node, NodeAddress } from "../../kube/objects.ts";
import type { Instance } from "../../provider/instances.ts";
import { isUninitialized, providerIDOf, taintsOf } from "../node-facts.ts";
import { cloudLabelsAnnotation, labelPairs } from "../well-known.ts";
import { keptInternalIPs, planAddresses, sameAddresses, sameAddressSet } from "./desired/addresses.ts";
import { planCloudTaints, type TaintChanges, taintText } from "./desired/cloud-taints.ts";
import { planLabels } from "./desired/labels.ts";
import type { NodeSettings } from "./settings.ts";

export interface NodePlan {
  /** The addresses, which are written first. */
  readonly addresses?: readonly NodeAddress[];
  readonly providerID?: ProviderID;
  /** Undefined removes a label. */
  readonly labels: Readonly<Record<string, string | undefined>>;
  readonly annotations?: Readonly<Record<string, string | undefined>>;
  /** The taint changes from machine labels. */
  readonly taints?: TaintChanges;
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
  const internal = keptInternalIPs(node, instance);
  const addresses = [...instance.addresses, ...internal.kept];
  const { desired, problems: addressProblems } = planAddresses(node, addresses, settings.addresses);
  const { labels: present = {}, annotations = {} } = node.metadata;
  const record = annotations[cloudLabelsAnnotation];
  const labels = planLabels({ labels: present, record, instance, isNew, ownPrefixes, settings });
  const { taintsFrom } = settings;
  const taints = planCloudTaints({ taints: taintsOf(node), instance, ownPrefixes, taintsFrom });
  const problems = [
    ...(instance.problems ?? []),
    ...internal.problems,
    ...addressProblems,
    ...labels.problems,
    ...taints.problems,
  ];
  // A joining Node with an error keeps its taint, because pods could otherwise be scheduled by incorrect labels.
  if (isNew && problems.some(({ severity }) => severity === "error")) {
    return { labels: {}, removeUninitializedTaint: false, problems };
  }
  return {
    ...defined({
      addresses: desired !== undefined && mustWrite(node, desired) ? desired : undefined,
      taints: taints.changes,
      providerID: isNew && providerIDOf(node) === undefined ? instance.id : undefined,
    }),
    labels: labels.set,
    ...(labels.record && { annotations: { [cloudLabelsAnnotation]: labels.record.value } }),
    removeUninitializedTaint: isNew,
    problems,
  };
}

/**
 * Plans the missing labels of a k3s or RKE2 Node. The distribution's instance type stays unless a policy says otherwise. Taints,
 * addresses and the provider id never change.
 */
export function planForeignNode({ node, instance, ownPrefixes, settings }: NodePlanInput): NodePlan {
  const { labels: present = {}, annotations = {} } = node.metadata;
  const { current } = labelPairs.type;
  const isTyped = present[current] !== undefined && !Object.hasOwn(settings.labelPolicies, current);
  const { set, record, problems } = planLabels({
    labels: present,
    record: annotations[cloudLabelsAnnotation],
    instance: isTyped ? { ...instance, type: "" } : instance,
    isNew: false,
    ownPrefixes,
    settings,
  });
  return {
    labels: set,
    ...(record && { annotations: { [cloudLabelsAnnotation]: record.value } }),
    removeUninitializedTaint: false,
    problems,
  };
}

/** The order matters when a Node joins. Later it is ignored, so that a migration from the Go manager writes nothing. */
function mustWrite(node: Node, desired: readonly NodeAddress[]): boolean {
  const present = node.status.addresses ?? [];
  return isUninitialized(node) ? !sameAddresses(present, desired) : !sameAddressSet(present, desired);
}

/** The new addresses, labels and taints in one line for the log. */
export function describePlan({
  addresses = [],
  labels,
  taints,
}: Pick<NodePlan, "addresses" | "labels" | "taints">): string {
  const list = addresses.map(({ type, address }) => `${type}=${address}`).join(" ");
  return shortList([
    ...(list === "" ? [] : [`addresses ${list}`]),
    ...Object.entries(labels).map(([key, value]) =>
      value === undefined ? `no label ${key}` : `label ${key}=${value}`,
    ),
    ...(taints?.removed ?? []).map((taint) => `no taint ${taintText(taint)}`),
    ...(taints?.set ?? []).map((taint) => `taint ${taintText(taint)}`),
  ]);
}
