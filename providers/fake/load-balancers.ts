// Load balancers of the fake cloud: one per Service, identified by labels. Each change takes the cloud a while.

import {
  allAddresses,
  type Call,
  type Context,
  changedTargets,
  type DesiredLoadBalancer,
  deletedWithProof,
  done,
  inProgress,
  type LoadBalancers,
  nodesByMachine,
  type ObservedLoadBalancer,
  type Plan,
  parseCidr,
  publishIPs,
  type ServiceUID,
  type Step,
  type StepOutcome,
  waitFor,
} from "#ccm";
import type { ApiBalancer, ApiListener, BalancerSpec, FakeApi } from "./api.ts";
import type { annotations } from "./settings.ts";

type Annotations = typeof annotations;
type Desired = DesiredLoadBalancer<Annotations>;

export interface FakeBalancer extends ObservedLoadBalancer {
  readonly balancer: ApiBalancer;
}

export type FakeStep = Step &
  (
    | { readonly do: "create balancer"; readonly spec: BalancerSpec }
    | {
        readonly do: "change balancer" | "adopt balancer" | "release balancer" | "move mark";
        readonly id: string;
        readonly spec: BalancerSpec;
      }
    | { readonly do: "delete balancer"; readonly id: string }
  );

const ownerLabel = "owner-uid";
const uidLabel = "cluster-uid";

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

function specOf(desired: Desired) {
  return {
    families: desired.families,
    sources: desired.sourceRanges ?? allAddresses(desired.families),
    algorithm: desired.settings.algorithm,
    listeners: listenersOf(desired),
    targets: targetsOf(desired, false),
    draining: targetsOf(desired, true),
  };
}

/** Sends everything that differs in one request: the balancer is busy after each request. */
function changesOf(desired: Desired, observed: ApiBalancer): BalancerSpec {
  const spec = specOf(desired);
  const isSame: Record<string, boolean> = {
    families: sameSet(spec.families, observed.families),
    sources: sameSet(spec.sources, observed.sources),
    algorithm: spec.algorithm === observed.algorithm,
    listeners: sameSet(spec.listeners.map(listenerText), observed.listeners.map(listenerText)),
    targets: sameSet(spec.targets, observed.targets),
    draining: sameSet(spec.draining, observed.draining),
  };
  return Object.fromEntries(Object.entries(spec).filter(([key]) => isSame[key] !== true));
}

const changesOfTargets = (desired: Desired, { targets, draining }: ApiBalancer) =>
  changedTargets(nodesByMachine(desired.targets), [...targets, ...draining]);

/** The steps for everything that differs, and for the part that changes only targets. */
function changeSteps(desired: Desired, observed: ApiBalancer): readonly FakeStep[] {
  const { id, name } = observed;
  const spec = changesOf(desired, observed);
  const changed = Object.keys(spec);
  if (changed.length === 0) return [];
  const own = Object.fromEntries(
    Object.entries(spec).filter(([key]) => key === "targets" || key === "draining"),
  );
  const ofTargets = Object.keys(own);
  const targets = changesOfTargets(desired, observed);
  const change = { do: "change balancer", on: name, id, spec, targets } as const;
  if (ofTargets.length === 0) return [change];
  const part = { ...change, spec: own, targetsPart: "all" } as const;
  return [ofTargets.length === changed.length ? part : { ...change, targetsPart: part }];
}

const states = { active: "ready", changing: "changing", failed: "failed" } as const;

function outcomeOf({ name, status }: ApiBalancer): StepOutcome {
  return status === "active" ? done() : inProgress(`balancer ${name} to be ready`);
}

