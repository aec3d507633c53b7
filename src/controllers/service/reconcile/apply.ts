// Applies the steps of a plan: the finalizer first, then one step after the other, with what is to be remembered written
// down in between. It decides nothing; the next round observes what has become of it.

import { isFenced } from "../../../cloud/disposition.ts";
import { messageOf } from "../../../core/message-of.ts";
import { finalizerPatch } from "../../../kube/patches/finalizer-patch.ts";
import type { Service } from "../../../kube/objects.ts";
import type { Call } from "../../../provider/call.ts";
import type { Step, StepOutcome } from "../../../provider/plan.ts";
import { again, type Outcome, settled, waiting } from "../../../runtime/workers.ts";
import { beginOf } from "../status/event-texts.ts";
import type { Fingerprint } from "../desired/fingerprint.ts";
import { changeOf } from "../desired/kind-of-change.ts";
import type { Member } from "../desired/member.ts";
import { finalizer } from "../predicates.ts";
import { describeWishes } from "../status/describe-desired.ts";
import { createRememberFacts } from "./remember-facts.ts";
import type { RoundParts } from "./reconcile-deps.ts";

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
const namesOf = (steps: readonly Step[]): string =>
  [...new Set(steps.flatMap(({ on }) => on ?? []))].join(", ");

export const createCarryOut = ({
  ports,
  wishes,
  teller,
  tickets,
  progress,
}: Pick<RoundParts, "ports" | "wishes" | "teller" | "tickets" | "progress">) => {
  const { balancers, writes, journal } = ports;
  const remember = createRememberFacts(ports);
  /** What was told last, by group: each plan is told once. */
  const told = new Map<string, string>();

  const announce = ({ members, steps, before, now, isNew }: Work): void => {
    for (const { service, wish } of members) {
      const event = beginOf(changeOf(before, now, wish.ending));
      if (wish.ending === "release") wishes.endings.name(wish.owner.uid, namesOf(steps));
      if (event !== undefined && isNew) teller.event(service, event);
    }
  };

  /** The mark on the Service comes before the first thing in the cloud, so that nothing can be left behind. */
  const mark = (members: readonly Member[], signal: AbortSignal): Promise<readonly Service[]> =>
    Promise.all(
      members.map(async ({ service, wish }) => {
        const patch =
          wish.ending === undefined ? finalizerPatch(service, finalizer, "present", "status") : undefined;
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
    onlyTell: ({ group, members, steps }: Pick<Work, "group" | "members" | "steps">): Outcome => {
      const text = JSON.stringify(steps);
      if (told.get(group) !== text) {
        const words = describeWishes(members);
        for (const step of steps) journal(step, group, "observed", words);
      }
      told.set(group, text);
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
        const { ticket, checkAfter, waitingFor } = outcome;
        for (const service of services) teller.waits(service, waitingFor);
        // Neither a success nor a failure: what the ticket comes to counts.
        if (ticket !== undefined && tickets.hold(group, ticket, checkAfter)) return waiting;
        return again(progress.patience(group, checkAfter), waitingFor);
      }
      return again(progress.pause(group), "the changes to be seen");
    },

    forget: (group: string): void => void told.delete(group),
  };
};
