// Load balancers of the awkward cloud, which are found only by the id in the facts of their
// Service. Another agent announces some of the addresses.

import {
  CloudError,
  changedTargets,
  type DesiredLoadBalancer,
  deleted,
  diffByKey,
  done,
  type JsonApi,
  jobStarted,
  type LoadBalancers,
  type ObservedLoadBalancer,
  oneOf,
  publishIPs,
  type ServiceUID,
  type Step,
} from "#ccm";
import type { AwkwardFront } from "./awkward-cloud.ts";

export const annotations = {
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
    | { readonly do: "make balancer"; readonly token: string; readonly network: string }
    | { readonly do: "remember balancer"; readonly id: string }
    | { readonly do: "write fronts"; readonly id: string; readonly fronts: readonly AwkwardFront[] }
    | { readonly do: "delete balancer"; readonly id: string }
  );

function frontsOf({ owner, ports, targets }: Desired): readonly AwkwardFront[] {
  const nodes = targets.filter(({ draining }) => !draining).map(({ node }) => node);
  return ports.map(({ protocol, port, nodePort = 0 }) => {
    return { user: owner.uid, protocol, port, to: nodePort, nodes };
  });
}

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
  // Every load balancer is created in the network that is listed first.
  prefetch: async (_key, call) => {
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
  observe: async (desired, _listed, call) => {
    const id = desired?.facts["balancer"];
    if (desired === undefined || id === undefined) return undefined;
    type Body = Pick<AwkwardObserved, "address" | "fronts">;
    try {
      const path = `/balancers/${id}`;
      const body = await api.call<Body>(
        { operation: "GetBalancer", method: "GET", path, expects: ["fronts"] },
        call,
      );
      const owners = [...new Set(body.fronts.map(({ user }) => user as ServiceUID))];
      return { ...body, id, name: id, owners, ownership: "ours", state: "ready" };
    } catch (error) {
      if (CloudError.is(error) && error.kind === "not-found") return undefined;
      throw error;
    }
  },
  plan: (desired, observed, network) => {
    if (desired === undefined) return { steps: [] };
    const { uid: owner } = desired.owner;
    if (observed === undefined) {
      if (desired.ending !== undefined) return { steps: [] };
      return { steps: [{ do: "make balancer", on: owner, token: owner, network }] };
    }
    const { id } = observed;
    if (desired.ending !== undefined) return { steps: [{ do: "delete balancer", on: id, id }] };
    const fronts = frontsOf(desired);
    const remember: AwkwardStep = { do: "remember balancer", on: id, id };
    const nodesOf = (all: readonly AwkwardFront[]) => [...new Set(all.flatMap(({ nodes }) => nodes))];
    const wanted = Object.fromEntries(nodesOf(fronts).map((node) => [node, node]));
    const targets = changedTargets(wanted, nodesOf(observed.fronts));
    const change = { do: "write fronts", on: id, id, fronts, targets } as const;
    const retargeted = observed.fronts.map((front) => ({ ...front, nodes: nodesOf(fronts) }));
    const part = { ...change, fronts: retargeted, targetsPart: "all" } as const;
    const isAll = sameFronts(fronts, retargeted);
    const isPort = sameFronts(retargeted, observed.fronts);
    const write: AwkwardStep = isPort ? change : { ...change, targetsPart: isAll ? "all" : part };
    return {
      steps: [
        ...(desired.facts["balancer"] === id ? [] : [remember]),
        ...(sameFronts(fronts, observed.fronts) ? [] : [write]),
      ],
    };
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
        return jobStarted({ job, waitingFor: "the balancer" });
      }
      case "remember balancer":
        return done({ balancer: step.id });
      case "write fronts": {
        const { fronts } = step;
        await api.call({ operation: "WriteFronts", method: "PUT", path, body: { fronts } }, call);
        return done();
      }
      case "delete balancer":
        await deleted(api.call({ operation: "DeleteBalancer", method: "DELETE", path, expects: [] }, call));
        return done({ balancer: undefined });
    }
  },
  publish: ({ settings: { announcer } }, observed) => {
    if (announcer === "vip-agent") return { kind: "not-ours" };
    return publishIPs([observed?.address], "the balancer");
  },
});
