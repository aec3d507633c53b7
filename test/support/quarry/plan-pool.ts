// Plans the steps from the observed load balancer to the desired one. Pure.

import {
  changedTargets,
  type DesiredLoadBalancer,
  nodesByMachine,
  type ObservedLoadBalancer,
  type Plan,
  planError,
  type ServiceUID,
  type Step,
  waitFor,
} from "#ccm";
import type { ApiPool, ListedPool, PoolSpec } from "./api.ts";
import { type annotations, reasons } from "./settings.ts";

export type Desired = DesiredLoadBalancer<typeof annotations>;

export interface Observed extends ObservedLoadBalancer {
  readonly region: string;
  /** Before `observe`, without the fields that the listing omits. */
  readonly pool: ListedPool & Partial<ApiPool>;
}

export type PoolStep = Step & { readonly region: string } & (
    | {
        readonly do: "create pool";
        readonly token: string;
        readonly owner: ServiceUID;
        readonly spec: PoolSpec;
      }
    | { readonly do: "create front"; readonly pool: string }
    | { readonly do: "change pool"; readonly id: string; readonly spec: Partial<PoolSpec> }
    | { readonly do: "delete front" | "delete pool"; readonly id: string }
  );

type PoolChange = Extract<PoolStep, { readonly do: "change pool" }>;

function specOf({ ports, targets, sourceRanges }: Desired): PoolSpec {
  return {
    rules: ports
      .flatMap(({ protocol, port, nodePort }) =>
        nodePort === undefined ? [] : `${protocol} ${port} ${nodePort}`,
      )
      .toSorted(),
    members: targets
      .flatMap(({ machine, node }) => (machine === undefined ? [] : [{ machine: machine.key, node }]))
      .toSorted((one, other) => one.machine.localeCompare(other.machine)),
    ranges: sourceRanges ?? null,
  };
}

/** Only the fields that differ. */
function changesOf(pool: Partial<PoolSpec>, spec: PoolSpec): Partial<PoolSpec> {
  return Object.fromEntries(
    Object.entries(spec).filter(
      ([name, value]) => JSON.stringify(value) !== JSON.stringify(pool[name as keyof PoolSpec]),
    ),
  );
}

function planToStay(desired: Desired, regions: readonly string[], observed?: Observed): Plan<PoolStep> {
  const region = observed?.region ?? desired.settings.region ?? regions[0] ?? "";
  const text = `Region ${region} is not configured, only ${regions.join(", ")}. The load balancer is not changed. Correct the annotation region.`;
  if (!regions.includes(region)) return planError(reasons.RegionNotConfigured, text);
  const spec = specOf(desired);
  const { defaultName: token, owner } = desired;
  if (observed === undefined)
    return { steps: [{ do: "create pool", on: token, region, token, owner: owner.uid, spec }] };
  const { id, front, rejected = [], ...pool } = observed.pool;
  if (pool.state === "busy") return waitFor(`pool ${id} to be ready`);
  const wanted = new Set<string>(desired.targets.map(({ node }) => node));
  const refused = rejected.flatMap(({ node, why }) => (wanted.has(node) ? [{ node, text: why }] : []));
  if (refused.length > 0) return { steps: [], refused };
  const changes = changesOf(pool, spec);
  const nodes = nodesByMachine(desired.targets);
  const targets = changedTargets(nodes, pool.members?.map(({ machine }) => machine) ?? []);
  const change = { do: "change pool", on: id, region, id, spec: changes, targets } as const;
  const ofTargets = { ...change, spec: { members: spec.members }, targetsPart: "all" } as const;
  const create = { do: "create front", on: id, region, pool: id } as const;
  return { steps: [...splitChange(change, ofTargets), ...(front ? [] : [create])] };
}

/** One request, which also changes the members if they differ. */
function splitChange(change: PoolChange, ofTargets: PoolChange): readonly PoolStep[] {
  const { members, ...others } = change.spec;
  const hasOthers = Object.keys(others).length > 0;
  if (members === undefined) return hasOthers ? [change] : [];
  return [hasOthers ? { ...change, targetsPart: ofTargets } : ofTargets];
}

export function planPool(
  desired: Desired | undefined,
  observed: Observed | undefined,
  regions: readonly string[],
): Plan<PoolStep> {
  // A broken pool can only be deleted.
  const isStaying = desired?.ending === undefined && observed?.pool.state !== "broken";
  if (desired !== undefined && isStaying) return planToStay(desired, regions, observed);
  if (observed === undefined) return { steps: [] };
  const { region, pool } = observed;
  if (pool.state === "busy") return waitFor(`pool ${pool.id} to be ready`);
  const { front, id } = pool;
  const last = { do: "delete pool", on: id, region, id, removes: true } as const;
  if (!front) return { steps: [last] };
  return { steps: [{ do: "delete front", on: front.id, region, id: front.id }, last] };
}
