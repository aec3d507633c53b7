// The objects that run the pod: a DaemonSet, a Deployment, or a static pod.

import type { V1PodTemplateSpec } from "@kubernetes/client-node";
import { type PodOptions, podSpec, tolerations, unprivilegedId } from "./pod.ts";
import type { Rendered, RenderedObject } from "./rendered-object.ts";
import { comment, keyComments, labelsOf, podLabels } from "./to-yaml.ts";

export interface WorkloadOptions extends PodOptions {
  readonly name: string;
  readonly namespace: string;
  readonly serviceAccount: string;
  /** Added to the selection of the operating system, because the image is for Linux. */
  readonly nodeSelector: Readonly<Record<string, string>>;
  readonly replicas: number;
  /** The Secret with files that the process reads. */
  readonly files?: string | undefined;
}

function template(options: WorkloadOptions) {
  const { name, serviceAccount, nodeSelector, files } = options;
  const { securityContext, containers, ...rest } = podSpec(options);
  const volumeMounts = [{ name: "fairlead", mountPath: hostFolder, readOnly: true }];
  return {
    metadata: { labels: labelsOf(name) },
    spec: {
      serviceAccountName: serviceAccount,
      ...rest,
      nodeSelector: { "kubernetes.io/os": "linux", ...nodeSelector },
      tolerations,
      securityContext,
      containers: files === undefined ? containers : containers.map((each) => ({ ...each, volumeMounts })),
      ...(files !== undefined && { volumes: [{ name: "fairlead", secret: { secretName: files } }] }),
    },
  } satisfies Rendered<V1PodTemplateSpec>;
}

const workload = <Kind extends string>(kind: Kind, { name, namespace }: WorkloadOptions) => ({
  apiVersion: "apps/v1",
  kind,
  metadata: { name, namespace, labels: labelsOf(name) },
});

/** One replica per control plane machine, only one of which leads. */
export function daemonSet(options: WorkloadOptions): RenderedObject {
  return {
    [comment]: "One replica per selected Node; one of them leads.",
    ...workload("DaemonSet", options),
    spec: {
      selector: { matchLabels: podLabels(options.name) },
      updateStrategy: { rollingUpdate: { maxUnavailable: 1 } },
      template: template(options),
    },
  };
}

export function deployment(options: WorkloadOptions): RenderedObject {
  return {
    [comment]: "One of the replicas leads; the others wait with filled caches.",
    ...workload("Deployment", options),
    spec: {
      replicas: options.replicas,
      selector: { matchLabels: podLabels(options.name) },
      // A new pod on the host network needs the old pod's port.
      strategy: { rollingUpdate: { maxSurge: 0, maxUnavailable: 1 } },
      template: template(options),
    },
  };
}

/** The folder with a pod's files; for a static pod, the machine's folder with the kubeconfig and the credentials. */
export const hostFolder = "/etc/fairlead";

/** A static pod cannot use a service account, Secret or ConfigMap, so it reads files on the machine. */
export function staticPod(options: WorkloadOptions): RenderedObject {
  const { name, namespace } = options;
  const { containers, ...spec } = podSpec(options);
  return {
    [comment]: [
      "For /etc/kubernetes/manifests of each control plane machine. A static pod has no service account, so it uses",
      `${hostFolder}/kubeconfig of the machine, and cloud credentials from files in the same folder, each named after its`,
      "environment variable. `manifests --as rbac --set user=NAME` grants the user of the kubeconfig what it needs.",
    ].join("\n"),
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace, labels: labelsOf(name) },
    spec: {
      ...spec,
      containers: containers.map((each) => ({
        ...each,
        volumeMounts: [{ name: "fairlead", mountPath: hostFolder, readOnly: true }],
      })),
      volumes: [
        {
          name: "fairlead",
          hostPath: { path: hostFolder, type: "Directory" },
          [keyComments]: {
            hostPath: `Its files must be readable for user ${unprivilegedId}, and for no other.`,
          },
        },
      ],
    },
  };
}
