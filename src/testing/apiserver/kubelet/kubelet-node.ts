// The Node and conditions that a kubelet with an external cloud provider writes.

import { defined } from "../../../core/defined.ts";
import type { Json, JsonObject } from "../objects/json.ts";
import { timestamp } from "../objects/kube-object.ts";
import { notReady } from "./silent-nodes.ts";

export interface KubeletSpec {
  readonly name: string;
  /** The address of `--node-ip`, which the kubelet writes into an annotation. */
  readonly providedIP?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly podCIDRs?: readonly string[];
  /** By default, the machine id, as a kubelet reports that cannot read the UUID. */
  readonly systemUUID?: string | undefined;
}

const pressures = [
  ["MemoryPressure", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"],
  ["DiskPressure", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"],
  ["PIDPressure", "KubeletHasSufficientPID", "kubelet has sufficient PID available"],
];

/** The kubelet's four conditions at this moment; `since` is when Ready last changed. */
export function kubeletConditions(isReady: boolean, now: number, since: number): readonly JsonObject[] {
  const ready = isReady
    ? ["Ready", "KubeletReady", "kubelet is posting ready status"]
    : ["Ready", "KubeletNotReady", "container runtime network not ready: cni plugin not initialized"];
  return [...pressures, ready].map(([type = "", reason = "", message = ""]) => ({
    type,
    status: type === "Ready" && isReady ? "True" : "False",
    lastHeartbeatTime: timestamp(now),
    lastTransitionTime: timestamp(since),
    reason,
    message,
  }));
}

export function describeNode(spec: KubeletSpec, uuid: string, now: number): JsonObject {
  const { name, podCIDRs = [], providedIP, systemUUID } = spec;
  const machineID = uuid.replaceAll("-", "");
  const resources: JsonObject = {
    cpu: "2",
    "ephemeral-storage": "40581564Ki",
    "hugepages-2Mi": "0",
    memory: "4000000Ki",
    pods: "110",
  };
  const labels: Record<string, string> = {
    "beta.kubernetes.io/arch": "amd64",
    "beta.kubernetes.io/os": "linux",
    "kubernetes.io/arch": "amd64",
    "kubernetes.io/hostname": name,
    "kubernetes.io/os": "linux",
    ...spec.labels,
  };
  const annotations: JsonObject = defined({
    "node.alpha.kubernetes.io/ttl": "0",
    "volumes.kubernetes.io/controller-managed-attach-detach": "true",
    "alpha.kubernetes.io/provided-node-ip": providedIP,
  });
  const taints: readonly Json[] = [
    { key: "node.cloudprovider.kubernetes.io/uninitialized", value: "true", effect: "NoSchedule" },
    { key: notReady, effect: "NoSchedule" },
  ];
  return {
    metadata: { name, labels, annotations },
    spec: podCIDRs.length === 0 ? { taints } : { taints, podCIDR: podCIDRs[0], podCIDRs },
    status: {
      capacity: resources,
      allocatable: resources,
      // With an external cloud provider, a kubelet reports only its host name and the address of --node-ip.
      addresses: [
        ...(providedIP === undefined ? [] : [{ type: "InternalIP", address: providedIP }]),
        { type: "Hostname", address: name },
      ],
      conditions: kubeletConditions(false, now, now),
      nodeInfo: {
        machineID,
        systemUUID: systemUUID ?? machineID,
        bootID: uuid,
        kernelVersion: "6.12.0",
        osImage: "Debian GNU/Linux 13 (trixie)",
        containerRuntimeVersion: "containerd://2.1.4",
        kubeletVersion: "v1.35.4",
        kubeProxyVersion: "",
        operatingSystem: "linux",
        architecture: "amd64",
      },
    },
  };
}
