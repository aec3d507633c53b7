// What the scripted load balancers are, and the pure plan of their provider.

import {
  type Cidr,
  type DesiredLoadBalancer,
  type ObservedLoadBalancer,
  oneOf,
  type Plan,
  type ServiceUID,
  type Step,
  text,
} from "../../src/index.ts";

export interface Thing {
  readonly id: string;
  /** Absent when the load balancer does not have Fairlead's mark. */
  readonly group?: string;
  readonly owners: readonly string[];
  readonly targets: number;
  /** The content of the Secret that the first owner names. */
  /** The source ranges of the first owner, only when the script keeps them. */
  readonly ranges?: readonly Cidr[] | "unspecified";
}

export const annotations = {
  group: text("Services of one group share a balancer."),
  adopt: text("The id of the balancer to be taken over."),
  size: oneOf("How large it is.", ["small", "large"], { fallback: "small" }),
};

export type Desired = DesiredLoadBalancer<typeof annotations>;

export interface Observed extends ObservedLoadBalancer {
  readonly thing: Thing;
}

export type ScriptedStep = Step &
  (
    | {
        readonly do: "make" | "change" | "adopt" | "release";
        readonly thing: Thing;
        readonly touches: readonly string[];
      }
    | { readonly do: "remove"; readonly id: string; readonly touches: readonly string[] }
  );

export const groupOf = ({ settings, owner }: Desired): string =>
  settings.group === undefined ? owner.uid : `group-${settings.group}`;

export const toObserved = (thing: Thing): Observed => ({
  group: thing.group ?? `unmarked-${thing.id}`,
  owners: thing.owners as readonly ServiceUID[],
  ownership: thing.group === undefined ? "unmarked" : "ours",
  state: "ready",
  thing,
});

export const planOf = (
  members: readonly Desired[],
  observed: Observed | undefined,
  {
    prefetched,
    orphans,
    keepsRanges,
  }: {
    readonly prefetched: ReadonlySet<string>;
    readonly orphans: readonly ServiceUID[];
    readonly keepsRanges: boolean;
  },
): Plan<ScriptedStep> => {
  const staying = members.filter(({ ending }) => ending === undefined);
  const unknown = staying.filter(({ owner }) => !prefetched.has(owner.uid));
  if (unknown.length > 0) {
    return {
      steps: [],
      problems: [{ severity: "error", reason: "IncompleteInstance", text: "not prefetched" }],
    };
  }
  const [first] = staying;
  const before = observed?.owners ?? [];
  const known = new Set([...members.map(({ owner }) => owner.uid), ...orphans]);
  const others = before.filter((uid) => !known.has(uid));
  const owners = [...others, ...staying.map(({ owner }) => owner.uid)].toSorted();
  const touches = [...new Set<string>([...before, ...owners, ...members.map(({ owner }) => owner.uid)])];
  if (first === undefined) {
    if (observed?.ownership !== "ours") return { steps: [] };
    if (members.length > 0 && others.length > 0) {
      const thing = { ...observed.thing, owners };
      const isSame = JSON.stringify(thing) === JSON.stringify(observed.thing);
      return { steps: isSame ? [] : [{ do: "change", on: observed.group, thing, touches }] };
    }
    if (members.some(({ ending }) => ending === "release")) {
      const { group: _, ...unmarked } = observed.thing;
      const thing = { ...unmarked, owners: [] };
      return { steps: [{ do: "release", on: thing.id, thing, touches }] };
    }
    return { steps: [{ do: "remove", on: observed.group, id: observed.thing.id, touches }] };
  }
  const group = groupOf(first);
  const targets = first.targets.length;
  const ranges = keepsRanges ? { ranges: first.sourceRanges ?? ("unspecified" as const) } : {};
  if (observed === undefined) {
    const thing = { id: `thing-of-${group}`, group, owners, targets, ...ranges };
    return { steps: [{ do: "make", on: group, thing, touches }] };
  }
  const thing = { ...observed.thing, group, owners, targets, ...ranges };
  if (observed.ownership === "unmarked") return { steps: [{ do: "adopt", on: thing.id, thing, touches }] };
  const isSame = JSON.stringify(thing) === JSON.stringify(observed.thing);
  return { steps: isSame ? [] : [{ do: "change", on: group, thing, touches }] };
};
