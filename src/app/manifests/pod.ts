// The pod of the manager: one container without privileges, with probes, on the host network by default. Pure.

import type { V1Container, V1PodSpec, V1Toleration } from "@kubernetes/client-node";
import type { IpAddress } from "../../core/brand.ts";
import { defined } from "../../core/defined.ts";
import { runtimeVariable } from "../runtime-variables.ts";
import type { Rendered } from "./rendered-object.ts";
import { keyComments } from "./to-yaml.ts";

/** The user and group of the process, which own no files. */
export const unprivilegedId = 65532;

export type EnvironmentVariable =
  | { readonly name: string; readonly value: string }
  | {
      readonly name: string;
      readonly valueFrom: {
        readonly secretKeyRef: { readonly name: string; readonly key: string; readonly optional: true };
      };
    };

export interface PodOptions {
  /** The container image, whose entrypoint is the executable. */
  readonly image: string;
  readonly args: readonly string[];
  readonly env: readonly EnvironmentVariable[];
  readonly hostNetwork: boolean;
  readonly priorityClass: string;
  readonly bindAddress: IpAddress;
  /** With 0, the pod has no port and no probes. */
  readonly securePort: number;
}

/** node-volumes does little work, so the first compiler is enough; without the second and third, it stays below 60 MiB. */
export const nodeVolumesVariable = { name: "BUN_JSC_useBaselineJIT", value: "0" } as const;

/** Kubernetes replaces $(NAME) in arguments and in values of variables, so the text is escaped. */
const literal = (text: string): string => text.replaceAll("$(", "$$$$(");

const literally = (variable: EnvironmentVariable): EnvironmentVariable =>
  "value" in variable ? { ...variable, value: literal(variable.value) } : variable;

const isAnyAddress = (address: string): boolean => address === "0.0.0.0" || address === "::";

function probesOf({ bindAddress, securePort }: PodOptions) {
  if (securePort === 0) return {};
  const request = (path: string) =>
    defined({
      // Without a host, the kubelet uses the pod's address.
      host: isAnyAddress(bindAddress) ? undefined : bindAddress,
      path,
      port: securePort,
      scheme: "HTTPS",
    });
  return {
    livenessProbe: {
      httpGet: request("/livez"),
      initialDelaySeconds: 10,
      periodSeconds: 10,
      failureThreshold: 8,
      timeoutSeconds: 15,
    },
    readinessProbe: { httpGet: request("/readyz"), periodSeconds: 10, timeoutSeconds: 15 },
  } satisfies Partial<Rendered<V1Container>>;
}

function container(options: PodOptions) {
  const { image, args, env, securePort } = options;
  return {
    name: "cloud-controller-manager",
    image,
    ...(args.length > 0 && { args: args.map(literal) }),
    env: [runtimeVariable, ...env].map(literally),
    ...(securePort > 0 && { ports: [{ name: "https", containerPort: securePort, protocol: "TCP" }] }),
    securityContext: {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"] },
    },
    resources: { requests: { cpu: "50m", memory: "96Mi" } },
    ...probesOf(options),
  } satisfies Rendered<V1Container>;
}

/** The parts of a pod that every kind of installation has. */
export function podSpec(options: PodOptions) {
  const { hostNetwork, priorityClass } = options;
  return {
    // The pod must run before CNI and cluster DNS, which may wait for Nodes that this manager initializes.
    ...(hostNetwork && { hostNetwork: true }),
    dnsPolicy: "Default",
    priorityClassName: priorityClass,
    terminationGracePeriodSeconds: 30,
    securityContext: {
      runAsNonRoot: true,
      runAsUser: unprivilegedId,
      runAsGroup: unprivilegedId,
      seccompProfile: { type: "RuntimeDefault" },
    },
    containers: [container(options)],
    [keyComments]: {
      ...(hostNetwork && { hostNetwork: "It runs before CNI and cluster DNS." }),
      terminationGracePeriodSeconds: "Longer than --drain-timeout (10s) plus the release of the Lease.",
    },
  } satisfies Rendered<V1PodSpec>;
}

/**
 * Tolerations for pods that the scheduler places: on Nodes before initialization, on control planes, and on Nodes without CNI.
 */
export const tolerations = [
  { key: "node.cloudprovider.kubernetes.io/uninitialized", value: "true", effect: "NoSchedule" },
  { key: "node-role.kubernetes.io/control-plane", operator: "Exists", effect: "NoSchedule" },
  { key: "node.kubernetes.io/not-ready", operator: "Exists", effect: "NoSchedule" },
  { key: "node.kubernetes.io/not-ready", operator: "Exists", effect: "NoExecute" },
] as const satisfies readonly Rendered<V1Toleration>[];
