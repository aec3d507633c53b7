// Jobs of Quarry. The id of a job is unique only in its region, so an operation contains both.

import { CloudError, type JobState, type Pending, pendingJobs } from "#ccm";
import type { ApiJob, Region } from "./api.ts";

function stateOf({ id, state, fault }: ApiJob): JobState {
  if (state === "running") return "running";
  if (state === "done") return { facts: {} };
  return new CloudError("invalid", `Job ${id} failed: ${fault}`, { operation: "ListJobs" });
}

export function jobsOf(regions: readonly Region[]): Pending {
  const request = { operation: "ListJobs", method: "GET", path: "/jobs", expects: ["jobs"] } as const;
  return pendingJobs({ limit: 20 }, async (asked, call) => {
    const states = regions.map(async ({ name, api }) => {
      const id = asked.flatMap((job) => (job.startsWith(`${name}/`) ? job.slice(name.length + 1) : []));
      if (id.length === 0) return [];
      const { jobs } = await api.call<{ jobs: readonly ApiJob[] }>({ ...request, query: { id } }, call);
      return jobs.map((job) => [`${name}/${job.id}`, stateOf(job)] as const);
    });
    return new Map((await Promise.all(states)).flat());
  });
}
