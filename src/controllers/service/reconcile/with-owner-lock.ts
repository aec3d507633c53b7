// Lets a group into its round when no other one works on an owner of its, and books how the round ended: for conditions,
// for what is measured, and for those who waited for their turn.

import { isFenced } from "../../../cloud/error-policies.ts";
import type { Outcome } from "../../../runtime/workers.ts";
import { waiting } from "../../../runtime/workers.ts";
import type { Round, RoundParts } from "./context.ts";
import type { Failure } from "./failure.ts";
import type { NodeSyncLatency } from "./node-sync-latency.ts";

export interface InTurnParts extends Pick<RoundParts, "ports" | "groups" | "turns" | "conditions"> {
  readonly nodeSyncLatency: Pick<NodeSyncLatency, "end">;
  readonly failure: Pick<Failure, "show">;
  readonly round: (round: Round) => Promise<Outcome>;
  /** Its Services may have gone meanwhile, and the round remembered them again. */
  readonly forgetGone: (present: Round["present"]) => void;
  /** It may have its turn now. */
  readonly enqueue: (group: string) => void;
}

export function createInTurn(parts: InTurnParts) {
  const { groups, turns, conditions, nodeSyncLatency, failure } = parts;
  const { services } = parts.ports;

  return async (group: string, signal: AbortSignal): Promise<Outcome> => {
    const present = groups.membersOf(group).flatMap((key) => services.get(key) ?? []);
    const owners = present.map(({ metadata }) => metadata.uid);
    if (!turns.enter(group, [...owners, ...groups.debtsOf(group)])) return waiting;
    try {
      const outcome = await parts.round({ group, present, call: { signal, urgency: "user-change" } });
      if (outcome.kind !== "waiting") conditions.worked(group);
      if (outcome.kind === "settled") nodeSyncLatency.end(group);
      return outcome;
    } catch (error) {
      nodeSyncLatency.end(group);
      if (!signal.aborted && !isFenced(error)) await failure.show(group, error, signal);
      throw error;
    } finally {
      parts.forgetGone(present);
      for (const next of turns.leave(group)) parts.enqueue(next);
    }
  };
}
