// Patches of Nodes; undefined when nothing would change. They are guarded by uid and by the values that they replace, not only by
// resourceVersion (merge-patch.ts), because kubelets write the status all the time. Pure.

import type { Condition, Node, NodeAddress, Taint } from "../objects.ts";
import { changeMap, type JsonPatchStep, jsonPatch, type Patch, testUID, testValue } from "./patch.ts";

export interface NodeChange {
  readonly node: Node;
  /** Applied only to a Node without a provider id. */
  readonly providerID?: string;
  /** Undefined removes a label. */
  readonly labels?: Readonly<Record<string, string | undefined>>;
  readonly annotations?: Readonly<Record<string, string | undefined>>;
  /** The complete new list. */
  readonly taints?: readonly Taint[];
  /**
   * Applied only to a Node that has these addresses, because an API server that was restored from a backup may have lost them.
   */
  readonly toAddresses?: readonly NodeAddress[];
  readonly podCIDRs?: readonly string[];
  /** Applied only if nothing at all has changed. */
  readonly isUnchanged?: boolean;
}

const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);

function changeTaints(node: Node, taints: readonly Taint[] | undefined): readonly JsonPatchStep[] {
  const present = node.spec.taints;
  if (taints === undefined || isSame(present ?? [], taints)) return [];
  const path = "/spec/taints";
  const guard = testValue(path, present);
  if (taints.length > 0) return [guard, { op: "add", path, value: taints }];
  return present === undefined ? [] : [guard, { op: "remove", path }];
}

function setProviderID({ spec }: Node, providerID: string | undefined): readonly JsonPatchStep[] {
  if (providerID === undefined || providerID === "" || (spec.providerID ?? "") !== "") return [];
  const path = "/spec/providerID";
  return [testValue(path, spec.providerID), { op: "add", path, value: providerID }];
}

function setPodCIDRs({ spec }: Node, podCIDRs: readonly string[] = []): readonly JsonPatchStep[] {
  const [first] = podCIDRs;
  if (first === undefined || (spec.podCIDRs ?? []).length > 0) return [];
  return [
    testValue("/spec/podCIDRs", spec.podCIDRs),
    { op: "add", path: "/spec/podCIDR", value: first },
    { op: "add", path: "/spec/podCIDRs", value: podCIDRs },
  ];
}

/** Writes all changes of spec and metadata at once. Fails as "precondition" if another client changed one of the values. */
export function guardedNodePatch(change: NodeChange): Patch | undefined {
  const { node, providerID, labels = {}, annotations = {}, taints, toAddresses = [], podCIDRs } = change;
  const { resourceVersion } = node.metadata;
  const steps = [
    ...setProviderID(node, providerID),
    ...changeMap("/metadata/labels", node.metadata.labels, labels),
    ...changeMap("/metadata/annotations", node.metadata.annotations, annotations),
    ...changeTaints(node, taints),
    ...setPodCIDRs(node, podCIDRs),
  ];
  const guards = [
    ...(toAddresses.length === 0 ? [] : [testValue("/status/addresses", toAddresses)]),
    ...(change.isUnchanged === true ? [testValue("/metadata/resourceVersion", resourceVersion)] : []),
  ];
  return steps.length === 0 ? undefined : jsonPatch([testUID(node), ...guards, ...steps]);
}

/** Replaces all addresses, on the status subresource. */
export function nodeAddressesPatch(node: Node, addresses: readonly NodeAddress[]): Patch | undefined {
  const present = node.status.addresses;
  if (isSame(present ?? [], addresses)) return undefined;
  const path = "/status/addresses";
  return jsonPatch(
    [testUID(node), testValue(path, present), { op: "add", path, value: addresses }],
    "status",
  );
}

/** Sets conditions by type and keeps all other conditions. Fails as "precondition" if the uid does not match. */
export function nodeConditionsPatch(
  node: Node,
  conditions: readonly (Condition & { readonly lastHeartbeatTime?: string })[],
): Patch {
  return {
    contentType: "application/strategic-merge-patch+json",
    body: { metadata: { uid: node.metadata.uid }, status: { conditions } },
    subresource: "status",
  };
}

/** Removes conditions by type. */
export function nodeConditionsRemovalPatch(node: Node, types: readonly string[]): Patch {
  return {
    contentType: "application/strategic-merge-patch+json",
    body: {
      metadata: { uid: node.metadata.uid },
      status: { conditions: types.map((type) => ({ $patch: "delete", type })) },
    },
    subresource: "status",
  };
}
