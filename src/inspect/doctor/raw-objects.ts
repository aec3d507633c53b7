// Resources of which `doctor` keeps a few facts of each object: Nodes with the program that wrote their provider id, pods, workloads,
// certificate signing requests and CSI drivers. Pure.

import { leaseWriterOf } from "../../app/leadership/judge-leases.ts";
import { uninitializedTaint } from "../../controllers/well-known.ts";
import type { KubeObject, Node, Taint } from "../../kube/objects.ts";
import type { Resource } from "../../kube/resources.ts";
import { slimMetaOnly } from "../../kube/slim.ts";

/** An object as the API server sends it. */
interface Raw extends KubeObject {
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly status?: Readonly<Record<string, unknown>>;
}

/** A resource whose objects are reduced to facts. */
function factsOf<T>(
  kind: string,
  { group = "", namespaced = true }: { readonly group?: string; readonly namespaced?: boolean },
  reduce: (raw: Raw) => T,
): Resource<KubeObject & T> {
  const slim = (raw: KubeObject) => ({ ...reduce(raw), ...slimMetaOnly({ metadata: raw.metadata }) });
  return { group, version: "v1", plural: `${kind.toLowerCase()}s`, kind, namespaced, slim };
}

type FactOf<R> = R extends Resource<infer T> ? T : never;

export type NodeFact = FactOf<ReturnType<typeof nodeFacts>>;
export type PodFact = FactOf<typeof podFacts>;
export type WorkloadFact = FactOf<ReturnType<typeof workloadFacts>[number]>;

export const nodeFacts = (isSelected: (node: Node) => boolean) =>
  factsOf("Node", { namespaced: false }, (raw) => {
    const { providerID, taints = [], podCIDRs = [] } = (raw.spec ?? {}) as Partial<Node["spec"]>;
    const { nodeInfo } = (raw.status ?? {}) as { readonly nodeInfo?: { readonly kubeletVersion?: string } };
    return {
      providerID: providerID === "" ? undefined : providerID,
      isUninitialized: taints.some(({ key }) => key === uninitializedTaint),
      isSelected: isSelected(raw as unknown as Node),
      podCIDRs,
      kubeletVersion: nodeInfo?.kubeletVersion ?? "",
      /** The program that wrote the provider id. */
      providerIDWriter: leaseWriterOf(raw, "providerID"),
    };
  });

interface Container {
  readonly name?: string;
  readonly image?: string;
  readonly command?: readonly string[];
  readonly args?: readonly string[];
}

const containersOf = (spec: unknown): readonly Container[] =>
  (spec as { readonly containers?: readonly Container[] } | undefined)?.containers ?? [];

export const podFacts = factsOf("Pod", {}, ({ spec }): { readonly args: readonly string[] } => ({
  /** The command and arguments of its containers. */
  args: containersOf(spec).flatMap(({ command = [], args = [] }) => [...command, ...args]),
}));

interface Toleration {
  readonly key?: string;
  readonly operator?: string;
  readonly value?: string;
  readonly effect?: string;
}

/** Taints that a Node may have before the manager and the pod network work. */
const taintsAtStart: readonly Taint[] = [
  { key: uninitializedTaint, value: "true", effect: "NoSchedule" },
  { key: "node-role.kubernetes.io/control-plane", effect: "NoSchedule" },
  { key: "node.kubernetes.io/not-ready", effect: "NoSchedule" },
];

function tolerates({ key, operator = "Equal", value = "", effect }: Toleration, taint: Taint): boolean {
  if (effect !== undefined && effect !== "" && effect !== taint.effect) return false;
  if (key === undefined || key === "") return operator === "Exists";
  return key === taint.key && (operator === "Exists" || value === (taint.value ?? ""));
}

interface PodSpec {
  readonly hostNetwork?: boolean;
  readonly dnsPolicy?: string;
  readonly serviceAccountName?: string;
  readonly tolerations?: readonly Toleration[];
}

const anyManager = /cloud-controller-manager|(^|[/-])ccm([:@-]|$)/;

function workloadFact(raw: Raw, kind: "DaemonSet" | "Deployment", program: string) {
  const { template, replicas = 1 } = (raw.spec ?? {}) as {
    readonly template?: { readonly spec?: PodSpec };
    readonly replicas?: number;
  };
  const spec = template?.spec ?? {};
  const status = (raw.status ?? {}) as Readonly<Record<string, number | undefined>>;
  const texts = [
    raw.metadata.name,
    ...containersOf(spec).flatMap(({ name = "", image = "", command = [] }) => [name, image, ...command]),
  ];
  const isDaemonSet = kind === "DaemonSet";
  return {
    kind,
    /** Whether it runs a cloud controller manager. */
    isManager: texts.some((text) => anyManager.test(text)),
    /** Whether it runs this program, and not the manager of another product or cloud. */
    isThisProgram: texts.some((text) => text.includes(program)),
    serviceAccount: spec.serviceAccountName ?? "default",
    hostNetwork: spec.hostNetwork === true,
    dnsPolicy: spec.dnsPolicy ?? "ClusterFirst",
    /** Taints that the workload's pods do not tolerate. */
    untolerated: taintsAtStart
      .filter((taint) => !(spec.tolerations ?? []).some((toleration) => tolerates(toleration, taint)))
      .map(({ key }) => key),
    desired: isDaemonSet ? (status["desiredNumberScheduled"] ?? 0) : replicas,
    ready: (isDaemonSet ? status["numberReady"] : status["readyReplicas"]) ?? 0,
  };
}

export const workloadFacts = (program: string) =>
  (["DaemonSet", "Deployment"] as const).map((kind) =>
    factsOf(kind, { group: "apps" }, (raw) => workloadFact(raw, kind, program)),
  );

const kubeletServing = "kubernetes.io/kubelet-serving";

export const signingRequestFacts = factsOf(
  "CertificateSigningRequest",
  { group: "certificates.k8s.io", namespaced: false },
  ({ spec = {}, status = {} }) => ({
    username: String(spec["username"] ?? ""),
    isPending:
      spec["signerName"] === kubeletServing &&
      status["certificate"] === undefined &&
      ((status["conditions"] ?? []) as readonly unknown[]).length === 0,
  }),
);

const storage = { group: "storage.k8s.io", namespaced: false } as const;

export const driverFacts = factsOf("CSIDriver", storage, () => ({}));

/** The drivers that have registered on a Node, which has the same name. */
export const driverNodeFacts = factsOf("CSINode", storage, ({ spec = {} }) => ({
  drivers: ((spec["drivers"] ?? []) as readonly { readonly name: string }[]).map(({ name }) => name),
}));
