// What is remembered, and what is not any more, when nothing is left to do for a group: debts are paid, those who ask for
// nothing are let go, and the wish is kept, so that a later difference can be told from a later wish.

import { milliseconds, type ServiceUID, serviceUID } from "../../../core/brand.ts";
import { type Outcome, requeue, settled } from "../../../runtime/workers.ts";
import { concernsUs } from "../predicates.ts";
import { deletedUnasked } from "../status/event-texts.ts";
import type { Planned } from "./ask-provider.ts";
import type { Round, RoundParts } from "./context.ts";

export function createSettle(
  {
    ports,
    groups,
    desiredServices,
    progress,
  }: Pick<RoundParts, "ports" | "groups" | "desiredServices" | "progress">,
  /** Whoever remembers something of groups. */
  memories: readonly { readonly forget: (group: string) => void }[],
) {
  const { services, note, clock } = ports;

  const pay = (group: string, paid: readonly ServiceUID[]): void => {
    groups.settle(group, paid);
    desiredServices.endings.forget(paid);
  };

  const forget = (group: string): void => {
    for (const memory of memories) memory.forget(group);
  };

  /** As our own writes left them: their echoes wake nobody. */
  const dismissWhoLeft = (group: string): void => {
    for (const key of groups.membersOf(group)) {
      const service = services.get(key);
      if (service === undefined || concernsUs(service)) continue;
      groups.dismiss(key);
      desiredServices.endings.forget([serviceUID(service.metadata.uid)]);
    }
    if (groups.membersOf(group).length === 0) forget(group);
  };

  return {
    /** Nothing is taken down, and nothing of it is known any more. */
    orphan: ({ group }: Round, owed: readonly ServiceUID[]): Outcome => {
      pay(group, owed);
      forget(group);
      return settled;
    },

    done: ({ group }: Round, { members, observed, gone, now }: Planned): Outcome => {
      if (observed === undefined || members.length > 0) pay(group, gone);
      if (members.length > 0) progress.settle(group, now);
      else {
        if (progress.underWay(group) !== undefined) note(deletedUnasked, { balancer: group });
        progress.forget(group);
      }
      dismissWhoLeft(group);
      const changesAt = Math.min(...members.map(({ changeAt }) => changeAt ?? Number.POSITIVE_INFINITY));
      if (!Number.isFinite(changesAt)) return settled;
      return requeue(milliseconds(Math.max(0, changesAt - clock.now())), "targets to drain");
    },
  };
}
