// The fake cloud as one that is asked for single load balancers: with listings that are complete,
// or that lack the targets, so that load balancers are read in depth, and later in part.

import type { ApiBalancer, FakeApi } from "../../providers/fake/api.ts";
import { type FakeBalancer, type FakeStep, fakeLoadBalancers } from "../../providers/fake/load-balancers.ts";
import type { annotations } from "../../providers/fake/settings.ts";
import type { Call } from "../../src/provider/call.ts";
import { CloudError } from "../../src/provider/errors.ts";
import type { LoadBalancers } from "../../src/provider/load-balancers.ts";
import type { Context } from "../../src/provider/provider.ts";

type Balancers = LoadBalancers<typeof annotations, FakeBalancer, FakeStep>;

/** How much listings contain. */
export type Listings = "complete" | "shallow";

const hidden = { targets: [], draining: [] };
const isHidden = (part: string): boolean => part in hidden;

const shallowOf = (one: FakeBalancer): FakeBalancer =>
  one.ownership === "foreign" ? one : { ...one, shallow: true, balancer: { ...one.balancer, ...hidden } };

export function withLookups(base: Balancers, api: FakeApi, mark: Context["mark"], listings: Listings) {
  /** The load balancers of a response, as the provider observes those of a listing. */
  const read = async (pages: ReturnType<FakeApi["balancers"]>, call: Call) =>
    (
      await Array.fromAsync(fakeLoadBalancers({ ...api, balancers: () => pages }, mark, undefined).list(call))
    ).flat();
  const observe = async (
    uid: string | undefined,
    listed: FakeBalancer | undefined,
    call: Call,
  ): Promise<FakeBalancer | undefined> => {
    try {
      if (listed === undefined) {
        const found = await read(api.balancers(call, { owner: uid }), call);
        return found.find(({ ownership }) => ownership === "ours");
      }
      const { balancer } = await api.balancer(listed.balancer.id, call);
      const [found] = await read(onePage(balancer), call);
      return found;
    } catch (error) {
      if (CloudError.is(error) && error.kind === "not-found") return undefined;
      throw error;
    }
  };
  const looking: Balancers = {
    ...base,
    observe: (desired, listed, call) => observe(desired?.owner.uid, listed, call),
  };
  if (listings === "complete") return looking;
  const observeAgain: Balancers["observeAgain"] = async (desired, listed, before, parts, call) =>
    parts.length === 0 ? joined(listed, before) : observe(desired.owner.uid, listed, call);
  return { ...looking, ...shallow(base), observeAgain };
}

async function* onePage(balancer: ApiBalancer) {
  yield [balancer];
}

const withoutMark = ({ shallow: _, ...rest }: FakeBalancer): FakeBalancer => rest;

/** The listed load balancer with the targets that were read before. */
function joined(shown: FakeBalancer, before: FakeBalancer): FakeBalancer | undefined {
  const listed = withoutMark(shown);
  const isSame = Bun.deepEquals({ ...listed.balancer, ...hidden }, { ...before.balancer, ...hidden });
  const { targets, draining } = before.balancer;
  return isSame ? { ...listed, balancer: { ...listed.balancer, targets, draining } } : undefined;
}

const shallow = (base: Balancers): Pick<Balancers, "list" | "plan"> => ({
  list: async function* (call) {
    for await (const page of base.list(call)) yield page.map(shallowOf);
  },
  plan: (...args) => {
    const plan = base.plan(...args);
    const steps = plan.steps.map((step) => {
      const isOfTargets = step.do === "change balancer" && Object.keys(step.spec).every(isHidden);
      return isOfTargets ? { ...step, restsOn: ["targets"] } : step;
    });
    return { ...plan, steps };
  },
});
