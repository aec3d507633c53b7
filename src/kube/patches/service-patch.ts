// Patches of a Service's status, for its load balancer's ingress and its conditions; undefined when nothing would change. Pure.

import type { KubeObject, LoadBalancerIngress, Service, ServiceCondition } from "../objects.ts";
import { type JsonPatchStep, jsonPatch, type Patch, testUID, testValue } from "./patch.ts";

export interface ServiceStatusChange {
  readonly service: Service;
  /** The complete new list; an empty one clears the field. */
  readonly ingress?: readonly LoadBalancerIngress[];
  /** The complete new list, including conditions of other programs. */
  readonly conditions?: readonly ServiceCondition[];
}

const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);

export function serviceStatusPatch({ service, ingress, conditions }: ServiceStatusChange): Patch | undefined {
  const { loadBalancer, conditions: present } = service.status;
  const steps: JsonPatchStep[] = [];
  if (ingress !== undefined && !isSame(loadBalancer?.ingress ?? [], ingress)) {
    const path = "/status/loadBalancer";
    // The server always sends this object, empty without a load balancer.
    steps.push(testValue(path, loadBalancer));
    steps.push({ op: "add", path, value: ingress.length === 0 ? {} : { ingress } });
  }
  if (conditions !== undefined && !isSame(present ?? [], conditions)) {
    const path = "/status/conditions";
    steps.push(testValue(path, present), { op: "add", path, value: conditions });
  }
  return steps.length === 0 ? undefined : jsonPatch([testUID(service), ...steps], "status");
}

// A patch that adds or removes one finalizer and guards the others; undefined when nothing would change.

const path = "/metadata/finalizers";

/** With `subresource` for roles that allow only `services/status`, such as the Go manager's. */
export function finalizerPatch(
  object: KubeObject,
  finalizer: string,
  desired: "present" | "absent",
  subresource?: "status",
): Patch | undefined {
  const present = object.metadata.finalizers;
  if ((present ?? []).includes(finalizer) === (desired === "present")) return undefined;
  const others = (present ?? []).filter((other) => other !== finalizer);
  const next = desired === "present" ? [...others, finalizer] : others;
  const change =
    next.length === 0 ? ({ op: "remove", path } as const) : ({ op: "add", path, value: next } as const);
  // The server rejects a new finalizer on an object in deletion as invalid. The guard makes it a failed precondition.
  const alive = desired === "present" ? [testValue("/metadata/deletionTimestamp", undefined)] : [];
  return jsonPatch([testUID(object), ...alive, testValue(path, present), change], subresource);
}
