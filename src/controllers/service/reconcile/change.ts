// What a plan leads to that is not yet fulfilled: its steps are carried out, or the cloud is waited for. A difference that
// nobody wished is somebody's work by hand: that is told, and put right or left, as the flag says.

import { type Outcome, requeue, settled } from "../../../runtime/workers.ts";
import { changeOf } from "../desired/kind-of-change.ts";
import { createApply } from "./apply.ts";
import type { Planned } from "./ask-provider.ts";
import type { Round, RoundParts } from "./context.ts";

export function createChange(
  parts: Pick<
    RoundParts,
    "ports" | "desiredServices" | "freshListing" | "operations" | "progress" | "reporter"
  >,
) {
  const { ports, freshListing, progress, reporter } = parts;
  const { settings, isObserving, clock, observer } = ports;
  const apply = createApply(parts);

  const applySteps = async ({ group, call }: Round, { members, steps, now }: Planned): Promise<Outcome> => {
    if (isObserving) return apply.reportOnly({ group, members, steps });
    const before = progress.lastDesired(group);
    const isNew = progress.underWay(group) === undefined;
    const ends = members.every(({ desired }) => desired.ending !== undefined) ? "delete" : undefined;
    const kind = changeOf(before, now, ends);
    progress.change(group, kind);
    const beganAt = clock.monotonic();
    let isFailed = true;
    try {
      const outcome = await apply.run({ group, members, steps, now, before, isNew }, call);
      isFailed = false;
      return outcome;
    } finally {
      freshListing.changed(group);
      if (isFailed) progress.broke(group, kind);
      if (kind === "update") observer.onHostUpdate(clock.monotonic() - beganAt, isFailed);
    }
  };

  return {
    /** Undefined: everything is as it was planned. */
    toward: async (round: Round, planned: Planned): Promise<Outcome | undefined> => {
      const { group } = round;
      const { members, steps, wait, now } = planned;
      if (steps.length > 0) {
        const isDrift = members.length > 0 && progress.isUnchanged(group, now);
        if (isDrift) for (const { service } of members) reporter.drift(service, steps, settings.drift);
        return isDrift && settings.drift === "report" ? settled : applySteps(round, planned);
      }
      if (wait === undefined) return undefined;
      for (const { service } of members) reporter.waits(service, wait.waitingFor);
      freshListing.changed(group);
      return requeue(progress.patience(group, wait.checkAfter), wait.waitingFor);
    },
    forget: apply.forget,
  };
}
