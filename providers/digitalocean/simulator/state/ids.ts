// Ids and times of resources. Numbers are of one sequence, so that a test notices when an id of the wrong kind is used.

import type { Clock } from "#ccm/testing";

export class Ids {
  readonly clock: Clock;
  #last = 0;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  next(): number {
    this.#last += 1;
    return this.#last;
  }

  uuid(): string {
    return `4de7ac8b-495b-4884-9a69-${(0x100000 + this.next()).toString(16).padStart(12, "0")}`;
  }

  get now(): string {
    return new Date(this.clock.now()).toISOString().replace(/\.\d+Z$/, "Z");
  }
}
