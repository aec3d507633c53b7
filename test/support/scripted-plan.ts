// The type of the scripted load balancers, and the pure plan of their provider.

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
  /** The Service in the mark. Empty if the load balancer does not have Fairlead's mark. */
  readonly owners: readonly string[];
  readonly targets: number;
  /** The source ranges of the Service, only when the script keeps them. */
  readonly ranges?: readonly Cidr[] | "unspecified";
}

export const annotations = {
  adopt: text("The id of the balancer to be taken over."),
  size: oneOf("How large it is.", ["small", "large"], { fallback: "small" }),
};

export type Desired = DesiredLoadBalancer<typeof annotations>;

export interface Observed extends ObservedLoadBalancer {
  readonly thing: Thing;
}

export type ScriptedStep = Step & { readonly owner: string | undefined } & (
    | { readonly do: "make" | "change" | "adopt" | "release"; readonly thing: Thing }
    | { readonly do: "remove"; readonly id: string }
  );

export const toObserved = (thing: Thing): Observed => ({
  name: thing.id,
  owners: thing.owners as readonly ServiceUID[],
  ownership: thing.owners.length === 0 ? "unmarked" : "ours",
  state: "ready",
  thing,
});

export const planOf = (
  desired: Desired | undefined,
  observed: Observed | undefined,
  keepsRanges: boolean,
): Plan<ScriptedStep> => {
  if (desired === undefined || desired.ending !== undefined) return planToLeave(desired, observed);
  const { uid } = desired.owner;
  const ranges = keepsRanges ? { ranges: desired.sourceRanges ?? ("unspecified" as const) } : {};
  const wanted = { owners: [uid], targets: desired.targets.length, ...ranges };
  if (observed === undefined) {
    const thing = { id: `thing-of-${uid}`, ...wanted };
    return { steps: [{ do: "make", on: uid, thing, owner: uid }] };
  }
  const thing = { ...observed.thing, ...wanted };
  // The script counts targets, and does not know their names.
  const targets = wanted.targets === observed.thing.targets ? undefined : {};
  if (observed.ownership === "unmarked") return { steps: [{ do: "adopt", on: thing.id, thing, owner: uid }] };
  const isSame = JSON.stringify(thing) === JSON.stringify(observed.thing);
  return { steps: isSame ? [] : [{ do: "change", on: uid, thing, owner: uid, targets }] };
};

function planToLeave(desired: Desired | undefined, observed: Observed | undefined): Plan<ScriptedStep> {
  if (observed?.ownership !== "ours") return { steps: [] };
  const owner = observed.owners[0];
  if (desired?.ending === "release") {
    const thing = { ...observed.thing, owners: [] };
    return { steps: [{ do: "release", on: thing.id, thing, owner }] };
  }
  return { steps: [{ do: "remove", on: owner, id: observed.thing.id, owner }] };
}
