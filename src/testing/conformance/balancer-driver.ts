// The smallest framework that can drive balancers to where they should be: observe, plan, apply, remember, again. It has
// no policy of its own; the real one has, and must give the same end.

import { type Milliseconds, type ServiceUID, seconds } from "../../core/brand.ts";
import type { Fields } from "../../core/settings.ts";
import { CloudError } from "../../provider/errors.ts";
import type {
  DesiredLoadBalancer,
  LoadBalancers,
  ObservedLoadBalancer,
} from "../../provider/load-balancers.ts";
import type { Facts, Step } from "../../provider/plan.ts";
import { DeadlineError } from "../../runtime/deadline.ts";
import { collect, type Lab, noInputs } from "./lab.ts";

type Desired = DesiredLoadBalancer<Fields>;
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
  readonly members: ReadonlyMap<string, readonly Desired[]>;
}

const mostRounds = 100;

function balancersOf(lab: Lab): Balancers {
  const { loadBalancers } = lab.cloud;
  if (loadBalancers === undefined) throw new Error("This provider has no load balancers.");
  return loadBalancers;
}

/** Until one round over all groups has nothing to do. Cloud errors are what the next round is for. */
export async function converge(drive: Drive, desired: readonly Desired[]): Promise<Driven> {
  const { lab, memory, crash, strangers = [] } = drive;
  const present = new Set([...strangers, ...desired.map(({ owner }) => owner.uid)]);
  const balancers = balancersOf(lab);
  let steps = 0;

  const settle = async (operation: string, checkAfter: Milliseconds): Promise<void> => {
    const { pending } = lab.cloud;
    if (pending === undefined) throw new Error("A step gave a ticket, and this provider has no `pending`.");
    for (let wait = checkAfter, asked = 0; asked < mostRounds; asked++) {
      await lab.clock.advance(wait);
      const answer = (await lab.run((call) => pending.check([operation], call))).get(operation);
      if (CloudError.is(answer)) throw answer;
      // Lost: what became of it is observed.
      if (answer === undefined) return;
      if (answer.done) return remember(memory, answer.remember);
      wait = answer.checkAfter;
    }
    throw new Error(`The work of ticket ${operation} did not end.`);
  };

  const listAll = () => lab.run(async (call) => (await collect(balancers.list(call))).flat());

  const reconcile = async (
    group: string,
    members: readonly Desired[],
    listed: ObservedLoadBalancer | undefined,
    survey: unknown,
  ): Promise<{ isSettled: boolean; observed: ObservedLoadBalancer | undefined }> => {
    const { observe } = balancers;
    const observed =
      observe === undefined
        ? listed
        : await lab.run((call) => observe.call(balancers, members, listed, call));
    const orphans = (observed?.owners ?? []).filter((uid) => !present.has(uid));
    const isOnlyOfStrangers = observed !== undefined && observed.owners.length > 0 && orphans.length === 0;
    if (members.length === 0 && isOnlyOfStrangers) return { isSettled: true, observed };
    const given = { survey, inputs: noInputs, orphans };
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
        if (outcome.operation === undefined) await lab.clock.advance(outcome.checkAfter);
        else await settle(outcome.operation, outcome.checkAfter);
        break;
      }
    }
    if (plan.wait !== undefined) await lab.clock.advance(plan.wait.checkAfter);
    return { isSettled: plan.steps.length === 0 && plan.wait === undefined, observed };
  };

  for (let round = 0; round < mostRounds; round++) {
    const members = groupsOf(balancers, desired, memory);
    const observed = new Map<string, ObservedLoadBalancer | undefined>();
    let isSettled = true;
    try {
      const listed = await listAll();
      const everybody = [...members.values()].flat();
      const known = await lab.run(async (call) => balancers.survey?.(everybody, call));
      for (const { group, ownership } of listed) {
        if (ownership === "ours" && !members.has(group)) members.set(group, []);
      }
      for (const [group, wanted] of members) {
        const result = await reconcile(
          group,
          wanted,
          listed.find((one) => one.group === group) ?? adopted(balancers, wanted, listed),
          known,
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
}

/** Where nothing of ours is there, one that nobody manages and that a member asks for. */
function adopted(
  balancers: Balancers,
  members: readonly Desired[],
  listed: readonly ObservedLoadBalancer[],
): ObservedLoadBalancer | undefined {
  const hits = listed.filter(
    (one) =>
      one.ownership === "unmarked" &&
      members.some((member) => member.ending === undefined && balancers.adopts?.(member, one)),
  );
  if (hits.length > 1) throw new Error(`${hits.length} balancers fit what is to be adopted.`);
  return hits[0];
}

function groupsOf(
  balancers: Balancers,
  desired: readonly Desired[],
  memory: Memory,
): Map<string, readonly Desired[]> {
  const groups = new Map<string, readonly Desired[]>();
  for (const wanted of desired) {
    const current = { ...wanted, facts: memory.get(wanted.owner.uid) ?? {} };
    const group = balancers.groupOf?.(current) ?? wanted.owner.uid;
    groups.set(group, [...(groups.get(group) ?? []), current]);
  }
  return groups;
}

function remember(
  memory: Memory,
  news: ReadonlyMap<ServiceUID, Readonly<Record<string, string | undefined>>> | undefined,
): void {
  for (const [uid, facts] of news ?? []) {
    const kept = Object.entries({ ...memory.get(uid), ...facts }).filter(([, fact]) => fact !== undefined);
    memory.set(uid, Object.fromEntries(kept) as Facts);
  }
}
