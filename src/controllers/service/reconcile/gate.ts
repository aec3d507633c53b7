// What keeps a round from going on: somebody paused a Service of the group, or work of the cloud for it is under way. What
// has become of that work is taken in here.

import { keyOf } from "../../../kube/objects.ts";
import { CloudError } from "../../../provider/errors.ts";
import { type Outcome, settled, waiting } from "../../../runtime/workers.ts";
import { isPaused } from "../predicates.ts";
import type { Round, RoundParts } from "./context.ts";
import { createOperationProblem } from "./operation-problem.ts";
import { createRememberFacts } from "./remember-facts.ts";

export function createGate(
  parts: Pick<
    RoundParts,
    "ports" | "operations" | "freshListing" | "reporter" | "conditions" | "desiredServices"
  >,
) {
  const { ports, operations, freshListing, reporter } = parts;
  const problem = createOperationProblem(parts);
  const remember = createRememberFacts(ports);

  /** Whoever shares a balancer with a paused one waits for it. */
  const pause = ({ present }: Round): Outcome | undefined => {
    const paused = present.find(isPaused);
    if (paused === undefined) return undefined;
    for (const service of present.filter((each) => !isPaused(each))) {
      reporter.waits(service, `${keyOf(paused.metadata)}, which shares its load balancer and is paused`);
    }
    return settled;
  };

  const operation = async ({ group, present, call }: Round): Promise<Outcome | undefined> => {
    const news = operations.take(group);
    if (news === undefined) return undefined;
    if (news === "pending") {
      await problem.show(group, present, operations.problem, call.signal);
      return waiting;
    }
    freshListing.changed(group);
    if (CloudError.is(news)) throw news;
    if (news !== "lost") await remember(present, news, call.signal);
    return undefined;
  };

  return {
    /** Undefined: the round goes on. */
    stop: async (round: Round): Promise<Outcome | undefined> => pause(round) ?? (await operation(round)),
    forget: problem.forget,
  };
}
