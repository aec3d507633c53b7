// Patches of Nodes, guarded by uid and by the values they replace rather than by resourceVersion: kubelets write status
// all the time. Pure; a patch that would change nothing is undefined.

import type { Condition, Node, NodeAddress, Taint } from "../objects.ts";
import { changeMap, type JsonPatchStep, jsonPatch, type Patch, testUID, testValue } from "./patch.ts";

export interface NodeChange {
  readonly node: Node;
  /** Only ever set where there is none. */
  readonly providerID?: string;
  /** undefined takes a label away. */
  readonly labels?: Readonly<Record<string, string | undefined>>;
  readonly annotations?: Readonly<Record<string, string | undefined>>;
  /** The whole new list. */
  readonly taints?: readonly Taint[];
  readonly podCIDRs?: readonly string[];
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

/** One write for provider id, labels and taints; refused as "precondition" when any of them is no longer as it was. */
export function guardedNodePatch(change: NodeChange): Patch | undefined {
  const { node, providerID, labels, annotations, taints, podCIDRs } = change;
  const sets = providerID !== undefined && providerID !== "" && (node.spec.providerID ?? "") === "";
  const steps: readonly JsonPatchStep[] = [
    ...(sets
      ? [
          testValue("/spec/providerID", node.spec.providerID),
          { op: "add", path: "/spec/providerID", value: providerID } as const,
        ]
      : []),
    ...changeMap("/metadata/labels", node.metadata.labels, labels ?? {}),
    ...changeMap("/metadata/annotations", node.metadata.annotations, annotations ?? {}),
    ...changeTaints(node, taints),
    ...(podCIDRs?.[0] === undefined || (node.spec.podCIDRs ?? []).length > 0
      ? []
      : [
          testValue("/spec/podCIDRs", node.spec.podCIDRs),
          { op: "add", path: "/spec/podCIDR", value: podCIDRs[0] } as const,
          { op: "add", path: "/spec/podCIDRs", value: podCIDRs } as const,
        ]),
  ];
  return steps.length === 0 ? undefined : jsonPatch([testUID(node), ...steps]);
}

/** The whole new list of addresses, on the status subresource. */
export function nodeAddressesPatch(node: Node, addresses: readonly NodeAddress[]): Patch | undefined {
  const present = node.status.addresses;
  if (isSame(present ?? [], addresses)) return undefined;
  const path = "/status/addresses";
  return jsonPatch(
    [testUID(node), testValue(path, present), { op: "add", path, value: addresses }],
    "status",
  );
}

/** Sets conditions by their type and leaves all others alone; a uid that no longer fits is refused as "precondition". */
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

/** Takes conditions away by their type. */
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
