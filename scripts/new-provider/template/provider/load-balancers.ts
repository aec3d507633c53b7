// The load balancers of Acme, one per Service: lists them and applies single steps. `plan-balancer.ts` plans the steps.

import type { Call, Context, LoadBalancers, Publication, StepOutcome } from "#ccm";
import type { ApiBalancer, CloudApi } from "./api.ts";
import { type BalancerStep, type Desired, type Observed, planBalancer } from "./plan-balancer.ts";
import type { annotations } from "./settings.ts";
import { unwritten } from "./unwritten.ts";

const section = "6. Load balancers: apply";

/** Empty for a load balancer without this cluster's tags. */
function toObserved(_balancer: ApiBalancer, _mark: Context["mark"]): readonly Observed[] {
  return unwritten("load-balancers.ts", section);
}

function applyStep(_api: CloudApi, _step: BalancerStep, _call: Call): Promise<StepOutcome> {
  return unwritten("load-balancers.ts", section);
}

function publish(_member: Desired, _observed: Observed | undefined): Publication {
  return unwritten("load-balancers.ts", section);
}

export function loadBalancers(
  api: CloudApi,
  mark: Context["mark"],
): LoadBalancers<typeof annotations, Observed, BalancerStep> {
  return {
    list: async function* (call) {
      for await (const page of api.balancers(call)) {
        yield page.flatMap((balancer) => toObserved(balancer, mark));
      }
    },
    plan: (desired, observed) =>
      planBalancer(desired, observed, { cluster: mark.cluster, manager: mark.owner }),
    apply: (step, call) => applyStep(api, step, call),
    publish,
  };
}
