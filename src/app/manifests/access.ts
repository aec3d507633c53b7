// All permissions of the manager, what needs each of them, and the objects that grant them. deploy/rbac.yaml, the Helm chart, the
// kustomize base, `rbac`, `manifests` and `doctor` use these tables. Pure.

import type { ControllerName } from "../flags/controller-names.ts";
import type { ReadFlags } from "../flags/read-flags.ts";
import { type Commented, comment, type KubeObject, keyComments } from "./to-yaml.ts";

const rbac = { apiVersion: "rbac.authorization.k8s.io/v1" } as const;
const rbacGroup = "rbac.authorization.k8s.io";

export interface Rule extends Commented {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}

/** A part of the manager that needs permissions. Flags decide which parts run. */
export type AccessUser = ControllerName | "leader-election" | "leader-migration" | "secure-port";

const onNodes: readonly AccessUser[] = ["cloud-node", "cloud-node-lifecycle", "service", "node-route"];

interface Grant extends Commented {
  readonly group: string;
  readonly resource: string;
  readonly names?: readonly string[];
  /** The parts that use each verb. */
  readonly verbs: Readonly<Record<string, readonly AccessUser[]>>;
  /** Without it, the parts work with less: they report what is missing. */
  readonly isOptional?: true;
}

/** Permissions in every namespace, and for objects without one. SECURITY.md explains each. */
const clusterGrants: readonly Grant[] = [
  {
    group: "",
    resource: "nodes",
    verbs: {
      list: onNodes,
      watch: onNodes,
      patch: ["cloud-node", "cloud-node-lifecycle"],
      delete: ["cloud-node-lifecycle"],
    },
  },
  { group: "", resource: "nodes/status", verbs: { patch: ["cloud-node", "node-route"] } },
  {
    group: "",
    resource: "services",
    verbs: { list: ["service"], watch: ["service"] },
  },
  { group: "", resource: "services/status", verbs: { patch: ["service"] } },
  {
    [comment]: "Stores facts of the provider in annotations, for clouds that need it.",
    group: "",
    resource: "services",
    verbs: { patch: ["service"] },
    isOptional: true,
  },
  { group: "", resource: "events", verbs: { create: onNodes, patch: onNodes }, isOptional: true },
  {
    [comment]: "The uid of this namespace distinguishes clusters with the same name.",
    group: "",
    resource: "namespaces",
    names: ["kube-system"],
    verbs: { get: onNodes },
    isOptional: true,
  },
  {
    [comment]: "Only used with --load-balancer-targets or the annotation fairlead.dev/target-policy.",
    group: "discovery.k8s.io",
    resource: "endpointslices",
    verbs: { list: ["service"], watch: ["service"] },
    isOptional: true,
  },
  {
    [comment]: "The API server authenticates and authorizes clients of the secure port.",
    group: "authentication.k8s.io",
    resource: "tokenreviews",
    verbs: { create: ["secure-port"] },
  },
  {
    group: "authorization.k8s.io",
    resource: "subjectaccessreviews",
    verbs: { create: ["secure-port"] },
  },
];

/** The Lease of --enable-leader-migration. */
const migrationLease = "cloud-provider-extraction-migration";

const electing: readonly AccessUser[] = ["leader-election", "leader-migration"];

/** Permissions in the namespace of the Lease. */
function leaseGrants(lease: string): readonly Grant[] {
  const leases = { group: "coordination.k8s.io", resource: "leases" } as const;
  const verbsFor = (users: readonly AccessUser[]) => ({
    get: users,
    update: users,
    list: users,
    watch: users,
  });
  return [
    {
      ...leases,
      verbs: { create: electing },
      [keyComments]: { verbs: "create cannot be restricted by name." },
    },
    {
      [comment]: "The Lease of --leader-elect-resource-name.",
      ...leases,
      names: [lease],
      verbs: verbsFor(["leader-election"]),
    },
    {
      [comment]: "Used with --enable-leader-migration.",
      ...leases,
      names: [migrationLease],
      verbs: verbsFor(["leader-migration"]),
    },
  ];
}

const configMapsOfAuthorities: Grant = {
  group: "",
  resource: "configmaps",
  names: ["extension-apiserver-authentication"],
  verbs: { list: ["secure-port"], watch: ["secure-port"] },
  isOptional: true,
};

/** What decides which permissions a manager needs. */
export interface AccessNeeds {
  readonly users: ReadonlySet<AccessUser>;
  /** Whether the controllers write. */
  readonly isWriting: boolean;
}

/** For an installation whose flags may change. */
export const allNeeds: AccessNeeds = {
  users: new Set<AccessUser>([...onNodes, ...electing, "secure-port"]),
  isWriting: true,
};

export function accessNeeds({ flags, controllers }: Pick<ReadFlags, "flags" | "controllers">): AccessNeeds {
  const hasRoutes = flags["configure-cloud-routes"];
  return {
    users: new Set<AccessUser>([
      ...[...controllers].filter((name) => name !== "node-route" || hasRoutes),
      ...(flags["leader-elect"] ? (["leader-election"] as const) : []),
      ...(flags["leader-elect"] && flags["enable-leader-migration"] ? (["leader-migration"] as const) : []),
      ...(flags["secure-port"] === 0 ? [] : (["secure-port"] as const)),
    ]),
    isWriting: flags.mode === "enforce",
  };
}

