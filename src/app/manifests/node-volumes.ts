// The objects for volumes: the DaemonSet that runs `node-volumes` on each Node, with its permissions, the CSIDriver, and an initial
// StorageClass. Pure.

import type { V1PodSpec } from "@kubernetes/client-node";
import type { VolumeDriver } from "../../provider/volumes.ts";
import { nodeVolumesVariable } from "./pod.ts";
import type { Rendered, RenderedObject } from "./rendered-object.ts";
import { comment, keyComments } from "./to-yaml.ts";

export interface NodeVolumesOptions {
  readonly driver: Pick<VolumeDriver, "name">;
  readonly image: string;
  /** The name of the DaemonSet, the service account, the role and its binding. */
  readonly name: string;
  readonly namespace: string;
  readonly priorityClass: string;
  /** The root folder of the kubelet. */
  readonly kubeletFolder: string;
  /** Additional arguments. */
  readonly args: readonly string[];
}

const hostRoot = "/host";
/** Only the kubelet of this machine requests the health endpoint, over the machine's network. */
const health = { host: "127.0.0.1", port: 9808 } as const;
/** The program folders of common distributions, in the root of the machine. */
const programs = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/run/current-system/sw/bin";

const labelsOf = (name: string) => ({
  "app.kubernetes.io/name": "fairlead",
  "app.kubernetes.io/instance": name,
  component: "node-volumes",
});

function podSpec({ driver, image, name, priorityClass, kubeletFolder, args }: NodeVolumesOptions) {
  const probe = (path: string) => ({ httpGet: { host: health.host, path, port: health.port } });
  return {
    serviceAccountName: name,
    hostNetwork: true,
    dnsPolicy: "Default",
    priorityClassName: priorityClass,
    nodeSelector: { "kubernetes.io/os": "linux" },
    // Pods with volumes can run on every Node, whatever its taints are.
    tolerations: [{ operator: "Exists" }],
    terminationGracePeriodSeconds: 60,
    containers: [
      {
        name: "node-volumes",
        image,
        args: [
          "node-volumes",
          `--csi-endpoint=unix://${kubeletFolder}/plugins/${driver.name}/csi.sock`,
          `--plugin-registration-path=${kubeletFolder}/plugins_registry`,
          `--host-root=${hostRoot}`,
          `--http-endpoint=${health.host}:${health.port}`,
          ...args,
        ],
        env: [
          { name: "NODE_NAME", valueFrom: { fieldRef: { fieldPath: "spec.nodeName" } } },
          { name: "PATH", value: programs },
          nodeVolumesVariable,
        ],
        securityContext: { privileged: true, runAsUser: 0, runAsGroup: 0 },
        resources: { requests: { cpu: "10m", memory: "48Mi" } },
        livenessProbe: { ...probe("/healthz"), periodSeconds: 10, failureThreshold: 6, timeoutSeconds: 5 },
        readinessProbe: { ...probe("/readyz"), periodSeconds: 10, timeoutSeconds: 5 },
        volumeMounts: [{ name: "host", mountPath: hostRoot, mountPropagation: "Bidirectional" }],
      },
    ],
    volumes: [{ name: "host", hostPath: { path: "/", type: "Directory" } }],
    [keyComments]: {
      hostNetwork: "Volumes are needed before CNI works, and the probes are of the machine only.",
      terminationGracePeriodSeconds: "A format that has begun is not interrupted.",
      volumes: "The programs of the machine format and mount: the image has none.",
    },
  } satisfies Rendered<V1PodSpec>;
}

function access({ name, namespace }: NodeVolumesOptions): readonly RenderedObject[] {
  const rbac = { apiVersion: "rbac.authorization.k8s.io/v1" } as const;
  const labels = labelsOf(name);
  return [
    { apiVersion: "v1", kind: "ServiceAccount", metadata: { name, namespace, labels } },
    {
      [comment]: "node-volumes reads its Node once, and nothing else. csi-controller needs no permissions.",
      ...rbac,
      kind: "ClusterRole",
      metadata: { name, labels },
      rules: [{ apiGroups: [""], resources: ["nodes"], verbs: ["get"] }],
    },
    {
      ...rbac,
      kind: "ClusterRoleBinding",
      metadata: { name, labels },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name },
      subjects: [{ kind: "ServiceAccount", name, namespace }],
    },
  ];
}

/**
 * The driver's properties for Kubernetes. The values match those of the clouds' drivers, so that applying them changes nothing.
 */
function driverObject({ driver }: Pick<NodeVolumesOptions, "driver">): RenderedObject {
  return {
    apiVersion: "storage.k8s.io/v1",
    kind: "CSIDriver",
    metadata: { name: driver.name },
    spec: {
      attachRequired: true,
      podInfoOnMount: true,
      volumeLifecycleModes: ["Persistent"],
      // The kubelet changes the group of files for fsGroup.
      fsGroupPolicy: "File",
      // The kubelet mounts with the pod's SELinux label, instead of relabeling each file.
      seLinuxMount: true,
    },
  };
}

function storageClass({ driver }: NodeVolumesOptions): RenderedObject {
  return {
    [comment]:
      "A StorageClass to start with. To make it the default: kubectl annotate storageclass fairlead storageclass.kubernetes.io/is-default-class=true",
    apiVersion: "storage.k8s.io/v1",
    kind: "StorageClass",
    metadata: { name: "fairlead" },
    provisioner: driver.name,
    // The volume is created in the zone where the pod runs.
    volumeBindingMode: "WaitForFirstConsumer",
    allowVolumeExpansion: true,
    reclaimPolicy: "Delete",
  };
}

export function nodeVolumesObjects(options: NodeVolumesOptions): readonly RenderedObject[] {
  const { name, namespace } = options;
  const labels = labelsOf(name);
  return [
    driverObject(options),
    storageClass(options),
    ...access(options),
    {
      [comment]: "Formats, mounts and measures volumes on each Node, and registers with its kubelet.",
      apiVersion: "apps/v1",
      kind: "DaemonSet",
      metadata: { name, namespace, labels },
      spec: {
        selector: { matchLabels: labels },
        updateStrategy: { rollingUpdate: { maxUnavailable: "10%" } },
        template: { metadata: { labels }, spec: podSpec(options) },
      },
    },
  ];
}
