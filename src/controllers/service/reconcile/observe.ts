// What the cloud has for the group: from the shared listing if that is new enough, asked about in depth where a listing does
// not tell everything. Whom the cloud shows there besides must not be worked on elsewhere meanwhile.

import type { ObservedLoadBalancer } from "../../../provider/load-balancers.ts";
import { type Outcome, settled, waiting } from "../../../runtime/workers.ts";
import { createShowProblems } from "../status/show-problems.ts";
import type { Round, RoundParts } from "./context.ts";

interface Observed {
  readonly kind: "observed";
  readonly balancer: ObservedLoadBalancer | undefined;
}

export function createObserve(
  parts: Pick<RoundParts, "ports" | "freshListing" | "desiredServices" | "turns" | "reporter" | "conditions">,
) {
  const { ports, freshListing, desiredServices, turns } = parts;
  const { balancers } = ports;
  const show = createShowProblems(parts);

  const inDepth = async (
    { present, call }: Round,
    listed: ObservedLoadBalancer | undefined,
  ): Promise<ObservedLoadBalancer | undefined> => {
    const isEnough = listed !== undefined && listed.shallow !== true;
    if (balancers.observe === undefined || isEnough) return listed;
    const plain = present.map((service) => desiredServices.of(service).desired);
    return balancers.observe(plain, listed, call);
  };

  return async (round: Round): Promise<Observed | Outcome> => {
    const { group, present, call } = round;
    const found = freshListing.find(group, present);
    if (found === "not yet") return freshListing.ask(group);
    for (const service of present) await show("adoption", service, found.problems, call.signal);
    if (found.problems.length > 0) return settled;
    const balancer = await inDepth(round, found.balancer);
    if (!turns.enter(group, balancer?.owners ?? [])) return waiting;
    return { kind: "observed", balancer };
  };
}
