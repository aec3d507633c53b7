// All permissions of the manager, with the parts that need each. The roles in deploy, `rbac`,
// `manifests`, `doctor` and the check for missing permissions use these tables. Pure.

import type { SecretName } from "../provider/inputs.ts";
import type { ControllerName } from "./flags/controller-names.ts";
import type { Flags } from "./flags/flag-table.ts";
import type { ReadFlags } from "./flags/read-flags.ts";
import { accountNamespace, accountOf } from "./service-account-token.ts";

/** A part of the manager that needs permissions. Flags determine which parts run. */
export type AccessUser =
  | ControllerName
  | "leader-election"
  | "leader-migration"
  | "secure-port"
  | "service-account-credentials"
  | "cloud-credentials";

const byDefault: readonly AccessUser[] = ["cloud-node", "cloud-node-lifecycle", "service", "node-route"];
const onNodes: readonly AccessUser[] = [...byDefault, "kubelet-serving-csr", "volume", "tagging"];
const forVolumes: readonly AccessUser[] = ["volume"];
/** The signer of kubelet serving certificates. */
const servingSigner = "kubernetes.io/kubelet-serving";

/** The verbs on one resource, with the parts that need each. */
export interface Grant {
  /** A comment for readers of the role. */
  readonly about?: string;
  readonly aboutVerbs?: string;
  readonly group: string;
  readonly resource: string;
  readonly names?: readonly string[];
  /** The parts that use each verb. */
  readonly verbs: Readonly<Record<string, readonly AccessUser[]>>;
  /** Verbs that the parts can do without. They then report which functions are restricted. */
  readonly optional?: readonly string[];
}

const forSnapshots = (resource: string, verbs: readonly string[]): Grant => ({
  group: "snapshot.storage.k8s.io",
  resource,
  optional: verbs,
  verbs: Object.fromEntries(verbs.map((verb) => [verb, forVolumes])),
});

