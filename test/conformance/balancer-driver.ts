// The smallest framework that can drive balancers to where they should be: observe, plan, apply, remember, again. It has
// no policy of its own; the real one has, and must give the same end.

import { type ServiceUID, seconds } from "../../src/core/brand.ts";
import type { Fields } from "../../src/core/settings.ts";
import { CloudError } from "../../src/provider/errors.ts";
import type {
  DesiredLoadBalancer,
  LoadBalancers,
  ObservedLoadBalancer,
} from "../../src/provider/load-balancers.ts";
import type { Facts, Step } from "../../src/provider/plan.ts";
import { DeadlineError } from "../../src/runtime/deadline.ts";
import { collect, type Lab, noInputs } from "./lab.ts";

type Wish = DesiredLoadBalancer<Fields>;
type Balancers = LoadBalancers<Fields, ObservedLoadBalancer, Step, unknown>;

export class Crash extends Error {}

/** What Kubernetes holds: it outlives the provider's process. */
export type Memory = Map<ServiceUID, Facts>;

export interface Drive {
  readonly lab: Lab;
  readonly memory: Memory;
  /** Owners of whom nobody knows whether they are gone: what serves them stays. All others without a wish are gone. */
  readonly strangers?: readonly ServiceUID[];
  /** Dies at this step counted from 0: after it was done, before or after its facts were written. */
  readonly crash?: { readonly atStep: number; readonly when: "before-facts" | "after-facts" };
}

export interface Driven {
  readonly steps: number;
  readonly observed: ReadonlyMap<string, ObservedLoadBalancer | undefined>;
  readonly members: ReadonlyMap<string, readonly Wish[]>;
}

const mostRounds = 100;

const balancersOf = (lab: Lab): Balancers => {
  const { loadBalancers } = lab.cloud;
  if (loadBalancers === undefined) throw new Error("This provider has no load balancers.");
  return loadBalancers;
};

/** Until one round over all groups has nothing to do. Cloud errors are what the next round is for. */
export const converge = async (drive: Drive, wishes: readonly Wish[]): Promise<Driven> => {
  const { lab, memory, crash, strangers = [] } = drive;
  const present = new Set([...strangers, ...wishes.map(({ owner }) => owner.uid)]);
  const balancers = balancersOf(lab);
  let steps = 0;

  const listAll = () => lab.run(async (call) => (await collect(balancers.list(call))).flat());

  const reconcile = async (
    group: string,
    members: readonly Wish[],
    listed: ObservedLoadBalancer | undefined,
  ): Promise<{ isSettled: boolean; observed: ObservedLoadBalancer | undefined }> => {
    const { observe, survey } = balancers;
    const observed =
      observe === undefined
        ? listed
        : await lab.run((call) => observe.call(balancers, members, listed, call));
    const known = await lab.run(async (call) => survey?.call(balancers, members, call));
    const orphans = (observed?.owners ?? []).filter((uid) => !present.has(uid));
    const isOnlyOfStrangers = observed !== undefined && observed.owners.length > 0 && orphans.length === 0;
    if (members.length === 0 && isOnlyOfStrangers) return { isSettled: true, observed };
    const given = { survey: known, inputs: noInputs, orphans };
    const plan = balancers.plan(members, observed, given);
    if (JSON.stringify(balancers.plan(members, observed, given)) !== JSON.stringify(plan)) {
      throw new Error(`The plan of ${group} differs from one call to the next: it is not pure.`);
    }
    for (const step of plan.steps) {
      const outcome = await lab.run((call) => balancers.apply(step, call));
      const isLast = crash?.atStep === steps++;
      if (isLast && crash.when === "before-facts") throw new Crash();
      if (outcome.done) remember(memory, outcome.remember);
      if (isLast) throw new Crash();
      if (!outcome.done) {
        await lab.clock.advance(outcome.checkAfter);
        break;
      }
    }
    if (plan.wait !== undefined) await lab.clock.advance(plan.wait.checkAfter);
    return { isSettled: plan.steps.length === 0 && plan.wait === undefined, observed };
  };

  for (let round = 0; round < mostRounds; round++) {
    const members = groupsOf(balancers, wishes, memory);
    const observed = new Map<string, ObservedLoadBalancer | undefined>();
    let isSettled = true;
    try {
      const listed = await listAll();
      for (const { group } of listed) if (!members.has(group)) members.set(group, []);
      for (const [group, wanted] of members) {
        const result = await reconcile(
          group,
          wanted,
          listed.find((one) => one.group === group),
        );
        observed.set(group, result.observed);
        isSettled &&= result.isSettled;
      }
    } catch (error) {
      if (!CloudError.is(error) && !(error instanceof DeadlineError)) throw error;
      await lab.clock.advance(seconds(5));
      continue;
    }
    if (isSettled) return { steps, observed, members };
  }
  throw new Error(`It did not settle within ${mostRounds} rounds.`);
};

const groupsOf = (
  balancers: Balancers,
  wishes: readonly Wish[],
  memory: Memory,
): Map<string, readonly Wish[]> => {
  const groups = new Map<string, readonly Wish[]>();
  for (const wish of wishes) {
    const current = { ...wish, facts: memory.get(wish.owner.uid) ?? {} };
    const group = balancers.groupOf?.(current) ?? wish.owner.uid;
    groups.set(group, [...(groups.get(group) ?? []), current]);
  }
  return groups;
};

const remember = (
  memory: Memory,
  news: ReadonlyMap<ServiceUID, Readonly<Record<string, string | undefined>>> | undefined,
): void => {
  for (const [uid, facts] of news ?? []) {
    const kept = Object.entries({ ...memory.get(uid), ...facts }).filter(([, fact]) => fact !== undefined);
    memory.set(uid, Object.fromEntries(kept) as Facts);
  }
};
