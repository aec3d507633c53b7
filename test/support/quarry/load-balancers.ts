// The load balancers of Quarry, each with a pool and a front. The pool is created first and deleted last, so the listing is of
// pools.

import {
  type Call,
  CloudError,
  type Context,
  deleted,
  done,
  ifFound,
  jobStarted,
  type LoadBalancers,
  parseCidr,
  publishIPs,
  type ServiceUID,
  type StepOutcome,
} from "#ccm";
import type { ApiPool, Created, ListedPool, PoolSpec, Region } from "./api.ts";
import { type Desired, type Observed, type PoolStep, planPool } from "./plan-pool.ts";
import type { annotations } from "./settings.ts";

function toObserved(pool: Observed["pool"], region: string, { cluster }: Context["mark"]): Observed {
  const owner = (pool.labels["service"] ?? pool.id) as ServiceUID;
  const state = pool.state === "ready" ? "ready" : "changing";
  const ownership = pool.labels["cluster"] === cluster ? "ours" : "foreign";
  const base = { owners: [owner], name: pool.id, ownership, state, region, pool } as const;
  return ownership === "foreign" ? { ...base, cluster: pool.labels["cluster"] } : base;
}

function isOurs({ ownership, owners }: Observed, uid: ServiceUID | undefined): boolean {
  return ownership === "ours" && owners.some((owner) => owner === uid);
}

/** Reads one pool by id. Unlike the listing, this shows every change. */
async function readPool({ api }: Region, id: string, call: Call): Promise<ApiPool | undefined> {
  const request = { operation: "GetPool", method: "GET", path: `/pools/${id}`, expects: ["id"] } as const;
  return ifFound(api.call<ApiPool>(request, call));
}

async function observePool(
  regions: ReadonlyMap<string, Region>,
  place: { readonly region: string; readonly id: string },
  mark: Context["mark"],
  call: Call,
): Promise<Observed | undefined> {
  const region = regions.get(place.region);
  if (region === undefined) {
    const text = `The configuration has no region ${place.region}, so that pool ${place.id} cannot be read.`;
    throw new CloudError("invalid", text, { operation: "GetPool" });
  }
  const pool = await readPool(region, place.id, call);
  return pool && toObserved(pool, region.name, mark);
}

async function applyStep(
  step: PoolStep,
  { name, api }: Region,
  mark: Context["mark"],
  call: Call,
): Promise<StepOutcome> {
  switch (step.do) {
    case "create pool": {
      const labels = { cluster: mark.cluster, service: step.owner };
      const body = { token: step.token, labels, ...step.spec };
      const expects = ["id", "job"];
      const request = { operation: "CreatePool", method: "POST", path: "/pools", body, expects } as const;
      const { id, job } = await api.call<Created>(request, call);
      const remember = { pool: `${name}/${id}` };
      return jobStarted({ job: `${name}/${job}`, waitingFor: `pool ${id}` }, remember);
    }
    case "create front": {
      const path = `/pools/${step.pool}/front`;
      const request = { operation: "CreateFront", method: "POST", path, expects: ["job"] } as const;
      const { job } = await api.call<Created>(request, call);
      return jobStarted({ job: `${name}/${job}`, waitingFor: `the front of pool ${step.pool}` });
    }
    case "change pool": {
      const path = `/pools/${step.id}`;
      const current = await api.answer<PoolSpec>({ operation: "GetPool", method: "GET", path }, call);
      const headers = { "if-match": current.headers.get("etag") ?? "" };
      const body = { ...current.body, ...step.spec };
      await api.call({ operation: "PutPool", method: "PUT", path, headers, body }, call);
      return done();
    }
    case "delete front":
      return deleted(
        api.call({ operation: "DeleteFront", method: "DELETE", path: `/fronts/${step.id}` }, call),
      );
    case "delete pool":
      await deleted(api.call({ operation: "DeletePool", method: "DELETE", path: `/pools/${step.id}` }, call));
      return done({ pool: undefined });
  }
}

async function* listPools(regions: readonly Region[], mark: Context["mark"], call: Call) {
  const request = { operation: "ListPools", method: "GET", path: "/pools", expects: ["pools"] } as const;
  for (const { name, api } of regions) {
    const { pools } = await api.call<{ readonly pools: readonly ListedPool[] }>(request, call);
    yield pools.map((pool) => ({ ...toObserved(pool, name, mark), shallow: true as const }));
  }
}

export function loadBalancers(
  all: readonly Region[],
  mark: Context["mark"],
): LoadBalancers<typeof annotations, Observed, PoolStep> {
  const regions = new Map(all.map((region) => [region.name, region]));
  const names = [...regions.keys()];
  const regionOf = ({ settings }: Pick<Desired, "settings">, observed: Observed | undefined) =>
    observed?.region ?? settings.region ?? names[0] ?? "";
  return {
    list: (call) => listPools(all, mark, call),
    observe: async (member, listed, call) => {
      if (listed !== undefined)
        return observePool(regions, { region: listed.region, id: listed.pool.id }, mark, call);
      const [region, id] = member?.facts["pool"]?.split("/") ?? [];
      if (region === undefined || id === undefined) return undefined;
      const observed = await observePool(regions, { region, id }, mark, call);
      // A user may have changed the fact: another Service's object is never taken over.
      const isOwn = observed === undefined || isOurs(observed, member?.owner.uid);
      return isOwn ? observed : undefined;
    },
    reaches: (desired, observed) => {
      const region = regionOf(desired, observed);
      return ({ machine }) =>
        machine === undefined || machine.source === region || `they are not in region ${region}`;
    },
    targetLimit: (desired, observed) => regions.get(regionOf(desired, observed))?.members,
    settingsOf: ({ region }) => ({ region }), // Without it, a changed region would not be noticed.
    rangesOf: ({ pool: { ranges } }) =>
      ranges === null ? "unspecified" : ranges?.flatMap((range) => parseCidr(range) ?? []),
    supports: ["sourceRanges", "UDP"],
    plan: (desired, observed) => planPool(desired, observed, names),
    apply: (step, call) => {
      const region = regions.get(step.region);
      if (region === undefined)
        throw new CloudError("invalid", `Region ${step.region} is not configured.`, { operation: step.do });
      return applyStep(step, region, mark, call);
    },
    publish: (_member, observed) => publishIPs([observed?.pool.front?.address], "the front of the pool"),
  };
}
