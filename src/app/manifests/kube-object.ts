// The shape of the objects in the manifests, and the labels that they have in common.

import { comment } from "./to-yaml.ts";

export interface KubeObject {
  readonly [comment]?: string;
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
  };
  readonly [field: string]: unknown;
}

/** Selects the pods of one installation. They can never change: selectors of workloads are immutable. */
export function podLabels(workload: string): Readonly<Record<string, string>> {
  return {
    "app.kubernetes.io/name": "fairlead",
    "app.kubernetes.io/instance": workload,
  };
}

/** Of all objects. The last two are those of control plane components. */
export function labelsOf(workload: string): Readonly<Record<string, string>> {
  return { ...podLabels(workload), component: "cloud-controller-manager", tier: "control-plane" };
}
