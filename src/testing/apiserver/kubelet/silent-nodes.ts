// A stand-in for the node lifecycle controller of kube-controller-manager: a silent Node becomes Unknown and unreachable, a Node
// that is not ready gets a taint, and a Node that is ready again loses the taint. Evicts nothing.

import {
  entryOfType,
  isObject,
  isSame,
  type Json,
  type JsonObject,
  listAt,
  textAt,
} from "../objects/json.ts";
import { type KubeObject, timestamp } from "../objects/kube-object.ts";
import { resourceNamed } from "../objects/resource-table.ts";
import type { ObjectRegistry } from "../storage/object-registry.ts";

export const nodeResource = resourceNamed("nodes");
export const notReady = "node.kubernetes.io/not-ready";
const unreachable = "node.kubernetes.io/unreachable";

const conditionTypes = ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"];

/** Replaces a kubelet's conditions and keeps all others. */
export function setConditions(
  registry: ObjectRegistry,
  name: string,
  change: (known: readonly Json[]) => readonly Json[],
): void {
  registry.patch(nodeResource, "", name, "status", (node) => {
    const known = listAt(node, "status", "conditions");
    const others = known.filter((each) => !conditionTypes.includes(textAt(each, "type")));
    return { ...node, status: { ...node.status, conditions: [...others, ...change(known)] } };
  });
}

/** Sets Ready and the other conditions to Unknown, as for a kubelet that stopped posting status. */
export function markUnknown(registry: ObjectRegistry, name: string, now: number): void {
  setConditions(registry, name, (known) =>
    conditionTypes.map((type): Json => {
      const before = entryOfType(known, type);
      const seen: JsonObject = isObject(before) ? before : { type, lastHeartbeatTime: null };
      if (textAt(before, "status") === "Unknown") return seen;
      return {
        ...seen,
        status: "Unknown",
        reason: "NodeStatusUnknown",
        message: "Kubelet stopped posting node status.",
        lastTransitionTime: timestamp(now),
      };
    }),
  );
}

/** The status of the Node's Ready condition. */
export const readyStatus = (node: KubeObject): string =>
  textAt(entryOfType(listAt(node, "status", "conditions"), "Ready"), "status");

/** Makes the Node's not-ready and unreachable taints match its Ready condition; other taints stay. */
export function followReadyCondition(registry: ObjectRegistry, node: KubeObject, now: number): void {
  const status = readyStatus(node);
  const key = status === "True" ? undefined : status === "Unknown" ? unreachable : notReady;
  const taints = listAt(node, "spec", "taints");
  const others = taints.filter((taint) => ![notReady, unreachable].includes(textAt(taint, "key")));
  const wanted =
    key === undefined
      ? []
      : ["NoSchedule", "NoExecute"].map((effect): Json => {
          const before = taints.find(
            (taint) => textAt(taint, "key") === key && textAt(taint, "effect") === effect,
          );
          return before ?? { key, effect, timeAdded: timestamp(now) };
        });
  const next = [...others, ...wanted];
  const isDone =
    next.length === taints.length && next.every((taint) => taints.some((old) => isSame(old, taint)));
  if (isDone) return;
  registry.patch(nodeResource, "", node.metadata.name, "", (current) => ({
    ...current,
    spec: { ...current.spec, taints: next },
  }));
}
