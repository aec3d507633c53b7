// Changes of routes that the cloud is still at: each rests until the cloud says what has become of it, by the ticket it gave,
// or until the time after which it wants to be looked at. Nothing of it outlives a term; what is lost is observed.

import { type Milliseconds, milliseconds } from "../../../core/brand.ts";
import { CloudError } from "../../../provider/errors.ts";
import { createTickets, type TicketPorts } from "../../operations.ts";
import type { Rests } from "../reconcile/backoffs.ts";
import { aboutOf, type ChangeOutcome, type ChangeResult, keyOf, type RouteChange } from "../reconcile/route-change.ts";

type PendingOutcome = Extract<ChangeOutcome, { readonly kind: "pending" }>;

export type UnderWay = ReturnType<typeof createUnderWay>;

/** While a ticket is held its news ends the rest. */
const untilToldOf: Milliseconds = milliseconds(Number.POSITIVE_INFINITY);

export const createUnderWay = (ports: TicketPorts, rests: Rests, onNews: () => void) => {
  const { clock } = ports;
  const tickets = createTickets(ports, onNews);
  const begun = new Map<string, { readonly change: RouteChange; readonly at: number }>();

  const wait = (change: RouteChange, { ticket, checkAfter }: PendingOutcome): void => {
    const key = keyOf(change);
    const isHeld = ticket !== undefined && tickets.hold(key, ticket, checkAfter);
    rests.wait(key, aboutOf(change), isHeld ? untilToldOf : checkAfter);
    if (isHeld) begun.set(key, { change, at: clock.monotonic() });
  };

  /** What has become of some since the last look: those that failed, and whether there is anything to be seen. */
  const news = (): { readonly failed: readonly ChangeResult[]; readonly isAny: boolean } => {
    const failed: ChangeResult[] = [];
    let isAny = false;
    for (const [key, { change, at }] of begun) {
      const told = tickets.take(key);
      if (told === undefined || told === "pending") continue;
      isAny = true;
      begun.delete(key);
      if (CloudError.is(told)) {
        const took = milliseconds(clock.monotonic() - at);
        failed.push({ change, outcome: { kind: "failed", error: told, took } });
      } else rests.clear(key);
    }
    return { failed, isAny };
  };

  /** Changes of which nothing can be learnt, and why. */
  const unknown = (): { readonly changes: readonly RouteChange[]; readonly error: unknown } => ({
    changes: tickets.trouble === undefined ? [] : [...begun.values()].map(({ change }) => change),
    error: tickets.trouble,
  });

  const end = (): void => {
    for (const key of begun.keys()) rests.clear(key);
    begun.clear();
    tickets.end();
  };

  return { wait, news, unknown, begin: tickets.begin, end };
};
