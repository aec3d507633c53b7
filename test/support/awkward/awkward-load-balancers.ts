// Load balancers of the awkward cloud: one for all Services of a pool, found again only by the id in their facts. Some addresses
// are announced by another agent.

import {
  CloudError,
  type DesiredLoadBalancer,
  deleted,
  diffByKey,
  done,
  factsOf,
  type JsonApi,
  jobStarted,
  type LoadBalancers,
  type ObservedLoadBalancer,
  oneOf,
  type Problem,
  publishIPs,
  type ServiceUID,
  type Step,
  text,
} from "#ccm";
import type { AwkwardFront } from "./awkward-cloud.ts";

export const annotations = {
  pool: text("Services of one pool share a balancer."),
  announcer: oneOf("What announces the address.", ["cloud", "vip-agent"], { fallback: "cloud" }),
};

type Desired = DesiredLoadBalancer<typeof annotations>;

export interface AwkwardObserved extends ObservedLoadBalancer {
  readonly id: string;
  readonly address: string;
  readonly fronts: readonly AwkwardFront[];
}

export type AwkwardStep = Step &
  (
    | {
        readonly do: "make balancer";
        readonly token: string;
        readonly network: string;
        readonly owners: readonly ServiceUID[];
      }
    | { readonly do: "remember balancer"; readonly id: string; readonly owners: readonly ServiceUID[] }
    | { readonly do: "write fronts"; readonly id: string; readonly fronts: readonly AwkwardFront[] }
    | { readonly do: "delete balancer"; readonly id: string; readonly owners: readonly ServiceUID[] }
  );

const groupOf = ({ settings: { pool }, owner }: Desired): string =>
  pool === undefined ? owner.uid : `pool-${pool}`;

const uidsOf = (some: readonly Desired[]) => some.map(({ owner }) => owner.uid);

/** The first member that requests a port gets it. */
const frontsOf = (
  members: readonly Desired[],
  /** Fronts of owners that are not members and may still exist. */
  kept: readonly AwkwardFront[] = [],
): { fronts: AwkwardFront[]; problems: Problem[] } => {
  const fronts = new Map(kept.map((front) => [`${front.protocol} ${front.port}`, front]));
  const problems: Problem[] = [];
  for (const { owner, ports, targets } of members) {
    const nodes = targets.filter(({ draining }) => !draining).map(({ node }) => node);
    for (const { protocol, port, nodePort = 0 } of ports) {
      const key = `${protocol} ${port}`;
      const taken = fronts.get(key);
      if (taken === undefined) fronts.set(key, { user: owner.uid, protocol, port, to: nodePort, nodes });
      else {
        const text = `${key} of ${owner.namespace}/${owner.name} is taken by Service ${taken.user} of this pool; use another port or pool.`;
        problems.push({ severity: "error", reason: "PortConflict", text });
      }
    }
  }
  return { fronts: [...fronts.values()], problems };
};

const sameFronts = (one: readonly AwkwardFront[], other: readonly AwkwardFront[]): boolean => {
  const keyOf = (front: AwkwardFront) =>
    JSON.stringify([front.user, front.protocol, front.port, front.to, front.nodes]);
  const { create, remove } = diffByKey(one, other, {
    keyOfDesired: keyOf,
    keyOfObserved: keyOf,
    isSame: () => true,
  });
  return create.length + remove.length === 0;
};

export const awkwardLoadBalancers = (
  api: JsonApi,
): LoadBalancers<typeof annotations, AwkwardObserved, AwkwardStep, string> => ({
  groupOf,
  // Every load balancer is created in the network that is listed first.
  prefetch: async (_desired, call) => {
    type Body = { readonly networks: readonly [string, ...string[]] };
    const request = {
      operation: "ListNetworks",
      method: "GET",
      path: "/networks",
      expects: ["networks"],
    } as const;
    return (await api.call<Body>(request, call)).networks[0];
  },
  // The cloud's listing has no marks, so it cannot show which load balancers are the cluster's.
  list: async function* () {},
  observe: async (members, _listed, call) => {
    const id = members.map(({ facts }) => facts["balancer"]).find((fact) => fact !== undefined);
    const first = members[0];
    if (id === undefined || first === undefined) return undefined;
    type Body = Pick<AwkwardObserved, "address" | "fronts">;
    try {
      const path = `/balancers/${id}`;
      const body = await api.call<Body>(
        { operation: "GetBalancer", method: "GET", path, expects: ["fronts"] },
        call,
      );
      const owners = [...new Set(body.fronts.map(({ user }) => user as ServiceUID))];
      return { ...body, id, group: groupOf(first), owners, ownership: "ours", state: "ready" };
    } catch (error) {
      if (CloudError.is(error) && error.kind === "not-found") return undefined;
      throw error;
    }
  },
  plan: (members, observed, { prefetched: network, orphans }) => {
    const staying = members.filter(({ ending }) => ending === undefined);
    const released = new Set<string>([...uidsOf(members), ...orphans]);
    const kept = (observed?.fronts ?? []).filter(({ user }) => !released.has(user));
    const { fronts, problems } = frontsOf(staying, kept);
    if (observed === undefined) {
      const first = staying[0];
      if (first === undefined) return { steps: [] };
      const token = groupOf(first);
      const owners = uidsOf(staying);
      return { steps: [{ do: "make balancer", on: token, token, network, owners }], problems };
    }
    const { id } = observed;
    if (staying.length === 0 && kept.length === 0)
      return { steps: [{ do: "delete balancer", on: id, id, owners: uidsOf(members) }] };
    const withoutFact = uidsOf(staying.filter(({ facts }) => facts["balancer"] !== id));
    const remember: AwkwardStep[] =
      withoutFact.length === 0 ? [] : [{ do: "remember balancer", on: id, id, owners: withoutFact }];
    const write: AwkwardStep[] = sameFronts(fronts, observed.fronts)
      ? []
      : [{ do: "write fronts", on: id, id, fronts }];
    return { steps: [...remember, ...write], problems };
  },
  apply: async (step, call) => {
    const path = "id" in step ? `/balancers/${step.id}` : "/balancers";
    switch (step.do) {
      case "make balancer": {
        const body = { token: step.token, network: step.network };
        const { job } = await api.call<{ readonly job: string }>(
          { operation: "MakeBalancer", method: "POST", path, body, expects: ["job"] },
          call,
        );
        return jobStarted({ job, owners: step.owners, waitingFor: "the balancer" });
      }
      case "remember balancer":
        return done(factsOf(step.owners, { balancer: step.id }));
      case "write fronts": {
        const { fronts } = step;
        await api.call({ operation: "WriteFronts", method: "PUT", path, body: { fronts } }, call);
        return done();
      }
      case "delete balancer":
        await deleted(api.call({ operation: "DeleteBalancer", method: "DELETE", path, expects: [] }, call));
        return done(factsOf(step.owners, { balancer: undefined }));
    }
  },
  publish: ({ settings: { announcer } }, observed) => {
    if (announcer === "vip-agent") return { kind: "not-ours" };
    return publishIPs([observed?.address], "the balancer");
  },
});
