// What keeps a round from going on: somebody paused a Service of the group, or work of the cloud for it is under way. What
// has become of that work is taken in here.

import { keyOf } from "../../../kube/resource-path.ts";
import { CloudError } from "../../../provider/errors.ts";
import { type Outcome, settled, waiting } from "../../../runtime/workers.ts";
import { isPaused } from "../predicates.ts";
import { createRememberFacts } from "./remember-facts.ts";
import type { Round, RoundParts } from "./reconcile-deps.ts";
import { createTicketTrouble } from "../status/operation-problem.ts";

export const createGate = (
  parts: Pick<RoundParts, "ports" | "tickets" | "freshListing" | "teller" | "conditions" | "wishes">,
) => {
  const { ports, tickets, freshListing, teller } = parts;
  const trouble = createTicketTrouble(parts);
  const remember = createRememberFacts(ports);

  /** Whoever shares a balancer with a paused one waits for it. */
  const pause = ({ present }: Round): Outcome | undefined => {
    const paused = present.find(isPaused);
    if (paused === undefined) return undefined;
    for (const service of present.filter((each) => !isPaused(each))) {
      teller.waits(service, `${keyOf(paused.metadata)}, which shares its load balancer and is paused`);
    }
    return settled;
  };

  const ticket = async ({ group, present, call }: Round): Promise<Outcome | undefined> => {
    const news = tickets.take(group);
    if (news === undefined) return undefined;
    if (news === "pending") {
      await trouble.show(group, present, tickets.trouble, call.signal);
      return waiting;
    }
    freshListing.changed(group);
    if (CloudError.is(news)) throw news;
    if (news !== "lost") await remember(present, news, call.signal);
    return undefined;
  };

  return {
    /** Undefined: the round goes on. */
    stop: async (round: Round): Promise<Outcome | undefined> => pause(round) ?? (await ticket(round)),
    forget: trouble.forget,
  };
};
