// Ids and times of the resources of a simulated cloud. Numbers are of one sequence, so that a test notices when an id of the wrong
// kind is used.

import type { Clock } from "../../platform/clock.ts";

/** Ids of new resources: numbers and uuids that are the same in every run. */
export class Ids {
  readonly clock: Clock;
  #last: number;

  /** The first number is the one after `last`. */
  constructor(clock: Clock, last = 0) {
    this.clock = clock;
    this.#last = last;
  }

  next(): number {
    this.#last += 1;
    return this.#last;
  }

  uuid(): string {
    return `4de7ac8b-495b-4884-9a69-${this.next().toString(16).padStart(12, "0")}`;
  }

  /** The time in ISO 8601. */
  get now(): string {
    return new Date(this.clock.now()).toISOString();
  }
}