/** Permissions in every namespace and for cluster-scoped objects. SECURITY.md explains each permission. */
export const clusterGrants: readonly Grant[] = [
  {
    group: "",
    resource: "nodes",
    verbs: {
      list: onNodes,
      watch: onNodes,
      patch: ["cloud-node", "cloud-node-lifecycle", "tagging"],
      delete: ["cloud-node-lifecycle"],
    },
  },
  { group: "", resource: "nodes/status", verbs: { patch: ["cloud-node", "node-route"] } },
  {
    aboutVerbs: "patch stores facts of the provider in annotations, for clouds that need it.",
    group: "",
    resource: "services",
    verbs: { list: ["service"], watch: ["service"], patch: ["service"] },
    optional: ["patch"],
  },
  { group: "", resource: "services/status", verbs: { patch: ["service"] } },
  {
    group: "",
    resource: "events",
    verbs: { create: onNodes, patch: onNodes },
    optional: ["create", "patch"],
  },
  {
    about: "The uid of this namespace distinguishes clusters with the same name.",
    group: "",
    resource: "namespaces",
    names: ["kube-system"],
    verbs: { get: onNodes },
    optional: ["get"],
  },
  {
    about: "Only used with --load-balancer-targets or the annotation fairlead.dev/target-policy.",
    group: "discovery.k8s.io",
    resource: "endpointslices",
    verbs: { list: ["service"], watch: ["service"] },
    optional: ["list", "watch"],
  },
  {
    about: "Serving certificates of kubelets, with --controllers=*,kubelet-serving-csr.",
    group: "certificates.k8s.io",
    resource: "certificatesigningrequests",
    verbs: { list: ["kubelet-serving-csr"], watch: ["kubelet-serving-csr"] },
  },
  {
    group: "certificates.k8s.io",
    resource: "certificatesigningrequests/approval",
    verbs: { patch: ["kubelet-serving-csr"] },
  },
  {
    aboutVerbs: "approve is checked when a request of this signer is approved or denied.",
    group: "certificates.k8s.io",
    resource: "signers",
    names: [servingSigner],
    verbs: { approve: ["kubelet-serving-csr"] },
  },
  {
    about: "Volumes, with --controllers=*,volume.",
    group: "",
    resource: "persistentvolumeclaims",
    verbs: { get: forVolumes, list: forVolumes, watch: forVolumes, patch: forVolumes },
  },
  { group: "", resource: "persistentvolumeclaims/status", verbs: { patch: forVolumes } },
  {
    group: "",
    resource: "persistentvolumes",
    verbs: {
      get: forVolumes,
      list: forVolumes,
      watch: forVolumes,
      create: forVolumes,
      patch: forVolumes,
      delete: forVolumes,
    },
  },
  {
    group: "storage.k8s.io",
    resource: "storageclasses",
    verbs: { list: forVolumes, watch: forVolumes },
  },
  {
    group: "storage.k8s.io",
    resource: "volumeattachments",
    verbs: { list: forVolumes, watch: forVolumes, patch: forVolumes },
  },
  { group: "storage.k8s.io", resource: "volumeattachments/status", verbs: { patch: forVolumes } },
  {
    about: "Only used where the cloud has snapshots, and the cluster their CRDs.",
    ...forSnapshots("volumesnapshots", ["get", "list", "watch", "patch"]),
  },
  forSnapshots("volumesnapshots/status", ["patch"]),
  forSnapshots("volumesnapshotcontents", ["get", "list", "watch", "create", "patch", "delete"]),
  forSnapshots("volumesnapshotcontents/status", ["patch"]),
  forSnapshots("volumesnapshotclasses", ["list", "watch"]),
  {
    aboutVerbs: "get reads a Node without a cache before a volume is detached from it.",
    group: "",
    resource: "nodes",
    verbs: { get: forVolumes },
  },
  {
    about: "The API server authenticates and authorizes clients of the secure port.",
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

/** The Lease that --enable-leader-migration uses. */
const migrationLease = "cloud-provider-extraction-migration";

const electing: readonly AccessUser[] = ["leader-election", "leader-migration"];

/** Permissions in the Lease's namespace. */
export function leaseGrants(lease: string): readonly Grant[] {
  const leases = { group: "coordination.k8s.io", resource: "leases", optional: ["list", "watch"] } as const;
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
      aboutVerbs: "create cannot be restricted by name.",
    },
    {
      about: "The Leases of sidecars, beside which the volume controller does not run.",
      ...leases,
      verbs: { get: forVolumes },
    },
    {
      about: "The Lease of --leader-elect-resource-name.",
      ...leases,
      names: [lease],
      verbs: verbsFor(["leader-election"]),
    },
    {
      about: "Used with --enable-leader-migration.",
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
  optional: ["list", "watch"],
};

/** The Secrets with cloud credentials in one namespace. */
export const secretGrants = (names: readonly string[]): readonly Grant[] => [
  {
    about: "Secrets with credentials for the cloud, which the cloud settings name.",
    group: "",
    resource: "secrets",
    names,
    verbs: { get: ["cloud-credentials"] },
  },
];

/** The options that determine a manager's permissions. */
export interface AccessNeeds {
  readonly users: ReadonlySet<AccessUser>;
  /** The Secrets that the provider reads. If unset, none. */
  readonly secrets?: readonly SecretName[];
  /** Whether the controllers write. */
  readonly isWriting: boolean;
}

/** Permissions for --use-service-account-credentials, in kube-system. */
export const accountGrants: readonly Grant[] = [
  {
    about: "Creates a service account that does not exist.",
    group: "",
    resource: "serviceaccounts",
    verbs: { create: ["service-account-credentials"] },
  },
  {
    group: "",
    resource: "serviceaccounts/token",
    names: [...new Set(Object.values(accountOf).filter((name) => name !== undefined))],
    verbs: { create: ["service-account-credentials"] },
  },
];

/** The needs of an installation whose flags may change. Controllers that are off by default are excluded. */
export const allNeeds: AccessNeeds = {
  users: new Set<AccessUser>([...byDefault, ...electing, "secure-port"]),
  isWriting: true,
};

/** The Secret names by namespace. */
export const secretsByNamespace = ({ secrets = [] }: AccessNeeds): ReadonlyMap<string, readonly string[]> =>
  new Map(
    [...Map.groupBy(secrets, ({ namespace }) => namespace)].map(([namespace, all]) => [
      namespace,
      all.map(({ name }) => name),
    ]),
  );

export function accessNeeds(
  { flags, controllers }: Pick<ReadFlags, "flags" | "controllers">,
  secrets: readonly SecretName[] = [],
): AccessNeeds {
  const hasRoutes = flags["configure-cloud-routes"];
  return {
    secrets,
    users: new Set<AccessUser>([
      ...[...controllers].filter((name) => name !== "node-route" || hasRoutes),
      ...(flags["leader-elect"] ? (["leader-election"] as const) : []),
      ...(flags["leader-elect"] && flags["enable-leader-migration"] ? (["leader-migration"] as const) : []),
      ...(flags["secure-port"] === 0 ? [] : (["secure-port"] as const)),
      ...(flags["use-service-account-credentials"] && flags.mode === "enforce"
        ? (["service-account-credentials"] as const)
        : []),
      ...(secrets.length > 0 ? (["cloud-credentials"] as const) : []),
    ]),
    isWriting: flags.mode === "enforce",
  };
}

const reading: readonly string[] = ["get", "list", "watch"];

/** The parts that use a verb of a grant with these flags. */
function usersOf(
  { verbs, resource }: Grant,
  verb: string,
  { users, isWriting }: AccessNeeds,
): readonly AccessUser[] {
  const hasAccounts = users.has("service-account-credentials") && resource !== "events";
  // Events are recorded with the process's identity.
  const isOwn = (user: AccessUser): boolean => isWriting && !(hasAccounts && accountOf[user] !== undefined);
  return (verbs[verb] ?? []).filter(
    (user) => users.has(user) && (reading.includes(verb) || !onNodes.includes(user) || isOwn(user)),
  );
}

export const verbsOf = (grant: Grant, needs: AccessNeeds): readonly string[] =>
  Object.keys(grant.verbs).filter((verb) => usersOf(grant, verb, needs).length > 0);

export interface LeaseName {
  readonly namespace: string;
  readonly name: string;
}

/** The Lease for leader election. */
export const leaseOf = (flags: Flags): LeaseName => ({
  namespace: flags["leader-elect-resource-namespace"],
  name: flags["leader-elect-resource-name"],
});

/** Permission for one verb on one resource. */
export interface Permission {
  readonly verb: string;
  readonly group: string;
  /** The resource with its subresource, as in a rule: `nodes/status`. */
  readonly resource: string;
  /** If unset, the permission applies to every namespace, or to cluster-scoped objects. */
  readonly namespace?: string;
  readonly name?: string;
  /** The parts that need the permission. */
  readonly users: readonly AccessUser[];
  /** True if the parts work without this permission, with fewer features. */
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
          isOptional: grant.optional?.includes(verb) === true,
        })),
      ),
    );
  return [
    ...flat(clusterGrants),
    ...flat(leaseGrants(lease.name), lease.namespace),
    ...flat([configMapsOfAuthorities, ...accountGrants], accountNamespace),
    ...[...secretsByNamespace(needs)].flatMap(([namespace, names]) => flat(secretGrants(names), namespace)),
  ];
}
