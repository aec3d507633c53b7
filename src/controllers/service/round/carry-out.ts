// Applies the steps of a plan: the finalizer first, then one step after the other, with what is to be remembered written
// down in between. It decides nothing; the next round observes what has become of it.

import { isFenced } from "../../../cloud/disposition.ts";
import { messageOf } from "../../../core/message-of.ts";
import { finalizerPatch } from "../../../kube/finalizer-patch.ts";
import type { Service } from "../../../kube/objects.ts";
import type { Step, StepOutcome } from "../../../provider/plan.ts";
import { again, type Outcome, settled, waiting } from "../../../runtime/workers.ts";
import { beginOf } from "../event-texts.ts";
import type { Fingerprint } from "../fingerprint.ts";
import { changeOf } from "../kind-of-change.ts";
import type { Member } from "../member.ts";
import { finalizer } from "../predicates.ts";
import { describeWishes } from "./describe-wishes.ts";
import { createRememberFacts } from "./remember-facts.ts";
import type { RoundParts } from "./round-parts.ts";

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
  /** Said once per plan: what would be done if we did anything. */
  const shown = new Map<string, string>();

  /** In observe mode, where nothing is carried out. */
  const show = ({ group, members, steps }: Pick<Work, "group" | "members" | "steps">): Outcome => {
    const text = JSON.stringify(steps);
    if (shown.get(group) !== text) {
      const words = describeWishes(members);
      for (const step of steps) journal(step, group, "observed", words);
    }
    shown.set(group, text);
    return settled;
  };

  return { run, show, forget: (group: string): void => void shown.delete(group) };

  async function run(work: Work, signal: AbortSignal): Promise<Outcome> {
    let services: readonly Service[] = work.members.map(({ service }) => service);
    for (const { service, wish } of work.members) {
      const event = beginOf(changeOf(work.before, work.now, wish.ending));
      if (wish.ending === "release") wishes.endings.name(wish.owner.uid, namesOf(work.steps));
      if (event !== undefined && work.isNew) teller.event(service, event);
    }
    // The mark on the Service comes before the first thing in the cloud, so that nothing can be left behind.
    services = await Promise.all(
      work.members.map(async ({ service, wish }) => {
        const patch =
          wish.ending === undefined ? finalizerPatch(service, finalizer, "present", "status") : undefined;
        if (patch === undefined) return service;
        return (await writes.patch(service, patch, "a load balancer is about to be made", signal)) ?? service;
      }),
    );
    for (const step of work.steps) {
      const outcome = await applyOne(work.group, step, signal);
      if (outcome.done) services = await remember(services, outcome, signal);
      else {
        for (const service of services) teller.waits(service, outcome.waitingFor);
        const { ticket, checkAfter, waitingFor } = outcome;
        // Neither a success nor a failure: what the ticket comes to counts.
        if (ticket !== undefined && tickets.hold(work.group, ticket, checkAfter)) return waiting;
        return again(progress.patience(work.group, checkAfter), waitingFor);
      }
    }
    return again(progress.pause(work.group), "the changes to be seen");
  }

  async function applyOne(group: string, step: Step, signal: AbortSignal): Promise<StepOutcome> {
    try {
      const outcome = await balancers.apply(step, { signal, urgency: "user-change" });
      journal(step, group, "done");
      return outcome;
    } catch (error) {
      journal(step, group, isFenced(error) ? "refused" : "failed", messageOf(error));
      throw error;
    }
  }
};