export function fakeLoadBalancers(
  api: FakeApi,
  mark: Context["mark"],
  targetLimit: number | undefined,
): LoadBalancers<Annotations, FakeBalancer, FakeStep> {
  const marks = { cluster: mark.cluster, "managed-by": mark.owner };
  const marked = (uid: ServiceUID): Readonly<Record<string, string>> => {
    const { clusterUID } = mark;
    return { ...marks, ...(clusterUID !== undefined && { [uidLabel]: clusterUID }), [ownerLabel]: uid };
  };

  const isOtherUID = ({ [uidLabel]: uid }: ApiBalancer["labels"]): boolean =>
    uid !== undefined && mark.clusterUID !== undefined && uid !== mark.clusterUID;

  const isMarked = ({ labels }: ApiBalancer): boolean =>
    labels["cluster"] === marks.cluster &&
    labels["managed-by"] === marks["managed-by"] &&
    !isOtherUID(labels);

  const isOtherCluster = ({ labels }: ApiBalancer): boolean =>
    labels["managed-by"] === marks["managed-by"] &&
    labels["cluster"] !== undefined &&
    (labels["cluster"] !== marks.cluster || isOtherUID(labels));

  const isUnmarked = ({ labels }: ApiBalancer): boolean =>
    labels["cluster"] === undefined && labels["managed-by"] === undefined;

  const toObserved = (balancer: ApiBalancer): FakeBalancer => {
    const state = states[balancer.status];
    const { id: name } = balancer;
    if (isUnmarked(balancer)) {
      return { name, owners: [], ownership: "unmarked", state, balancer };
    }
    // The label holds the uid of a Service, because this provider wrote it.
    const owner = (balancer.labels[ownerLabel] ?? name) as ServiceUID;
    const clusterUID = balancer.labels[uidLabel];
    const owned = { name, owners: [owner], clusterUID, state, balancer } as const;
    const { cluster } = balancer.labels;
    return cluster === undefined || isMarked(balancer)
      ? { ...owned, ownership: "ours" }
      : { ...owned, ownership: "foreign", cluster };
  };

  const create = (desired: Desired, preserved: Pick<BalancerSpec, "ip"> = {}): FakeStep => ({
    do: "create balancer",
    on: desired.defaultName,
    spec: {
      name: desired.defaultName,
      labels: marked(desired.owner.uid),
      ...specOf(desired),
      ...preserved,
    },
  });

  const plan = (desired: Desired | undefined, observed: FakeBalancer | undefined): Plan<FakeStep> => {
    if (observed === undefined) {
      return { steps: desired === undefined || desired.ending !== undefined ? [] : [create(desired)] };
    }
    const { id, name, status, labels } = observed.balancer;
    if (status === "changing") return waitFor(`balancer ${name} to be ready`);
    if (observed.ownership !== "ours") {
      if (desired === undefined || desired.ending !== undefined) return { steps: [] };
      const spec = {
        labels: { ...labels, ...marked(desired.owner.uid) },
        ...changesOf(desired, observed.balancer),
      };
      const targets = changesOfTargets(desired, observed.balancer);
      return { steps: [{ do: "adopt balancer", on: name, id, spec, targets }] };
    }
    if (desired?.ending === "release") {
      const others = Object.entries(labels).filter(
        ([key]) => !(key in marks || key === uidLabel || key === ownerLabel),
      );
      const spec = { labels: Object.fromEntries(others) };
      return { steps: [{ do: "release balancer", on: name, id, spec }] };
    }
    if (desired === undefined || desired.ending === "delete") {
      return { steps: [{ do: "delete balancer", on: name, id }] };
    }
    if (status === "failed") {
      // The new balancer keeps the address, because clients and DNS use it.
      const replacement = create(desired, { ip: observed.balancer.ip });
      return { steps: [{ do: "delete balancer", on: name, id }, replacement] };
    }
    return { steps: changeSteps(desired, observed.balancer) };
  };

  const apply = async (step: FakeStep, call: Call): Promise<StepOutcome> => {
    switch (step.do) {
      case "create balancer":
        return outcomeOf((await api.createBalancer(step.spec, call)).balancer);
      case "change balancer":
      case "adopt balancer":
      case "move mark":
        return outcomeOf((await api.changeBalancer(step.id, step.spec, call)).balancer);
      case "release balancer": {
        const { balancer } = await api.changeBalancer(step.id, step.spec, call);
        const outcome = outcomeOf(balancer);
        return outcome.done && !isMarked(balancer) ? { ...outcome, isGone: true } : outcome;
      }
      case "delete balancer":
        return deletedWithProof(api.deleteBalancer(step.id, call), () => api.balancer(step.id, call));
    }
  };

  return {
    list: async function* (call) {
      for await (const page of api.balancers(call))
        yield page
          .filter((balancer) => isMarked(balancer) || isUnmarked(balancer) || isOtherCluster(balancer))
          .map(toObserved);
    },
    adopts: ({ settings }, { balancer }) => settings.adopt === balancer.id,
    requestsAdoption: ({ settings }) => settings.adopt,
    supports: ["sourceRanges", "UDP", "SCTP", "draining", "release"],
    targetLimit: () => targetLimit,
    plan,
    apply,
    moveMark: ({
      owners: [owner],
      balancer: {
        id,
        name,
        labels: { [uidLabel]: _, ...labels },
      },
    }) =>
      owner === undefined
        ? []
        : [{ do: "move mark", on: name, id, spec: { labels: { ...labels, ...marked(owner) } } }],
    publish: ({ families }, observed) => {
      const balancer = observed?.state === "ready" ? observed.balancer : undefined;
      const ips = families.map((family) => (family === "IPv6" ? balancer?.ipv6 : balancer?.ip));
      return publishIPs(ips, "the balancer to be ready");
    },
    settingsOf: ({ balancer: { algorithm } }) => ({ algorithm }),
    rangesOf: ({ balancer: { sources } }) => sources.flatMap((range) => parseCidr(range) ?? []),
  };
}
