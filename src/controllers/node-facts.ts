// Reads facts from a Node object: identity, addresses, pod ranges, taints, conditions, whether it is leaving, and its annotation
// node-deletion. Pure.

import type { NodeIdentity } from "../cloud/inventory/node-identity.ts";
import { type Cidr, type IpAddress, type NodeName, nodeName, type ProviderID } from "../core/brand.ts";
import { parseCidr } from "../core/cidr.ts";
import { defined } from "../core/defined.ts";
import { didYouMean } from "../core/did-you-mean.ts";
import { quoted } from "../core/fields.ts";
import { parseIp } from "../core/ip.ts";
import type { Problem } from "../core/problem.ts";
import type { Condition, Node, Taint } from "../kube/objects.ts";
import type { Instance } from "../provider/instances.ts";
import {
  deletionAnnotation,
  leavingTaints,
  networkCondition,
  outOfServiceAnnotation,
  outOfServiceTaint,
  uninitializedTaint,
} from "./well-known.ts";

export const nameOf = (node: Node): NodeName => nodeName(node.metadata.name);

/** Undefined if the Node has no provider ID or an empty one. */
export function providerIDOf({ spec: { providerID } }: Node): ProviderID | undefined {
  return providerID === undefined || providerID === "" ? undefined : (providerID as ProviderID);
}

export function identityOf(node: Node): NodeIdentity {
  return {
    name: nameOf(node),
    addresses: (node.status.addresses ?? []).map(({ address }) => address),
    ...defined({ providerID: providerIDOf(node), uuid: node.status.nodeInfo?.systemUUID }),
  };
}

/** The IP addresses of a Node as a target, without duplicates and host names. */
export interface NodeIPs {
  readonly addresses: readonly IpAddress[];
  readonly internalIPs: readonly IpAddress[];
}

/** When one Node changes, the targets are recomputed from all Nodes, and unchanged Nodes keep their objects. */
const knownIPs = new WeakMap<Node, NodeIPs>();

export function ipsOf(node: Node): NodeIPs {
  const known = knownIPs.get(node) ?? readIPs(node);
  knownIPs.set(node, known);
  return known;
}

function readIPs({ status }: Node): NodeIPs {
  const addresses = new Set<IpAddress>();
  const internalIPs = new Set<IpAddress>();
  for (const { type, address } of status.addresses ?? []) {
    const ip = parseIp(address, "sloppy");
    if (ip === undefined) continue;
    addresses.add(ip);
    if (type === "InternalIP") internalIPs.add(ip);
  }
  return { addresses: [...addresses], internalIPs: [...internalIPs] };
}

export const taintsOf = (node: Node): readonly Taint[] => node.spec.taints ?? [];

/** Matches by key and effect, as in upstream; the value does not matter. */
export function hasTaint(node: Node, key: string, effect: string): boolean {
  return taintsOf(node).some((taint) => taint.key === key && taint.effect === effect);
}

/** The client that set the out-of-service taint; undefined without it. A kubelet may write the annotation but no taints. */
export function outOfServiceOf(node: Node): "Fairlead's" | "another client's" | undefined {
  const taints = taintsOf(node).filter(({ key }) => key === outOfServiceTaint);
  if (taints.length === 0) return undefined;
  const since = node.metadata.annotations?.[outOfServiceAnnotation];
  const isOwn = taints.some(({ effect, timeAdded }) => effect === "NoExecute" && timeAdded === since);
  return since !== undefined && isOwn ? "Fairlead's" : "another client's";
}

/** Whether the Node has the uninitialized taint, with any effect and value. */
export function isUninitialized(node: Node): boolean {
  return taintsOf(node).some(({ key }) => key === uninitializedTaint);
}

/** "Unknown" if the Node has no Ready condition, as in upstream. */
export function readiness(node: Node): string {
  return node.status.conditions?.find(({ type }) => type === "Ready")?.status ?? "Unknown";
}

export const networkConditionOf = ({ status }: Node): Condition | undefined =>
  status.conditions?.find(({ type }) => type === networkCondition);

/** The pod ranges of a Node without duplicates, whatever their spelling. */
export function podCIDRsOf(
  node: Node,
): readonly { readonly text: string; readonly range: Cidr | undefined }[] {
  const { podCIDR, podCIDRs } = node.spec;
  const texts = podCIDRs ?? (podCIDR === undefined || podCIDR === "" ? [] : [podCIDR]);
  const found = new Map<string, { text: string; range: Cidr | undefined }>();
  for (const text of texts) {
    const range = parseCidr(text, "sloppy");
    found.set(range ?? text, { text, range });
  }
  return [...found.values()];
}

/** The Node's pod CIDRs, without invalid ones. */
export function podRangesOf(node: Node): readonly Cidr[] {
  return podCIDRsOf(node).flatMap(({ range }) => range ?? []);
}

/** Whether Fairlead or a Go manager set the condition because all routes of the Node existed. */
export function hadRoutes(node: Node): boolean {
  const condition = networkConditionOf(node);
  return condition?.status === "False" && condition.reason === "RouteCreated";
}

export const isReady = (node: Node): boolean => readiness(node) === "True";

export const isBeingDeleted = (node: Node): boolean => node.metadata.deletionTimestamp !== undefined;

/** Whether the removal of the Node was announced: it is being deleted, is cordoned, or has an autoscaler's taint. */
export function isLeaving(node: Node): boolean {
  return (
    isBeingDeleted(node) ||
    node.spec.unschedulable === true ||
    taintsOf(node).some(({ key }) => (leavingTaints as readonly string[]).includes(key))
  );
}

/** Why a Node without provider ID may have an instance that the cloud does not describe. */
export function describeUnnamed({ title, problems = [] }: Instance): string {
  const what = `The cloud has no instance with the name of this Node, but it does not report the name of ${title}, which may be the instance of this Node.`;
  return [what, ...problems.map(({ text }) => text)].join(" ");
}

const deletionValues = ["never", "confirmed"] as const;

export interface NodeDeletion {
  /** Undefined without the annotation: the Node is then deleted when its instance is gone. */
  readonly value: (typeof deletionValues)[number] | undefined;
  /** Set if the value is unknown. It then means "never", because an incorrect deletion cannot be undone. */
  readonly problem?: Problem;
}

/** The value of fairlead.dev/node-deletion on a Node, and its meaning. */
export function nodeDeletionOf({ metadata }: Node): NodeDeletion {
  const raw = metadata.annotations?.[deletionAnnotation];
  if (raw === undefined) return { value: undefined };
  const value = deletionValues.find((known) => known === raw.trim());
  if (value !== undefined) return { value };
  const meant = didYouMean(raw.trim().toLowerCase(), deletionValues);
  const hint = meant === undefined ? "" : ` Did you mean "${meant}"?`;
  const text = `${deletionAnnotation} must be "never" or "confirmed", got ${quoted(raw)}.${hint} Any value except "confirmed" means "never": the Node is not deleted when its instance is gone.`;
  const remedy = `Correct the annotation, or remove it.`;
  return {
    value: "never",
    problem: { severity: "warning", reason: "InvalidAnnotation", key: deletionAnnotation, text, remedy },
  };
}
