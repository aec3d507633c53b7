// Applies the steps of a plan: the finalizer first, then one step after the other, with what is to be remembered written
// down in between. It decides nothing; the next round observes what has become of it.

import { isFenced } from "../../../cloud/error-policies.ts";
import { messageOf } from "../../../core/errors.ts";
import type { Service } from "../../../kube/objects.ts";
import { finalizerPatch } from "../../../kube/patches/finalizer-patch.ts";
import type { Call } from "../../../provider/call.ts";
import type { Step, StepOutcome } from "../../../provider/plan.ts";
import { type Outcome, requeue, settled, waiting } from "../../../runtime/workers.ts";
import type { Fingerprint } from "../desired/fingerprint.ts";
import { changeOf } from "../desired/kind-of-change.ts";
import type { Member } from "../desired/member.ts";
import { finalizer } from "../predicates.ts";
import { describeDesired } from "../status/describe-desired.ts";
import { beginOf } from "../status/event-texts.ts";
import type { RoundParts } from "./context.ts";
import { createRememberFacts } from "./remember-facts.ts";

export interface Work {
  readonly group: string;
  readonly members: readonly Member[];
  readonly steps: readonly Step[];
  /** What was wished when it last settled; absent for something new. */
  readonly before: Fingerprint | undefined;
  readonly now: Fingerprint;
  /** False while a change that was announced goes on. */
  readonly isNew: boolean;
}

/** What the cloud calls that which is changed. */
function namesOf(steps: readonly Step[]): string {
  return [...new Set(steps.flatMap(({ on }) => on ?? []))].join(", ");
}

export function createApply({
  ports,
  desiredServices,
  reporter,
  operations,
  progress,
}: Pick<RoundParts, "ports" | "desiredServices" | "reporter" | "operations" | "progress">) {
  const { balancers, writes, journal } = ports;
  const remember = createRememberFacts(ports);
  /** What was told last, by group: each plan is told once. */
  const reported = new Map<string, string>();

  const announce = ({ members, steps, before, now, isNew }: Work): void => {
    for (const { service, desired } of members) {
      const event = beginOf(changeOf(before, now, desired.ending));
      if (desired.ending === "release") desiredServices.endings.name(desired.owner.uid, namesOf(steps));
      if (event !== undefined && isNew) reporter.event(service, event);
    }
  };

  /** The mark on the Service comes before the first thing in the cloud, so that nothing can be left behind. */
  const mark = (members: readonly Member[], signal: AbortSignal): Promise<readonly Service[]> =>
    Promise.all(
      members.map(async ({ service, desired }) => {
        const patch =
          desired.ending === undefined ? finalizerPatch(service, finalizer, "present", "status") : undefined;
        if (patch === undefined) return service;
        return (await writes.patch(service, patch, "a load balancer is about to be made", signal)) ?? service;
      }),
    );

  const applyOne = async (group: string, step: Step, call: Call): Promise<StepOutcome> => {
    try {
      const outcome = await balancers.apply(step, call);
      journal(step, group, "done");
      return outcome;
    } catch (error) {
      journal(step, group, isFenced(error) ? "refused" : "failed", messageOf(error));
      throw error;
    }
  };

  return {
    /** In observe mode, where nothing is carried out: what would be done if we did anything. */
    reportOnly: ({ group, members, steps }: Pick<Work, "group" | "members" | "steps">): Outcome => {
      const text = JSON.stringify(steps);
      if (reported.get(group) !== text) {
        const words = describeDesired(members);
        for (const step of steps) journal(step, group, "observed", words);
      }
      reported.set(group, text);
      return settled;
    },

    run: async (work: Work, call: Call): Promise<Outcome> => {
      const { group } = work;
      announce(work);
      let services = await mark(work.members, call.signal);
      for (const step of work.steps) {
        const outcome = await applyOne(group, step, call);
        if (outcome.done) {
          services = await remember(services, outcome, call.signal);
          continue;
        }
        const { operation, checkAfter, waitingFor } = outcome;
        for (const service of services) reporter.waits(service, waitingFor);
        // Neither a success nor a failure: what the ticket comes to counts.
        if (operation !== undefined && operations.track(group, operation, checkAfter)) return waiting;
        return requeue(progress.patience(group, checkAfter), waitingFor);
      }
      return requeue(progress.pause(group), "the changes to be seen");
    },

    forget: (group: string): void => void reported.delete(group),
  };
}
