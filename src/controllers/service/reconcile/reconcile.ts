// One round of a group, told from top to bottom: each stage either hands on what the next one needs, or says how the round
// ends. Nothing waits here; whatever a round began, the next one observes.

import { type Outcome, settled } from "../../../runtime/workers.ts";
import { createAskProvider } from "./ask-provider.ts";
import { createChange } from "./change.ts";
import { createFinish } from "./complete.ts";
import type { Round, RoundParts } from "./context.ts";
import { createDesiredGroup } from "./desired.ts";
import { createGate } from "./gate.ts";
import { createObserve } from "./observe.ts";
import { createSettle } from "./record-completion.ts";

export function createRound(parts: RoundParts) {
  const { progress, freshListing, inputs } = parts;
  const gate = createGate(parts);
  const observe = createObserve(parts);
  const selectDesired = createDesiredGroup(parts);
  const askProvider = createAskProvider(parts);
  const change = createChange(parts);
  const finish = createFinish(parts);
  const settle = createSettle(parts, [progress, freshListing, inputs, change, gate]);

  return async (round: Round): Promise<Outcome> => {
    const stopped = await gate.stop(round);
    if (stopped !== undefined) return stopped;

    const seen = await observe(round);
    if (seen.kind !== "observed") return seen;
    const observed = seen.balancer;

    const desired = await selectDesired(round, observed);
    if (desired.kind === "nobody") return settled;
    if (desired.kind === "orphan") return settle.orphan(round, desired.owed);
    if (desired.kind === "only show") return finish(round, { members: desired.members, observed });
    if (desired.kind !== "plan") return desired;

    const planned = await askProvider(round, { members: desired.members, gone: desired.gone, observed });
    if (planned.kind !== "planned") return planned;

    const changing = await change.toward(round, planned);
    if (changing !== undefined) return changing;

    const finished = await finish(round, { ...planned, done: progress.underWay(round.group) });
    return finished.kind === "settled" ? settle.done(round, planned) : finished;
  };
}
