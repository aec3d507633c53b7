// The Node and conditions that a kubelet with an external cloud provider writes. kubelets.ts decides when.

import { defined } from "../../../core/defined.ts";
import type { Json, JsonObject } from "../objects/json.ts";
import { timestamp } from "../objects/kube-object.ts";

export interface KubeletSpec {
  readonly name: string;
  readonly systemUUID?: string;
  /** The address of `--node-ip`, which the kubelet writes into an annotation. */
  readonly providedIP?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly taints?: readonly JsonObject[];
  readonly podCIDRs?: readonly string[];
  readonly architecture?: string;
  readonly kubeletVersion?: string;
  readonly cpus?: number;
  readonly memoryKi?: number;
}

const pressures = [
  ["MemoryPressure", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"],
  ["DiskPressure", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"],
  ["PIDPressure", "KubeletHasSufficientPID", "kubelet has sufficient PID available"],
] as const;

/** The four conditions of a kubelet at this moment; `since` is when Ready last changed. */
export function kubeletConditions(isReady: boolean, now: number, since: number): readonly JsonObject[] {
  return [
    ...pressures.map(([type, reason, message]) => ({
      type,
      status: "False",
      lastHeartbeatTime: timestamp(now),
      lastTransitionTime: timestamp(since),
      reason,
      message,
    })),
    {
      type: "Ready",
      status: isReady ? "True" : "False",
      lastHeartbeatTime: timestamp(now),
      lastTransitionTime: timestamp(since),
      reason: isReady ? "KubeletReady" : "KubeletNotReady",
      message: isReady
        ? "kubelet is posting ready status"
        : "container runtime network not ready: cni plugin not initialized",
    },
  ];
}

export function describeNode(spec: KubeletSpec, uuid: string, now: number): JsonObject {
  const { name, architecture = "amd64", cpus = 2, memoryKi = 4_000_000, podCIDRs = [] } = spec;
  const resources: JsonObject = {
    cpu: String(cpus),
    "ephemeral-storage": "40581564Ki",
    "hugepages-2Mi": "0",
    memory: `${memoryKi}Ki`,
    pods: "110",
  };
  const labels: Record<string, string> = {
    "beta.kubernetes.io/arch": architecture,
    "beta.kubernetes.io/os": "linux",
    "kubernetes.io/arch": architecture,
    "kubernetes.io/hostname": name,
    "kubernetes.io/os": "linux",
    ...spec.labels,
  };
  const annotations: JsonObject = defined({
    "node.alpha.kubernetes.io/ttl": "0",
    "volumes.kubernetes.io/controller-managed-attach-detach": "true",
    "alpha.kubernetes.io/provided-node-ip": spec.providedIP,
  });
  const taints: readonly Json[] = [
    { key: "node.cloudprovider.kubernetes.io/uninitialized", value: "true", effect: "NoSchedule" },
    { key: "node.kubernetes.io/not-ready", effect: "NoSchedule" },
    ...(spec.taints ?? []),
  ];
  return {
    metadata: { name, labels, annotations },
    spec: podCIDRs.length === 0 ? { taints } : { taints, podCIDR: podCIDRs[0], podCIDRs },
    status: {
      capacity: resources,
      allocatable: resources,
      // With an external cloud provider, a kubelet only reports its host name and the address of --node-ip.
      addresses: [
        ...(spec.providedIP === undefined ? [] : [{ type: "InternalIP", address: spec.providedIP }]),
        { type: "Hostname", address: name },
      ],
      conditions: kubeletConditions(false, now, now),
      nodeInfo: {
        machineID: uuid.replaceAll("-", ""),
        systemUUID: spec.systemUUID ?? uuid,
        bootID: uuid,
        kernelVersion: "6.12.0",
        osImage: "Debian GNU/Linux 13 (trixie)",
        containerRuntimeVersion: "containerd://2.1.4",
        kubeletVersion: spec.kubeletVersion ?? "v1.35.4",
        kubeProxyVersion: "",
        operatingSystem: "linux",
        architecture,
      },
    },
  };
}
