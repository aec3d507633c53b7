// Lists all load balancers of the environment with their marks, and the external services with what uses them.

import type { Call } from "#ccm";
import { collect, type RancherApi } from "../api/client.ts";
import type { ApiExternalService, ApiLoadBalancer, ApiStack } from "../api/resources.ts";
import type { Mark, Observed, ServiceInUse } from "./model.ts";
import { clusterOf, groupOfOwner, markedOwner, ownersByName } from "./names.ts";

export async function findStack(api: RancherApi, name: string, call: Call): Promise<ApiStack | undefined> {
  const stacks = await collect(api.list<ApiStack>("stack", call, { name }));
  // Names are unique in any case.
  const wanted = name.toLowerCase();
  return stacks.find((stack) => stack.name.toLowerCase() === wanted && stack.state !== "removing");
}

/** The load balancers with a rule for each external service, without those that are being removed. */
function usersOf(balancers: readonly ApiLoadBalancer[]): ReadonlyMap<string, readonly ApiLoadBalancer[]> {
  const users = new Map<string, Set<ApiLoadBalancer>>();
  for (const balancer of balancers) {
    if (balancer.state === "removing") continue;
    for (const { serviceId } of balancer.lbConfig?.portRules ?? []) {
      if (serviceId) users.set(serviceId, (users.get(serviceId) ?? new Set()).add(balancer));
    }
  }
  return new Map([...users].map(([id, set]) => [id, [...set]]));
}

type Marks = Pick<Observed, "group" | "owners" | "ownership" | "cluster" | "marksNameCluster">;

/** The mark in the metadata takes precedence over the name, which is the mark of the Go manager and has no cluster. */
function marksOf({ id, name, metadata }: ApiLoadBalancer, { cluster }: Mark): Marks {
  const [owner, other] = [markedOwner(metadata), clusterOf(metadata)];
  const owners = owner === undefined ? ownersByName(name) : [owner];
  if (owners.length === 0) return { group: `unmarked ${id}`, owners, ownership: "unmarked" };
  const group = owner === undefined ? name : groupOfOwner(owner);
  if (other !== undefined && other !== cluster)
    return { group, owners, ownership: "foreign", cluster: other };
  return { group, owners, ownership: "ours", ...(other === undefined && { marksNameCluster: false }) };
}

/** By stack and name in lower case: names are unique in a stack. */
function servicesByStack(
  listed: readonly ApiExternalService[],
  all: readonly ApiLoadBalancer[],
  mark: Mark,
): ReadonlyMap<string, ReadonlyMap<string, ServiceInUse>> {
  const users = usersOf(all);
  const owners = new Set(all.flatMap((balancer) => marksOf(balancer, mark).owners));
  const stacks = new Map<string, Map<string, ServiceInUse>>();
  for (const service of listed) {
    const creator = markedOwner(service.metadata);
    const isOrphan = creator !== undefined && !owners.has(creator);
    const inUse = { service, isOrphan, usedBy: users.get(service.id) ?? [] };
    const stack = stacks.get(service.stackId) ?? new Map<string, ServiceInUse>();
    stacks.set(service.stackId, stack.set(service.name.toLowerCase(), inUse));
  }
  return stacks;
}

export async function listBalancers(api: RancherApi, mark: Mark, call: Call): Promise<readonly Observed[]> {
  // First the external services: the load balancer for which one was created is then listed too.
  const listed = await collect(api.list<ApiExternalService>("externalService", call));
  const all = await collect(api.list<ApiLoadBalancer>("loadBalancerService", call));
  const stacks = servicesByStack(listed, all, mark);
  return all.flatMap((balancer): readonly Observed[] => {
    const { id, name, state, stackId } = balancer;
    // One that is being removed does not exist any more: only its name is still taken.
    if (state === "removing") return [];
    return [
      {
        ...marksOf(balancer, mark),
        name: `${name} (${id})`,
        state: state === "active" ? "ready" : "changing",
        balancer,
        services: stacks.get(stackId) ?? new Map(),
      },
    ];
  });
}
