// Plans the steps from the observed to the desired frontend with its pools and members. Pure.

import {
  cidrFamily,
  type DesiredLoadBalancer,
  diffByKey,
  type JsonRequest,
  type ObservedLoadBalancer,
  type Plan,
  prefixLength,
  type Step,
  waitFor,
} from "#ccm";
import type { ApiFrontend, ApiPool, PoolSpec } from "./api.ts";
import { type annotations, reasons, type Zone } from "./settings.ts";
import type { Nodes } from "./tickets.ts";

export type Desired = DesiredLoadBalancer<typeof annotations>;

export interface Observed extends ObservedLoadBalancer {
  readonly zone: Zone;
  readonly frontend: ApiFrontend;
}

/** One request, which names the stamp that was observed. All start a ticket, so each plan applies only its first step. */
export interface FrontendStep extends Step {
  readonly zone: Zone;
  readonly request: JsonRequest;
  /** Of the members that are set. */
  readonly nodes?: Nodes | undefined;
}

const keyOf = ({ protocol, port, machine_port }: PoolSpec) => `${protocol} ${port} ${machine_port}`;
const isSameSet = (one: readonly string[] | null, other: readonly string[] | null) =>
  String(one?.toSorted()) === String(other?.toSorted());

/** The cloud has IPv4 only, and "all clients" is null there. */
function allowedClients({ sourceRanges }: Desired): readonly string[] | null {
  const ranges = sourceRanges?.filter((range) => cidrFamily(range) === "IPv4");
  return ranges === undefined || ranges.some((range) => prefixLength(range) === 0) ? null : ranges;
}

/** A port without node port has pods as targets, which are no machines. */
function poolSpecs({ ports }: Desired): readonly PoolSpec[] {
  return ports.flatMap(({ protocol, port, nodePort }) =>
    nodePort === undefined || protocol === "SCTP"
      ? []
      : { protocol: protocol === "TCP" ? "tcp" : "udp", port, machine_port: nodePort },
  );
}

/** Makes the steps that change an existing frontend. */
function stepsFor({ zone, frontend: { id, label, stamp } }: Observed) {
  const step = (title: string, operation: string, pool = "", body?: object, nodes?: Nodes): FrontendStep => {
    const [method, template = ""] = operation.split(" ");
    const path = template.replace("{id}", id).replace("{pool}", pool);
    const request = { operation, method: method as JsonRequest["method"], path, query: { stamp }, body };
    return { do: title, on: pool || label, zone, request, nodes };
  };
  const setMembers = "PUT /frontends/{id}/pools/{pool}/members";
  return {
    change: (body: Partial<ApiFrontend>) => step("change frontend", "PATCH /frontends/{id}", "", body),
    createPool: (spec: PoolSpec) => step("create pool", "POST /frontends/{id}/pools", "", spec),
    setMembers: (pool: string, nodes: Nodes) =>
      step("set members", setMembers, pool, { members: Object.keys(nodes) }, nodes),
    emptyPool: ({ id, members }: ApiPool) =>
      members.length === 0 ? [] : [step("empty pool", setMembers, id, { members: [] })],
    deletePool: ({ id }: ApiPool) => step("delete pool", "DELETE /frontends/{id}/pools/{pool}", id),
    deleteFrontend: () => ({ ...step("delete frontend", "DELETE /frontends/{id}"), removes: true as const }),
  };
}

function planChanges(desired: Desired, observed: Observed): Plan<FrontendStep> {
  const { allow: observedAllow, pools = [] } = observed.frontend;
  const nodes: Record<string, string> = {};
  for (const { node, machine, draining } of desired.targets) {
    if (machine === undefined || draining) continue;
    const address = machine.handles?.["address"];
    if (address === undefined) return waitFor(`the address of Node ${node} in the cloud`);
    nodes[address] = node;
  }
  const steps = stepsFor(observed);
  const allow = allowedClients(desired);
  const { create, remove, update } = diffByKey(poolSpecs(desired), pools, {
    keyOfDesired: keyOf,
    keyOfObserved: keyOf,
    isSame: (_, { members }) => isSameSet(members, Object.keys(nodes)),
  });
  return {
    steps: [
      ...(isSameSet(allow, observedAllow) ? [] : [steps.change({ allow })]),
      ...remove.flatMap(steps.emptyPool),
      ...remove.map(steps.deletePool),
      ...create.map(steps.createPool),
      ...update.map(({ observed: pool }) => steps.setMembers(pool.id, nodes)),
    ],
  };
}

export function planFrontend(
  desired: Desired | undefined,
  observed: Observed | undefined,
  mark: ApiFrontend["tags"],
  others: readonly Observed[] = [],
): Plan<FrontendStep> {
  const staying = desired?.ending === undefined ? desired : undefined;
  if (observed === undefined) {
    if (staying === undefined) return { steps: [] };
    const { defaultName: label, owner, settings } = staying;
    const holder = others.find((other) => other.zone === settings.zone && other.frontend.label === label);
    if (holder !== undefined) {
      const text = `Frontend ${holder.name} has the label ${label}, which the new one needs. None is created until it is deleted.`;
      return { steps: [], problems: [{ severity: "error", reason: reasons.LabelTaken, text }] };
    }
    const tags = { ...mark, service: owner.uid };
    const body = { label, tags, class: settings.class, allow: allowedClients(staying) };
    const request = { operation: "POST /frontends", method: "POST", path: "/frontends", body } as const;
    return { steps: [{ do: "create frontend", on: label, zone: settings.zone, request }] };
  }
  const { state, frontend } = observed;
  const { label, tags, pools = [] } = frontend;
  if (state === "changing") return waitFor(`frontend ${label} to be ready`);
  const steps = stepsFor(observed);
  // A broken frontend can only be deleted.
  if (state === "ready" && staying !== undefined) return planChanges(staying, observed);
  if (state === "ready" && desired?.ending === "release") {
    const others = Object.entries(tags).filter(([key]) => key !== "service" && !(key in mark));
    return { steps: [steps.change({ tags: Object.fromEntries(others) })] };
  }
  return {
    steps: [...pools.flatMap(steps.emptyPool), ...pools.map(steps.deletePool), steps.deleteFrontend()],
  };
}
