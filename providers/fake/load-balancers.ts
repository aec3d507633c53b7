// Balancers of the fake cloud: one per Service, marked by labels, made and changed by single orders that take a while.

import {
  type Call,
  type DesiredLoadBalancer,
  type LoadBalancers,
  type ObservedLoadBalancer,
  type Plan,
  parseCidr,
  parseIp,
  type ServiceUID,
  type Step,
  type StepOutcome,
  seconds,
} from "#ccm";
import type { ApiBalancer, ApiListener, BalancerOrder, FakeApi } from "./api.ts";
import type { annotations } from "./settings.ts";

type Annotations = typeof annotations;
type Desired = DesiredLoadBalancer<Annotations>;

export interface FakeBalancer extends ObservedLoadBalancer {
  readonly balancer: ApiBalancer;
}

export type FakeStep = Step &
  (
    | { readonly do: "create balancer"; readonly order: BalancerOrder }
    | {
        readonly do: "change balancer" | "adopt balancer" | "release balancer";
        readonly id: string;
        readonly order: BalancerOrder;
      }
    | { readonly do: "delete balancer"; readonly id: string }
  );

const ownerLabel = "owner-uid";
const aMoment = seconds(1);

function sameSet(one: readonly string[], other: readonly string[]): boolean {
  return one.toSorted().join() === other.toSorted().join();
}

function listenersOf({ ports }: Desired): readonly ApiListener[] {
  return ports.flatMap(({ protocol, port, nodePort }) =>
    nodePort === undefined ? [] : [{ protocol, port, target_port: nodePort }],
  );
}

function listenerText({ protocol, port, target_port }: ApiListener): string {
  return `${protocol} ${port} ${target_port}`;
}

function targetsOf({ targets }: Desired, isDraining: boolean): readonly string[] {
  return targets.flatMap(({ machine, draining }) =>
    machine === undefined || draining !== isDraining ? [] : [machine.key],
  );
}

function wantedOf(desired: Desired) {
  return {
    families: desired.families,
    sources: desired.sourceRanges,
    algorithm: desired.settings.algorithm,
    listeners: listenersOf(desired),
    targets: targetsOf(desired, false),
    draining: targetsOf(desired, true),
  };
}

/** Only what differs, in one order: each order makes the balancer busy. */
function changesOf(desired: Desired, there: ApiBalancer): BalancerOrder {
  const { families, sources, algorithm, listeners, targets, draining } = wantedOf(desired);
  const isSameListeners = sameSet(listeners.map(listenerText), there.listeners.map(listenerText));
  return {
    ...(!sameSet(families, there.families) && { families }),
    ...(!sameSet(sources, there.sources) && { sources }),
    ...(algorithm !== there.algorithm && { algorithm }),
    ...(!isSameListeners && { listeners }),
    ...(!sameSet(targets, there.targets) && { targets }),
    ...(!sameSet(draining, there.draining) && { draining }),
  };
}

const states = { active: "ready", changing: "changing", failed: "failed" } as const;

function outcomeOf({ name, status }: ApiBalancer): StepOutcome {
  return status === "active"
    ? { done: true }
    : { done: false, checkAfter: aMoment, waitingFor: `balancer ${name} to be ready` };
}

