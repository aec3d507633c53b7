// The fake cloud with load balancers that several Services share: those with the same annotation `pool`. The marks of a shared one name
// all its owners and their ports.

import { fake } from "../../providers/fake/index.ts";
import { text } from "../../src/core/fields.ts";
import type { Fields } from "../../src/core/settings.ts";
import { waitFor } from "../../src/kit/outcomes.ts";
import type {
  DesiredLoadBalancer,
  LoadBalancers,
  ObservedLoadBalancer,
} from "../../src/provider/load-balancers.ts";
import type { Step } from "../../src/provider/plan.ts";
import type { AnyCloud, AnyProvider } from "../../src/provider/provider.ts";
import { ownersOf } from "./cloud-invariants.ts";

export const pool = "balancer.fake.example/pool";

type Labels = Readonly<Record<string, string>>;
type Desired = DesiredLoadBalancer<Fields>;
type Listener = { readonly port: number; readonly target_port: number };

interface Observed extends ObservedLoadBalancer {
  readonly balancer: {
    readonly id: string;
    readonly labels: Labels;
    readonly listeners: readonly Listener[];
  };
}

interface FakeStep extends Step {
  readonly id?: string;
  readonly spec?: { readonly labels?: Labels; readonly listeners?: readonly Listener[] };
}

type Balancers = LoadBalancers<Fields, Observed, FakeStep, unknown>;

const groupOf = ({ settings, owner }: Pick<Desired, "settings" | "owner">): string =>
  settings["pool"] === undefined ? owner.uid : `pool-${settings["pool"]}`;

/** "uid/node port", separated by dots. */
const portsIn = ({ ports = "" }: Labels): readonly (readonly [string, number])[] =>
  ports.split(".").flatMap((entry) => {
    const [uid = "", port = ""] = entry.split("/");
    return uid === "" ? [] : [[uid, Number(port)] as const];
  });

function toObserved(one: Observed): Observed {
  const { pool: name } = one.balancer.labels;
  const owners = one.owners.flatMap((uids) =>
    ownersOf({ "owner-uid": uids }),
  ) as unknown as Observed["owners"];
  return { ...one, owners, group: name === undefined ? one.group : `pool-${name}` };
}

/** The first of two Services with one port has it. */
function merged(live: readonly Desired[], first: Desired, owners: readonly string[]): Desired {
  const ports = live.flatMap((one) => one.ports);
  return {
    ...first,
    owner: { ...first.owner, uid: owners.join("+") as Desired["owner"]["uid"] },
    defaultName: groupOf(first),
    ports: ports.filter(({ port }, index) => ports.findIndex((one) => one.port === port) === index),
  };
}

function shared(base: Balancers): Balancers {
  const plan: Balancers["plan"] = (members, observed, context) => {
    const labels = observed?.ownership === "ours" ? observed.balancer.labels : {};
    const named = members.find(({ settings }) => settings["pool"] !== undefined);
    if (labels["pool"] === undefined && named === undefined) return base.plan(members, observed, context);
    const gone = [...members.map(({ owner }) => owner.uid), ...context.orphans];
    const kept = (observed?.owners ?? []).filter((uid) => !gone.includes(uid));
    const live = members
      .filter(({ ending }) => ending === undefined)
      .toSorted((a, b) => (a.owner.uid < b.owner.uid ? -1 : 1));
    const [first] = live;
    if (first === undefined && kept.length === 0) return base.plan(members, observed, context);
    const owners = [...live.map(({ owner }) => owner.uid), ...kept].toSorted();
    const own = portsIn(labels).filter(([uid]) => kept.some((one) => one === uid));
    const keptPorts = new Set(own.map(([, port]) => port));
    const keptListeners = (observed?.balancer.listeners ?? []).filter((one) =>
      keptPorts.has(one.target_port),
    );
    const ports = [
      ...own,
      ...live.flatMap((one) => one.ports.map(({ nodePort = 0 }) => [one.owner.uid, nodePort] as const)),
    ];
    const marks = {
      "owner-uid": owners.join("+"),
      pool: labels["pool"] ?? String(named?.settings["pool"]),
      ports: ports.map((entry) => entry.join("/")).join("."),
    };
    const withMarks = (spec: FakeStep["spec"] = {}) => {
      const listeners = spec.listeners && [
        ...keptListeners,
        ...spec.listeners.filter(({ port }) => !keptListeners.some((one) => one.port === port)),
      ];
      return { ...spec, ...(listeners && { listeners }), labels: { ...labels, ...spec.labels, ...marks } };
    };
    const relabel = (): FakeStep => ({
      do: "change balancer",
      on: observed?.name ?? "",
      id: observed?.balancer.id ?? "",
      spec: withMarks(first === undefined ? { listeners: [] } : {}),
    });
    if (first === undefined)
      return observed?.state === "changing"
        ? waitFor("the load balancer to be ready")
        : { steps: [relabel()] };
    const planned = base.plan([merged(live, first, owners)], observed, context);
    const steps = planned.steps.map((step) =>
      step.spec === undefined ? step : { ...step, spec: withMarks(step.spec) },
    );
    const isMarked = Object.entries(marks).every(([name, value]) => labels[name] === value);
    const needsMarks =
      !isMarked && steps.length === 0 && planned.wait === undefined && observed !== undefined;
    return { ...planned, steps: needsMarks ? [relabel()] : steps };
  };
  const { moveMark: _, ...others } = base;
  return {
    ...others,
    groupOf,
    list: async function* (call) {
      for await (const page of base.list(call)) yield page.map(toObserved);
    },
    plan,
  };
}

const { annotations } = fake;

export const sharing = {
  ...fake,
  annotations: {
    prefix: "balancer.fake.example/",
    fields: { ...annotations?.fields, pool: text("Services of one pool share a load balancer.") },
  },
  connect: (...args: Parameters<typeof fake.connect>) => {
    const cloud = fake.connect(...args) as unknown as AnyCloud;
    const balancers = cloud.loadBalancers as unknown as Balancers | undefined;
    return { ...cloud, loadBalancers: balancers && shared(balancers) };
  },
} as unknown as AnyProvider;
