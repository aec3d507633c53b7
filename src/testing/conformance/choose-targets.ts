// The targets of a desired load balancer as the framework passes them to a plan: those that it reaches, within the cloud's limit, and
// without those that the cloud has refused. Pure.

import type { RefusedTargets } from "../../controllers/service/state/refused-targets.ts";
import { chooseTargets } from "../../controllers/service/targets/target-policy.ts";
import { defined } from "../../core/defined.ts";
import type { Fields } from "../../core/settings.ts";
import type { DesiredLoadBalancer, ObservedLoadBalancer } from "../../provider/load-balancers.ts";
import type { AnyCloud } from "./simulated-cloud.ts";

type Desired = DesiredLoadBalancer<Fields>;
type Balancers = Pick<NonNullable<AnyCloud["loadBalancers"]>, "reaches" | "targetLimit">;

export function withChosenTargets(
  balancers: Balancers,
  desired: Desired,
  observed: ObservedLoadBalancer | undefined,
  { refused, now }: { readonly refused: Pick<RefusedTargets, "withhold">; readonly now: number },
): Desired {
  if (desired.ending !== undefined) return { ...desired, targets: [] };
  const { targets: candidates, ...rest } = desired;
  const { reaches } = balancers;
  const reach: Parameters<typeof chooseTargets>[1]["reach"] = (target) =>
    reaches?.call(balancers, rest, target, observed) ?? true;
  const cloudLimit = balancers.targetLimit?.(rest, observed);
  const { targets } = chooseTargets(candidates, defined({ policy: "all" as const, cloudLimit, reach }));
  return { ...desired, targets: refused.withhold(targets, now).targets };
}
