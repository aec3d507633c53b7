// The fake cloud with listings that lack the targets of load balancers, so that these are read in depth, and recalled.

import { fake } from "../../providers/fake/index.ts";
import type { Fields } from "../../src/core/settings.ts";
import { noAnswer } from "../../src/kit/outcomes.ts";
import type { Call } from "../../src/provider/call.ts";
import type { LoadBalancers, ObservedLoadBalancer } from "../../src/provider/load-balancers.ts";
import type { Step } from "../../src/provider/plan.ts";
import type { AnyCloud, AnyProvider } from "../../src/provider/provider.ts";

interface Observed extends ObservedLoadBalancer {
  readonly balancer: Readonly<Record<string, unknown>>;
}

interface FakeStep extends Step {
  readonly spec?: Readonly<Record<string, unknown>>;
}

type Balancers = LoadBalancers<Fields, Observed, FakeStep, unknown>;

const hidden = { targets: [], draining: [] };
const isHidden = (part: string): boolean => part in hidden;

const shallowOf = (one: Observed): Observed =>
  one.ownership === "foreign" ? one : { ...one, shallow: true, balancer: { ...one.balancer, ...hidden } };

/** The id of the load balancer of this Service, or with this id: a lookup, which shows what a listing may hide. */
export type Lookup = (ownerOrID: string) => string | undefined;

function shallow(base: Balancers, lookUp: Lookup): Balancers {
  const all = async (call: Call): Promise<readonly Observed[]> => {
    const found: Observed[] = [];
    for await (const page of base.list(call)) found.push(...page);
    return found;
  };
  return {
    ...base,
    list: async function* (call) {
      for await (const page of base.list(call)) yield page.map(shallowOf);
    },
    observe: async ([member], listed, call) => {
      const found = (await all(call)).filter(({ ownership }) => ownership !== "foreign");
      const id = listed?.name ?? lookUp(member?.owner.uid ?? "");
      const one = found.find(({ name }) => name === id);
      if (one !== undefined || id === undefined) return one;
      return lookUp(id) === undefined ? undefined : noAnswer("the load balancer to be listed");
    },
    recall: (_, { shallow: __, outdated: ___, ...listed }, before) => {
      const isSame = Bun.deepEquals({ ...listed.balancer, ...hidden }, { ...before.balancer, ...hidden });
      const { targets, draining } = before.balancer;
      return isSame ? { ...listed, balancer: { ...listed.balancer, targets, draining } } : undefined;
    },
    plan: (...args) => {
      const plan = base.plan(...args);
      const steps = plan.steps.map((step) => {
        const isOfTargets = step.do === "change balancer" && Object.keys(step.spec ?? {}).every(isHidden);
        return isOfTargets ? { ...step, outdates: ["targets"] } : step;
      });
      return { ...plan, steps };
    },
  };
}

export const withShallowListings = (lookUp: Lookup) =>
  ({
    ...fake,
    connect: (...args: Parameters<typeof fake.connect>) => {
      const cloud = fake.connect(...args) as unknown as AnyCloud;
      const balancers = cloud.loadBalancers as unknown as Balancers | undefined;
      return { ...cloud, loadBalancers: balancers && shallow(balancers, lookUp) };
    },
  }) as unknown as AnyProvider;
