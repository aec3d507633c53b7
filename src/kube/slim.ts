// Copies out of a decoded object what we keep, so that images, managed fields and applied configurations can be collected.
// It copies only: nothing is renamed, defaulted or checked.

import type { Condition, EndpointSlice, Labels, Node, ObjectMeta, Service } from "./objects.ts";

/** Kept on Nodes up to this length; what is longer is some other program's bookkeeping. */
const longestNodeAnnotation = 2048;
const longestConditionMessage = 256;
const applied = "kubectl.kubernetes.io/last-applied-configuration";

/** Empty when all of it goes: a patch must know that the map is there. */
function slimAnnotations(annotations: Labels, longest: number): Labels {
  const kept: Record<string, string> = {};
  for (const key in annotations) {
    const value = annotations[key];
    if (value === undefined || key === applied || value.length > longest) continue;
    kept[key] = value;
  }
  return kept;
}

export function slimMeta(raw: ObjectMeta, longestAnnotation = Number.POSITIVE_INFINITY): ObjectMeta {
  const annotations =
    raw.annotations == null ? undefined : slimAnnotations(raw.annotations, longestAnnotation);
  return {
    name: raw.name,
    ...(raw.namespace !== undefined && { namespace: raw.namespace }),
    uid: raw.uid,
    resourceVersion: raw.resourceVersion,
    ...(raw.generation !== undefined && { generation: raw.generation }),
    ...(raw.creationTimestamp != null && { creationTimestamp: raw.creationTimestamp }),
    ...(raw.deletionTimestamp != null && { deletionTimestamp: raw.deletionTimestamp }),
    ...(raw.labels != null && { labels: raw.labels }),
    ...(annotations !== undefined && { annotations }),
    ...(raw.finalizers != null && { finalizers: raw.finalizers }),
    ...(raw.ownerReferences != null && {
      ownerReferences: raw.ownerReferences.map(({ apiVersion, kind, name, uid }) => ({
        apiVersion,
        kind,
        name,
        uid,
      })),
    }),
  };
}

/** Nobody here reads them, and every Node has all three. */
const kubeletsOwn: readonly string[] = ["MemoryPressure", "DiskPressure", "PIDPressure"];

function slimCondition(raw: Condition): Condition {
  return {
    type: raw.type,
    status: raw.status,
    ...(raw.reason !== undefined && { reason: raw.reason }),
    ...(raw.message !== undefined &&
      raw.message.length <= longestConditionMessage && { message: raw.message }),
    ...(raw.lastTransitionTime != null && { lastTransitionTime: raw.lastTransitionTime }),
  };
}

export function slimNode(raw: Node): Node {
  // A Node made by hand may lack them in a test; the API server always sends both.
  const { spec = {}, status = {} } = raw as Partial<Node>;
  const info = status.nodeInfo;
  return {
    metadata: slimMeta(raw.metadata, longestNodeAnnotation),
    spec: {
      ...(spec.providerID !== undefined && { providerID: spec.providerID }),
      ...(spec.podCIDR !== undefined && { podCIDR: spec.podCIDR }),
      ...(spec.podCIDRs != null && { podCIDRs: spec.podCIDRs }),
      ...(spec.taints != null && { taints: spec.taints }),
      ...(spec.unschedulable !== undefined && { unschedulable: spec.unschedulable }),
    },
    status: {
      ...(status.addresses != null && { addresses: status.addresses }),
      ...(status.conditions != null && {
        conditions: status.conditions.filter(({ type }) => !kubeletsOwn.includes(type)).map(slimCondition),
      }),
      ...(info != null && {
        nodeInfo: {
          ...(info.systemUUID !== undefined && { systemUUID: info.systemUUID }),
          ...(info.machineID !== undefined && { machineID: info.machineID }),
        },
      }),
    },
  };
}

export function slimService(raw: Service): Service {
  const { spec = {}, status = {} } = raw as Partial<Service>;
  return { metadata: slimMeta(raw.metadata), spec, status };
}

/** Where endpoints run and whether they are ready; addresses and ports are many and nobody here reads them. */
export function slimEndpointSlice(raw: EndpointSlice): EndpointSlice {
  return {
    metadata: slimMeta(raw.metadata),
    ...(raw.endpoints != null && {
      endpoints: raw.endpoints.map(({ nodeName, conditions }) => ({
        ...(nodeName != null && { nodeName }),
        ...(conditions?.ready != null && { conditions: { ready: conditions.ready } }),
      })),
    }),
  };
}
