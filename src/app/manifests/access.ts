// The objects that grant the manager its permissions: roles, bindings and the service account. deploy/rbac.yaml, the Helm chart, the
// kustomize base, `rbac` and `manifests` print them. Pure.

import type { V1PolicyRule } from "@kubernetes/client-node";
import {
  type AccessNeeds,
  accountGrants,
  clusterGrants,
  type Grant,
  type LeaseName,
  leaseGrants,
  secretGrants,
  secretsByNamespace,
  verbsOf,
} from "../permissions.ts";
import { accountNamespace } from "../service-account-token.ts";
import type { Rendered, RenderedObject } from "./rendered-object.ts";
import { type Commented, comment, keyComments } from "./to-yaml.ts";

const rbac = { apiVersion: "rbac.authorization.k8s.io/v1" } as const;
const rbacGroup = "rbac.authorization.k8s.io";

type Metadata = RenderedObject["metadata"];

export interface Rule extends Commented {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}

function toRules(grants: readonly Grant[], needs: AccessNeeds): readonly Rule[] {
  return grants.flatMap((grant): readonly Rule[] => {
    const verbs = verbsOf(grant, needs);
    if (verbs.length === 0) return [];
    const { group, resource, names, about, aboutVerbs } = grant;
    return [
      {
        ...(about !== undefined && { [comment]: about }),
        ...(aboutVerbs !== undefined && { [keyComments]: { verbs: aboutVerbs } }),
        apiGroups: [group],
        resources: [resource],
        ...(names !== undefined && { resourceNames: names }),
        verbs,
      },
    ];
  });
}

export const clusterRules = (needs: AccessNeeds): readonly Rule[] => toRules(clusterGrants, needs);

export const accountRules = (needs: AccessNeeds): readonly Rule[] => toRules(accountGrants, needs);

export const leaseRules = (lease: string, needs: AccessNeeds): readonly Rule[] =>
  toRules(leaseGrants(lease), needs);

export interface AccessOptions {
  /** The name of the roles, the bindings and the service account. */
  readonly name: string;
  /** The namespace of the service account. */
  readonly namespace: string;
  readonly lease: LeaseName;
  readonly needs: AccessNeeds;
  /** An additional user that gets the permissions, for a process with a kubeconfig. */
  readonly user?: string | undefined;
}

/** The roles, their bindings and the service account. */
export function accessObjects({
  name,
  namespace,
  lease,
  needs,
  user,
}: AccessOptions): readonly RenderedObject[] {
  const account = { kind: "ServiceAccount", name, namespace };
  const subjects = [
    account,
    ...(user === undefined ? [] : [{ kind: "User", apiGroup: rbacGroup, name: user }]),
  ];
  const roleOf = (metadata: Metadata, rules: readonly Rule[]): RenderedObject => ({
    ...rbac,
    kind: "Role",
    metadata,
    rules,
  });
  const roleBinding = (metadata: Metadata, role = metadata.name): RenderedObject => ({
    ...rbac,
    kind: "RoleBinding",
    metadata,
    roleRef: { apiGroup: rbacGroup, kind: "Role", name: role },
    subjects,
  });
  const ofLease = leaseRules(lease.name, needs);
  const ofAccounts = accountRules(needs);
  const role = { name, namespace: lease.namespace };
  const accountRole = { name: `${name}-service-accounts`, namespace: accountNamespace };
  const authenticationReader = { name: `${name}-authentication-reader`, namespace: "kube-system" };
  return [
    {
      [comment]: [
        "All permissions that the manager needs with its flags, without a wildcard. SECURITY.md explains each permission, and a cluster test",
        "runs the executable with exactly these.",
      ].join("\n"),
      ...rbac,
      kind: "ClusterRole",
      metadata: { name },
      rules: clusterRules(needs),
    },
    ...(ofLease.length === 0 ? [] : [roleOf(role, ofLease)]),
    {
      ...rbac,
      kind: "ClusterRoleBinding",
      metadata: { name },
      roleRef: { apiGroup: rbacGroup, kind: "ClusterRole", name },
      subjects,
    },
    ...(ofLease.length === 0 ? [] : [roleBinding(role)]),
    ...(ofAccounts.length === 0
      ? []
      : [
          { [comment]: "For --use-service-account-credentials.", ...roleOf(accountRole, ofAccounts) },
          roleBinding(accountRole),
        ]),
    ...[...secretsByNamespace(needs)].flatMap(([ofSecrets, names]) => {
      const secretRole = { name: `${name}-cloud-credentials`, namespace: ofSecrets };
      return [roleOf(secretRole, toRules(secretGrants(names), needs)), roleBinding(secretRole)];
    }),
    ...(needs.users.has("secure-port")
      ? [
          {
            [comment]:
              "Reads the certificate authorities of the cluster, for client certificates on the secure port.",
            ...roleBinding(authenticationReader, "extension-apiserver-authentication-reader"),
          },
        ]
      : []),
    { apiVersion: "v1", kind: "ServiceAccount", metadata: { name, namespace } },
  ];
}

/** The permissions that a metrics scraper needs. */
export const metricsRules = [
  { nonResourceURLs: ["/metrics", "/metrics/slis"], verbs: ["get"] },
] as const satisfies readonly Rendered<V1PolicyRule>[];

export interface ScraperOptions {
  readonly name: string;
  /** The service account of the scraper. Without a scraper, only the role is created. */
  readonly scraper?: { readonly namespace: string; readonly name: string } | undefined;
}

/** The role that may read the metrics, and its binding to the scraper. */
export function scraperObjects({ name: ofManager, scraper }: ScraperOptions): readonly RenderedObject[] {
  const name = `${ofManager}-metrics`;
  const role: RenderedObject = { ...rbac, kind: "ClusterRole", metadata: { name }, rules: metricsRules };
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
