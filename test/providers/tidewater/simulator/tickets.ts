// The tickets of one zone: work that the cloud accepted and ends later. Each locks the object that it changes. Work that is due ends
// with the next call of `settle`, as of the moment when it was due.

import type { Clock } from "#ccm/testing";
import { type Answer, Refusal } from "./answer.ts";

/** A part of the request that was left out, while the rest was applied. */
export interface Rejection {
  readonly address: string;
  readonly code: string;
  readonly text: string;
}

/** `made` is the id of what was created. */
export interface Outcome {
  readonly made?: string;
  readonly rejected?: readonly Rejection[];
}

export interface Work {
  /** The object that rejects other changes until then. */
  readonly about: string;
  readonly milliseconds: number;
  /** Ends the work, as of this time. If it fails, the object is marked or stays as it was. */
  readonly end: (at: number, hasFailed: boolean) => Outcome;
}

interface Ticket extends Work {
  readonly id: string;
  readonly due: number;
  readonly fails: boolean;
  outcome?: Outcome;
}

const remembered = 600_000;

export class Tickets {
  readonly #clock: Clock;
  #tickets: readonly Ticket[] = [];
  #next = 1;
  /** The next ticket fails. */
  failsNext = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  isBusy(about: string): boolean {
    return this.#tickets.some((ticket) => ticket.about === about && ticket.outcome === undefined);
  }

  start(work: Work): Answer {
    if (this.isBusy(work.about)) throw new Refusal(409, "busy", `${work.about} is being changed`);
    const id = `k-${this.#next++}`;
    const due = this.#clock.monotonic() + work.milliseconds;
    this.#tickets = [...this.#tickets, { ...work, id, due, fails: this.failsNext }];
    return { status: 202, body: { ticket: id } };
  }

  settle(): void {
    const now = this.#clock.monotonic();
    this.#tickets = this.#tickets.filter(({ due }) => due + remembered > now);
    const ended = this.#tickets.filter(({ due, outcome }) => outcome === undefined && due <= now);
    for (const ticket of ended.toSorted((one, other) => one.due - other.due)) {
      ticket.outcome = {};
      ticket.outcome = ticket.end(ticket.due, ticket.fails);
    }
  }

  /** Those of these tickets that are known. */
  find(ids: readonly string[]): Answer {
    if (ids.length > 10) throw new Refusal(400, "too_many_values", `at most 10 tickets, got ${ids.length}`);
    const known = this.#tickets.filter(({ id }) => ids.includes(id));
    const tickets = known.map(({ id, about, fails, outcome }) => ({
      ticket: id,
      phase: outcome === undefined ? "running" : fails ? "failed" : "settled",
      made: outcome?.made ?? null,
      rejected: outcome?.rejected ?? [],
      fault: outcome && fails ? { code: "no_capacity", text: `no capacity for ${about}` } : null,
    }));
    return { status: 200, body: { tickets } };
  }
}
