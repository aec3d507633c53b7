// The wish to look at the configuration at once, which SIGHUP brings. Wishes that come together are one.

import type { Milliseconds } from "../../core/brand.ts";
import { type Clock, sleep } from "../../platform/clock.ts";
import { linkedController } from "../../runtime/abortable.ts";

export class ReloadRequests {
  #wake: (() => void) | undefined;
  #isAsked = false;

  readonly request = (): void => {
    this.#isAsked = true;
    this.#wake?.();
  };

  /** Whether it was asked before the time was over. */
  async within(pause: Milliseconds, clock: Clock, signal: AbortSignal): Promise<boolean> {
    if (!this.#isAsked) {
      const { controller: waiting, unlink } = linkedController(signal);
      this.#wake = () => waiting.abort();
      await sleep(clock, pause, waiting.signal).catch(() => undefined);
      unlink();
      this.#wake = undefined;
    }
    const wasAsked = this.#isAsked;
    this.#isAsked = false;
    return wasAsked;
  }
}
