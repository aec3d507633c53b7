// Jobs of Quarry. A job's id is unique in its region only, so an operation contains both.

import { CloudError, type JobState, type Pending, pendingJobs } from "#ccm";
import type { ApiJob, Region } from "./api.ts";

function stateOf({ id, state, fault }: ApiJob): JobState {
  if (state === "running") return "running";
  if (state === "done") return { facts: {} };
  return new CloudError("invalid", `Job ${id} failed: ${fault}`, { operation: "ListJobs" });
}

export function quarryJobs(regions: readonly Region[]): Pending {
  const partOf = (job: string) => job.split("/")[0] ?? "";
  return pendingJobs({ limit: 20, partOf }, async (asked, call) => {
    const states = new Map<string, JobState>();
    for (const { name, api } of regions) {
      const ids = asked.filter((job) => job.startsWith(`${name}/`)).map((job) => job.slice(name.length + 1));
      if (ids.length === 0) continue;
      const request = { operation: "ListJobs", method: "GET", path: "/jobs", query: { id: ids } } as const;
      const { jobs } = await api.call<{ readonly jobs: readonly ApiJob[] }>(request, call);
      for (const job of jobs) states.set(`${name}/${job.id}`, stateOf(job));
    }
    return states;
  });
}