export function fakeLoadBalancers(
  api: FakeApi,
  mark: { readonly cluster: string; readonly owner: string },
  targetLimit: number | undefined,
): LoadBalancers<Annotations, FakeBalancer, FakeStep> {
  const marks = { cluster: mark.cluster, "managed-by": mark.owner };
  const isOurs = ({ labels }: ApiBalancer): boolean =>
    labels["cluster"] === marks.cluster && labels["managed-by"] === marks["managed-by"];

  const isNobodys = ({ labels }: ApiBalancer): boolean =>
    labels["cluster"] === undefined && labels["managed-by"] === undefined;

  const toObserved = (balancer: ApiBalancer): FakeBalancer => {
    // Written by us as a Service's uid.
    const owner = (balancer.labels[ownerLabel] ?? balancer.id) as ServiceUID;
    const state = states[balancer.status];
    if (!isOurs(balancer)) {
      return { group: `unmarked-${balancer.id}`, owners: [], ownership: "unmarked", state, balancer };
    }
    return { group: owner, owners: [owner], ownership: "ours", state, balancer };
  };

  const create = (desired: Desired, kept: Pick<BalancerOrder, "ip"> = {}): FakeStep => ({
    do: "create balancer",
    on: desired.defaultName,
    order: {
      name: desired.defaultName,
      labels: { ...marks, [ownerLabel]: desired.owner.uid },
      ...wantedOf(desired),
      ...kept,
    },
  });

  const plan = (members: readonly Desired[], observed: FakeBalancer | undefined): Plan<FakeStep> => {
    const desired = members[0];
    if (observed === undefined) {
      return { steps: desired === undefined || desired.ending !== undefined ? [] : [create(desired)] };
    }
    const { id, name, status, labels } = observed.balancer;
    if (status === "changing") {
      return { steps: [], wait: { checkAfter: aMoment, waitingFor: `balancer ${name} to be ready` } };
    }
    if (observed.ownership !== "ours") {
      if (desired === undefined || desired.ending !== undefined) return { steps: [] };
      const marked = { ...labels, ...marks, [ownerLabel]: desired.owner.uid };
      const order = { labels: marked, ...changesOf(desired, observed.balancer) };
      return { steps: [{ do: "adopt balancer", on: name, id, order }] };
    }
    if (desired?.ending === "release") {
      const kept = Object.entries(labels).filter(([key]) => !(key in marks) && key !== ownerLabel);
      return {
        steps: [{ do: "release balancer", on: name, id, order: { labels: Object.fromEntries(kept) } }],
      };
    }
    if (desired === undefined || desired.ending === "delete") {
      return { steps: [{ do: "delete balancer", on: name, id }] };
    }
    if (status === "failed") {
      // Made again with the address that people know.
      const requeue = create(desired, { ip: observed.balancer.ip });
      return { steps: [{ do: "delete balancer", on: name, id }, requeue] };
    }
    const order = changesOf(desired, observed.balancer);
    return { steps: Object.keys(order).length === 0 ? [] : [{ do: "change balancer", on: name, id, order }] };
  };

  const apply = async (step: FakeStep, call: Call): Promise<StepOutcome> => {
    switch (step.do) {
      case "create balancer":
        return outcomeOf((await api.createBalancer(step.order, call)).balancer);
      case "change balancer":
      case "adopt balancer":
      case "release balancer":
        return outcomeOf((await api.changeBalancer(step.id, step.order, call)).balancer);
      case "delete balancer":
        await api.removeBalancer(step.id, call);
        return { done: true };
    }
  };

  return {
    list: async function* (call) {
      for await (const page of api.balancers(call))
        yield page.filter((one) => isOurs(one) || isNobodys(one)).map(toObserved);
    },
    adopts: ({ settings }, { balancer }) => settings.adopt === balancer.id,
    drains: true,
    releases: true,
    targetLimit: () => targetLimit,
    plan,
    apply,
    publish: ({ families }, observed) => {
      const there = observed?.state === "ready" ? observed.balancer : undefined;
      const addresses = families.flatMap((family) => {
        const ip = parseIp((family === "IPv6" ? there?.ipv6 : there?.ip) ?? "");
        return ip === undefined ? [] : [{ ip }];
      });
      return addresses.length === 0
        ? { kind: "wait", waitingFor: "the balancer to be ready" }
        : { kind: "addresses", addresses };
    },
    settingsOf: ({ balancer: { algorithm } }) => ({ algorithm }),
    rangesOf: ({ balancer: { sources } }) => sources.flatMap((range) => parseCidr(range) ?? []),
  };
}
