// Services and targets for tests, built from the few fields that a test needs.

import { nodeName } from "../../../src/core/brand.ts";
import { ipAddress } from "../../../src/core/ip.ts";
import type { Service } from "../../../src/kube/objects.ts";
import type { BalancerTarget } from "../../../src/provider/load-balancers.ts";

export const lbFinalizer = "service.kubernetes.io/load-balancer-cleanup";

export interface ServiceDraft {
  readonly name?: string;
  readonly uid?: string;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly labels?: Readonly<Record<string, string>>;
  readonly finalizers?: readonly string[];
  readonly deletionTimestamp?: string;
  readonly spec?: Service["spec"];
  readonly status?: Service["status"];
}

/** A LoadBalancer Service with one TCP port by default. */
export const toService = ({ name = "web", uid, spec, status, ...metadata }: ServiceDraft = {}): Service => ({
  metadata: { name, namespace: "default", uid: uid ?? `uid-${name}`, resourceVersion: "1", ...metadata },
  spec: { type: "LoadBalancer", ports: [{ protocol: "TCP", port: 80, nodePort: 30_080 }], ...spec },
  status: status ?? { loadBalancer: {} },
});

export interface TargetDraft {
  readonly zone?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly draining?: boolean;
}

export const toTarget = (
  name: string,
  { zone, labels = {}, draining = false }: TargetDraft = {},
): BalancerTarget => ({
  node: nodeName(name),
  machine: { source: "machines", key: name },
  labels: { ...labels, ...(zone !== undefined && { "topology.kubernetes.io/zone": zone }) },
  addresses: [ipAddress("10.0.0.1")],
  internalIPs: [ipAddress("10.0.0.1")],
  draining,
});
