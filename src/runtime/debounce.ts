// Runs an action when a burst of triggers is over, and periodically while a burst does not end.

import { type Milliseconds, milliseconds } from "../core/brand.ts";
import type { Clock } from "../platform/clock.ts";

const quietTime: Milliseconds = milliseconds(200);
const maxDelay: Milliseconds = milliseconds(2000);

export class Debounce {
  readonly #clock: Clock;
  readonly #action: () => void;
  #cancel: (() => void) | undefined;
  #beganAt = 0;

  constructor(clock: Clock, action: () => void) {
    this.#clock = clock;
    this.#action = action;
  }

  trigger(): void {
    const now = this.#clock.monotonic();
    if (this.#cancel === undefined) this.#beganAt = now;
    this.#cancel?.();
    const delay = milliseconds(Math.min(quietTime, this.#beganAt + maxDelay - now));
    this.#cancel = this.#clock.after(delay, () => {
      this.#cancel = undefined;
      this.#action();
    });
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }
}