const reading: readonly string[] = ["get", "list", "watch"];

/** The parts that use a verb of a grant with these flags. */
function usersOf({ verbs }: Grant, verb: string, { users, isWriting }: AccessNeeds): readonly AccessUser[] {
  return (verbs[verb] ?? []).filter(
    (user) => users.has(user) && (isWriting || reading.includes(verb) || !onNodes.includes(user)),
  );
}

const verbsOf = (grant: Grant, needs: AccessNeeds): readonly string[] =>
  Object.keys(grant.verbs).filter((verb) => usersOf(grant, verb, needs).length > 0);

function toRules(grants: readonly Grant[], needs: AccessNeeds): readonly Rule[] {
  return grants.flatMap((grant): readonly Rule[] => {
    const verbs = verbsOf(grant, needs);
    if (verbs.length === 0) return [];
    const { group, resource, names, verbs: _, isOptional: __, ...comments } = grant;
    return [
      {
        ...comments,
        apiGroups: [group],
        resources: [resource],
        ...(names !== undefined && { resourceNames: names }),
        verbs,
      },
    ];
  });
}

export const clusterRules = (needs: AccessNeeds): readonly Rule[] => toRules(clusterGrants, needs);

export const leaseRules = (lease: string, needs: AccessNeeds): readonly Rule[] =>
  toRules(leaseGrants(lease), needs);

export interface LeaseName {
  readonly namespace: string;
  readonly name: string;
}

/** One verb on one resource. */
export interface Permission {
  readonly verb: string;
  readonly group: string;
  /** With its subresource, as in a rule: `nodes/status`. */
  readonly resource: string;
  /** Absent: in every namespace, or for objects without one. */
  readonly namespace?: string;
  readonly name?: string;
  /** The parts that need it. */
  readonly users: readonly AccessUser[];
  /** The parts work without it, and do less. */
  readonly isOptional: boolean;
}

/** Every permission that a manager with these needs uses. */
export function permissionsOf(needs: AccessNeeds, lease: LeaseName): readonly Permission[] {
  const flat = (grants: readonly Grant[], namespace?: string): readonly Permission[] =>
    grants.flatMap((grant) =>
      verbsOf(grant, needs).flatMap((verb) =>
        (grant.names ?? [undefined]).map((name) => ({
          verb,
          group: grant.group,
          resource: grant.resource,
          ...(namespace !== undefined && { namespace }),
          ...(name !== undefined && { name }),
          users: usersOf(grant, verb, needs),
          isOptional: grant.isOptional === true,
        })),
      ),
    );
  return [
    ...flat(clusterGrants),
    ...flat(leaseGrants(lease.name), lease.namespace),
    ...flat([configMapsOfAuthorities], "kube-system"),
  ];
}

export interface AccessOptions {
  /** The name of the roles, the bindings and the service account. */
  readonly name: string;
  /** The namespace of the service account. */
  readonly namespace: string;
  readonly lease: LeaseName;
  readonly needs: AccessNeeds;
  /** A user that gets the permissions too, for a process with a kubeconfig. */
  readonly user?: string | undefined;
}

/** The roles, their bindings and the service account. */
export function accessObjects({ name, namespace, lease, needs, user }: AccessOptions): readonly KubeObject[] {
  const account = { kind: "ServiceAccount", name, namespace };
  const subjects = [
    account,
    ...(user === undefined ? [] : [{ kind: "User", apiGroup: rbacGroup, name: user }]),
  ];
  const binding = (role: "ClusterRole" | "Role", of: string) => ({
    roleRef: { apiGroup: rbacGroup, kind: role, name: of },
    subjects,
  });
  const ofLease = leaseRules(lease.name, needs);
  const role = { name, namespace: lease.namespace };
  return [
    {
      [comment]: [
        "All permissions of the manager: no wildcard, and writes only to Nodes, Services, events, reviews and its Lease. SECURITY.md",
        "explains each permission, and a cluster test runs the executable with exactly these.",
      ].join("\n"),
      ...rbac,
      kind: "ClusterRole",
      metadata: { name },
      rules: clusterRules(needs),
    },
    ...(ofLease.length === 0 ? [] : [{ ...rbac, kind: "Role", metadata: role, rules: ofLease }]),
    { ...rbac, kind: "ClusterRoleBinding", metadata: { name }, ...binding("ClusterRole", name) },
    ...(ofLease.length === 0
      ? []
      : [{ ...rbac, kind: "RoleBinding", metadata: role, ...binding("Role", name) }]),
    ...(needs.users.has("secure-port")
      ? [
          {
            [comment]:
              "Reads the certificate authorities of the cluster, for client certificates on the secure port.",
            ...rbac,
            kind: "RoleBinding",
            metadata: { name: `${name}-authentication-reader`, namespace: "kube-system" },
            ...binding("Role", "extension-apiserver-authentication-reader"),
          },
        ]
      : []),
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
