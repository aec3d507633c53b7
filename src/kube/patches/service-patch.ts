// Patches of a Service's status, for its load balancer's ingress and its conditions; undefined when nothing would change. Pure.

import type { LoadBalancerIngress, Service, ServiceCondition } from "../objects.ts";
import { type JsonPatchStep, jsonPatch, type Patch, testUID, testValue } from "./patch.ts";

export interface ServiceStatusChange {
  readonly service: Service;
  /** The complete new list; an empty list clears the field. */
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
    // The server always sends this object, which is empty without a load balancer.
    steps.push(testValue(path, loadBalancer));
    steps.push({ op: "add", path, value: ingress.length === 0 ? {} : { ingress } });
  }
  if (conditions !== undefined && !isSame(present ?? [], conditions)) {
    const path = "/status/conditions";
    steps.push(testValue(path, present), { op: "add", path, value: conditions });
  }
  return steps.length === 0 ? undefined : jsonPatch([testUID(service), ...steps], "status");
}
