// Jobs of Quarry. A job's id is unique in its region only, so an operation contains both.

import { CloudError, type JobState, type Pending, pendingJobs } from "#ccm";
import type { ApiJob, Region } from "./api.ts";

function stateOf({ id, state, fault }: ApiJob): JobState {
  if (state === "running") return "running";
  if (state === "done") return { facts: {} };
  return new CloudError("invalid", `Job ${id} failed: ${fault}`, { operation: "ListJobs" });
}

export function quarryJobs(regions: readonly Region[]): Pending {
  return pendingJobs({ limit: 20 }, async (asked, call) => {
    const states = new Map<string, JobState>();
    for (const { name, api } of regions) {
      const ids = asked.flatMap((job) => (job.startsWith(`${name}/`) ? job.slice(name.length + 1) : []));
      if (ids.length === 0) continue;
      const [query, expects] = [{ id: ids }, ["jobs"]];
      const request = { operation: "ListJobs", method: "GET", path: "/jobs", query, expects } as const;
      try {
        const { jobs } = await api.call<{ readonly jobs: readonly ApiJob[] }>(request, call);
        for (const job of jobs) states.set(`${name}/${job.id}`, stateOf(job));
      } catch (error) {
        // One region that fails holds up only its own jobs, unless it is the only one.
        if (call.signal.aborted || ids.length === asked.length) throw error;
        for (const id of ids) states.set(`${name}/${id}`, "running");
      }
    }
    return states;
  });
}
