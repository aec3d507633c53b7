// Jobs of the awkward cloud. A job does not know its owners, so the operation contains them.

import { type JsonApi, type Pending, type ServiceUID, seconds } from "#ccm";

export const operationOf = (job: string, owners: readonly ServiceUID[]): string => [job, ...owners].join(" ");

/** The name of the fact with the id of the load balancer. */
export const remembering = (owners: readonly ServiceUID[], id: string | undefined) =>
  ({ done: true, remember: new Map(owners.map((owner) => [owner, { balancer: id }])) }) as const;

interface Body {
  readonly jobs: readonly { readonly id: string; readonly made?: string }[];
}

export const awkwardJobs = (api: JsonApi): Pending => ({
  limit: 2,
  check: async (operations, call) => {
    const byJob = new Map(operations.map((operation) => [operation.split(" ")[0] ?? "", operation]));
    const query = { ids: [...byJob.keys()].join(",") };
    const request = { operation: "ListJobs", method: "GET", path: "/jobs", query } as const;
    const { jobs } = await api.call<Body>(request, call);
    return new Map(
      jobs.map(({ id, made }) => {
        const operation = byJob.get(id) ?? id;
        const [, ...owners] = operation.split(" ");
        const outcome =
          made === undefined
            ? ({ done: false, checkAfter: seconds(1), waitingFor: "the balancer" } as const)
            : remembering(owners as readonly string[] as readonly ServiceUID[], made);
        return [operation, outcome];
      }),
    );
  },
});
