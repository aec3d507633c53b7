// Asks the API server which permissions leader election is missing. A replica whose caches never sync does not try to acquire
// its Lease, so it would not report them otherwise.

import { seconds } from "../../core/brand.ts";
import type { KubeApi } from "../../kube/client/api.ts";

const verbs = ["get", "create", "update"] as const;

const group = "authorization.k8s.io";
const plural = "selfsubjectaccessreviews";

export interface LeaseName {
  readonly namespace: string;
  readonly name: string;
}

/** Undefined if no permission is missing. Throws if the API server does not answer. */
export async function missingLeasePermissions(
  api: Pick<KubeApi, "request">,
  { namespace, name }: LeaseName,
  signal: AbortSignal,
): Promise<string | undefined> {
  const isAllowed = async (verb: (typeof verbs)[number]): Promise<boolean> => {
    // RBAC cannot restrict create to a resource name.
    const named = verb === "create" ? {} : { name };
    const resourceAttributes = {
      verb,
      group: "coordination.k8s.io",
      resource: "leases",
      namespace,
      ...named,
    };
    const reply = (await api.request(
      {
        verb: "create",
        resource: plural,
        path: `/apis/${group}/v1/${plural}`,
        body: {
          apiVersion: `${group}/v1`,
          kind: "SelfSubjectAccessReview",
          metadata: {},
          spec: { resourceAttributes },
        },
        deadline: seconds(10),
      },
      signal,
    )) as { readonly status?: { readonly allowed?: boolean } } | undefined;
    return reply?.status?.allowed !== false;
  };
  const allowed = await Promise.all(verbs.map(isAllowed));
  const missing = verbs.filter((_, at) => allowed[at] === false);
  // If only create is missing, an existing Lease still works.
  if (missing.every((verb) => verb === "create")) return undefined;
  return `Missing permissions for leader election: ${missing.join(", ")} on the Lease ${namespace}/${name}, so this replica cannot become leader. Grant get, create and update as in deploy/rbac.yaml, and check the subject of the RoleBinding.`;
}
