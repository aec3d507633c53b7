// What leader election may not do with its Lease, asked of the API server: a replica whose caches cannot be filled never
// comes to try, and would say nothing of it. Asked only where something is forbidden already; it decides nothing.

import { seconds } from "../../core/brand.ts";
import type { KubeApi } from "../../kube/client/api.ts";

const verbs = ["get", "create", "update"] as const;

const group = "authorization.k8s.io";
const plural = "selfsubjectaccessreviews";

export interface LeaseName {
  readonly namespace: string;
  readonly name: string;
}

/** Undefined when nothing is missing; throws when the API server does not say. */
export async function missingLeaseRights(
  api: Pick<KubeApi, "request">,
  { namespace, name }: LeaseName,
  signal: AbortSignal,
): Promise<string | undefined> {
  const isAllowed = async (verb: (typeof verbs)[number]): Promise<boolean> => {
    // A role that names its objects cannot allow to create one of them.
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
  // One that is there already need not be made.
  if (missing.every((verb) => verb === "create")) return undefined;
  return `This replica cannot lead: it may not ${missing.join(", ")} the Lease ${namespace}/${name}. Expected get, create and update; compare the cluster's roles with deploy/rbac.yaml, and the subject of the RoleBinding with who we are.`;
}
