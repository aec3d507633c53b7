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
    const region = regions.find(({ name }) => name === partOf(asked[0] ?? ""));
    if (region === undefined) return new Map();
    const [query, expects] = [{ id: asked.map((job) => job.slice(region.name.length + 1)) }, ["jobs"]];
    const request = { operation: "ListJobs", method: "GET", path: "/jobs", query, expects } as const;
    const { jobs } = await region.api.call<{ readonly jobs: readonly ApiJob[] }>(request, call);
    return new Map(jobs.map((job) => [`${region.name}/${job.id}`, stateOf(job)]));
  });
}
