// Jobs of the awkward cloud. A job does not know its owner, so the operation contains the owner.

import { type JsonApi, type Pending, pendingJobs } from "#ccm";

interface Body {
  readonly jobs: readonly { readonly id: string; readonly made?: string }[];
}

export const awkwardJobs = (api: JsonApi): Pending =>
  pendingJobs({ limit: 2 }, async (ids, call) => {
    const query = { ids: ids.join(",") };
    const { jobs } = await api.call<Body>(
      { operation: "ListJobs", method: "GET", path: "/jobs", query, expects: ["jobs"] },
      call,
    );
    return new Map(
      jobs.map(({ id, made }) => [id, made === undefined ? "running" : { facts: { balancer: made } }]),
    );
  });
