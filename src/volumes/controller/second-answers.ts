// What the cloud shows without a change of Fairlead may be a lie: that a volume is gone, or is not attached. It counts when another
// answer, some time later, is the same.

import type { LifecycleSettings } from "../../controllers/node-lifecycle/settings.ts";
import type { Clock } from "../../platform/clock.ts";

export class SecondAnswers {
  readonly #clock: Clock;
  readonly #settings: Pick<LifecycleSettings, "confirmAfter">;
  readonly #firstAt = new Map<string, number>();

  constructor(clock: Clock, settings: Pick<LifecycleSettings, "confirmAfter">) {
    this.#clock = clock;
    this.#settings = settings;
  }

  /** Call it for each answer about an object: after this many milliseconds, the next one counts. 0: this one does. */
  wait(uid: string): number {
    const now = this.#clock.monotonic();
    const firstAt = this.#firstAt.get(uid) ?? now;
    const wait = Math.max(0, firstAt + this.#settings.confirmAfter - now);
    if (wait > 0) this.#firstAt.set(uid, firstAt);
    else this.#firstAt.delete(uid);
    return wait;
  }

  /** Something else was answered: the first answer does not count any more. */
  forget(uid: string): void {
    this.#firstAt.delete(uid);
  }
}
