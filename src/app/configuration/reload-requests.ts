// Requests to reload the configuration immediately, sent with SIGHUP. Requests before the next check are merged.

import type { Milliseconds } from "../../core/brand.ts";
import { type Clock, sleep } from "../../platform/clock.ts";
import { linkedController } from "../../runtime/abortable.ts";

export class ReloadRequests {
  #notify: (() => void) | undefined;
  #isRequested = false;

  readonly request = (): void => {
    this.#isRequested = true;
    this.#notify?.();
  };

  /** Waits for a request, for at most `timeout`. Returns whether there was a request. */
  async within(timeout: Milliseconds, clock: Clock, signal: AbortSignal): Promise<boolean> {
    if (!this.#isRequested) {
      const { controller: waiting, unlink } = linkedController(signal);
      this.#notify = () => waiting.abort();
      await sleep(clock, timeout, waiting.signal).catch(() => undefined);
      unlink();
      this.#notify = undefined;
    }
    const isRequested = this.#isRequested;
    this.#isRequested = false;
    return isRequested;
  }
}
