// Lists the load balancers of the stack with their marks, and the external services with what uses them.

import type { Call } from "#ccm";
import { collect, type RancherApi } from "../api/client.ts";
import type { ApiExternalService, ApiLoadBalancer, ApiStack } from "../api/resources.ts";
import type { Mark, Observed } from "./model.ts";
import { clusterOf, markedOwner, ownersByName } from "./names.ts";

export async function findStack(api: RancherApi, name: string, call: Call): Promise<ApiStack | undefined> {
  const stacks = await collect(api.list<ApiStack>("stack", call, { name }));
  return stacks.find((stack) => stack.name === name && stack.state !== "removing");
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

/** Whether it has the mark of this or of another cluster; the name is the mark of the Go manager. */
function markOf(
  { name, metadata }: ApiLoadBalancer,
  { cluster }: Mark,
): Pick<Observed, "owners" | "ownership" | "cluster"> | undefined {
  const [owner, other] = [markedOwner(metadata), clusterOf(metadata)];
  const owners = owner === undefined ? ownersByName(name) : [owner];
  if (owners.length === 0) return undefined;
  return other === undefined || other === cluster
    ? { owners, ownership: "ours" }
    : { owners, ownership: "foreign", cluster: other };
}

export async function listBalancers(
  api: RancherApi,
  stackName: string,
  mark: Mark,
  call: Call,
): Promise<readonly Observed[]> {
  const stack = await findStack(api, stackName, call);
  if (stack === undefined) return [];
  // First the external services: the load balancer for which one was created is then listed too.
  const listed = await collect(api.list<ApiExternalService>("externalService", call, { stackId: stack.id }));
  // Those of other stacks may use the external services too.
  const all = await collect(api.list<ApiLoadBalancer>("loadBalancerService", call));
  const users = usersOf(all);
  const owners = new Set(all.flatMap((balancer) => markOf(balancer, mark)?.owners ?? []));
  const services = new Map(
    listed
      .filter(({ stackId }) => stackId === stack.id)
      .map((service) => {
        const creator = markedOwner(service.metadata);
        const isOrphan = creator !== undefined && !owners.has(creator);
        return [service.name.toLowerCase(), { service, isOrphan, usedBy: users.get(service.id) ?? [] }];
      }),
  );
  return all.flatMap((balancer): readonly Observed[] => {
    const marks = markOf(balancer, mark);
    // One that is being removed does not exist any more: only its name is still taken.
    if (balancer.stackId !== stack.id || marks === undefined || balancer.state === "removing") return [];
    const { name, state } = balancer;
    return [
      {
        group: name,
        name,
        ...marks,
        state: state === "active" ? "ready" : "changing",
        balancer,
        services,
      },
    ];
  });
}
