// All permissions of the manager, and the objects that grant them. deploy/rbac.yaml, the Helm chart and the kustomize base are
// generated from these tables. Pure.

import { type Commented, comment, type KubeObject, keyComments } from "./to-yaml.ts";

const rbac = { apiVersion: "rbac.authorization.k8s.io/v1" } as const;
const rbacGroup = "rbac.authorization.k8s.io";

export interface Rule extends Commented {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}

/** Permissions in every namespace, and for objects without one. SECURITY.md explains each. */
export const clusterRules: readonly Rule[] = [
  { apiGroups: [""], resources: ["nodes"], verbs: ["list", "watch", "patch", "delete"] },
  { apiGroups: [""], resources: ["nodes/status", "services/status"], verbs: ["patch"] },
  {
    apiGroups: [""],
    resources: ["services"],
    verbs: ["list", "watch", "patch"],
    [keyComments]: {
      verbs: "patch stores facts of the provider in annotations, for clouds that need it.",
    },
  },
  { apiGroups: [""], resources: ["events"], verbs: ["create", "patch"] },
  {
    [comment]: "The uid of this namespace distinguishes clusters with the same name.",
    apiGroups: [""],
    resources: ["namespaces"],
    resourceNames: ["kube-system"],
    verbs: ["get"],
  },
  {
    [comment]: "Only used with --load-balancer-targets or the annotation fairlead.dev/target-policy.",
    apiGroups: ["discovery.k8s.io"],
    resources: ["endpointslices"],
    verbs: ["list", "watch"],
  },
  {
    [comment]: "The API server authenticates and authorizes clients of the secure port.",
    apiGroups: ["authentication.k8s.io"],
    resources: ["tokenreviews"],
    verbs: ["create"],
  },
  { apiGroups: ["authorization.k8s.io"], resources: ["subjectaccessreviews"], verbs: ["create"] },
];

const leases = { apiGroups: ["coordination.k8s.io"], resources: ["leases"] } as const;

/** The Lease of --enable-leader-migration. */
const migrationLease = "cloud-provider-extraction-migration";

/** Permissions in the namespace of the Lease. */
export function leaseRules(lease: string): readonly Rule[] {
  return [
    { ...leases, verbs: ["create"], [keyComments]: { verbs: "create cannot be restricted by name." } },
    {
      ...leases,
      resourceNames: [lease, migrationLease],
      verbs: ["get", "update", "list", "watch"],
      [keyComments]: {
        resourceNames:
          "The first name is that of --leader-elect-resource-name. The second one is used with --enable-leader-migration.",
      },
    },
  ];
}

export interface AccessOptions {
  /** The name of the roles, the bindings and the service account. */
  readonly name: string;
  /** The namespace of the service account. */
  readonly namespace: string;
  readonly lease: { readonly namespace: string; readonly name: string };
  /** A user that gets the permissions too, for a process with a kubeconfig. */
  readonly user?: string | undefined;
}

/** The roles, their bindings and the service account. */
export function accessObjects({ name, namespace, lease, user }: AccessOptions): readonly KubeObject[] {
  const account = { kind: "ServiceAccount", name, namespace };
  const subjects = [
    account,
    ...(user === undefined ? [] : [{ kind: "User", apiGroup: rbacGroup, name: user }]),
  ];
  const binding = (role: "ClusterRole" | "Role", of: string) => ({
    roleRef: { apiGroup: rbacGroup, kind: role, name: of },
    subjects,
  });
  return [
    {
      [comment]: [
        "All permissions of the manager: no wildcard, and writes only to Nodes, Services, events, reviews and its Lease. SECURITY.md",
        "explains each permission, and a cluster test runs the executable with exactly these.",
      ].join("\n"),
      ...rbac,
      kind: "ClusterRole",
      metadata: { name },
      rules: clusterRules,
    },
    {
      ...rbac,
      kind: "Role",
      metadata: { name, namespace: lease.namespace },
      rules: leaseRules(lease.name),
    },
    { ...rbac, kind: "ClusterRoleBinding", metadata: { name }, ...binding("ClusterRole", name) },
    {
      ...rbac,
      kind: "RoleBinding",
      metadata: { name, namespace: lease.namespace },
      ...binding("Role", name),
    },
    {
      [comment]:
        "Reads the certificate authorities of the cluster, for client certificates on the secure port.",
      ...rbac,
      kind: "RoleBinding",
      metadata: { name: `${name}-authentication-reader`, namespace: "kube-system" },
      ...binding("Role", "extension-apiserver-authentication-reader"),
    },
    { apiVersion: "v1", kind: "ServiceAccount", metadata: { name, namespace } },
  ];
}

/** What a scraper may read. */
export const metricsRules = [{ nonResourceURLs: ["/metrics", "/metrics/slis"], verbs: ["get"] }] as const;

export interface ScraperOptions {
  readonly name: string;
  /** The service account of the scraper. Without one, there is only the role. */
  readonly scraper?: { readonly namespace: string; readonly name: string } | undefined;
}

/** The role that may read the metrics, and its binding to the scraper. */
export function scraperObjects({ name: ofManager, scraper }: ScraperOptions): readonly KubeObject[] {
  const name = `${ofManager}-metrics`;
  const role = { ...rbac, kind: "ClusterRole", metadata: { name }, rules: metricsRules };
  if (scraper === undefined) {
    return [
      { [comment]: "Bind it to the service account of your scraper (docs/kubernetes-install.md).", ...role },
    ];
  }
  return [
    role,
    {
      ...rbac,
      kind: "ClusterRoleBinding",
      metadata: { name },
      roleRef: { apiGroup: rbacGroup, kind: "ClusterRole", name },
      subjects: [{ kind: "ServiceAccount", ...scraper }],
    },
  ];
}
