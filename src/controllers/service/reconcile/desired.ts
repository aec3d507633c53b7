// What the Services of the group wish for, seen beside what the cloud has, and who of them takes part. What is wrong with
// a wish is shown on its Service, whether it takes part or not.

import type { ObservedLoadBalancer } from "../../../provider/load-balancers.ts";
import { type Outcome, waiting } from "../../../runtime/workers.ts";
import { selectMembers, type TakingPart } from "../desired/select-members.ts";
import { isStillUsed } from "../observed/ownership.ts";
import { createShowProblems } from "../status/show-problems.ts";
import type { Round, RoundParts } from "./context.ts";

export function createDesiredGroup(
  parts: Pick<RoundParts, "ports" | "groups" | "desiredServices" | "reporter" | "conditions">,
) {
  const { ports, groups, desiredServices } = parts;
  const show = createShowProblems(parts);

  return async (
    { group, present, call }: Round,
    observed: ObservedLoadBalancer | undefined,
  ): Promise<TakingPart | Outcome> => {
    const all = present.map((service) => desiredServices.of(service, observed));
    if (all.some(({ isAwaited }) => isAwaited)) return waiting;
    for (const { service, problems } of all) await show("annotations", service, problems, call.signal);
    return selectMembers({
      all,
      observed,
      owed: groups.debtsOf(group),
      isHeld: (uid) => desiredServices.endings.isHeld(uid),
      isStillUsed: (gone) => isStillUsed(ports, observed, gone),
    });
  };
}
