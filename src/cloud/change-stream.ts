// Keeps a cloud's change stream open while this replica leads: reopens the stream with backoff when it breaks or falls silent,
// and reports that. Its messages are only hints, so nothing depends on them.

import { milliseconds, minutes, seconds } from "../core/brand.ts";
import { formatDuration } from "../core/duration.ts";
import { messageOf } from "../core/error-message.ts";
import { type Clock, sleep } from "../platform/clock.ts";
import type { Random } from "../platform/random.ts";
import type { ChangeHint, Changes } from "../provider/changes.ts";
import { linkedController } from "../runtime/abortable.ts";
import { backoff } from "../runtime/backoff.ts";

export interface ChangeStreamOptions {
  readonly changes: Changes;
  readonly clock: Clock;
  readonly random: Random;
  readonly onHints: (hints: readonly ChangeHint[]) => void;
  /** Called when the stream is open again. Changes in between were not reported. */
  readonly onReopened: () => void;
  readonly warn: (message: string) => void;
  readonly note: (message: string) => void;
}

export interface ChangeStreamState {
  /** Undefined while the stream is closed. */
  readonly openSince: number | undefined;
  readonly heardAt: number;
  /** Why the stream is closed. */
  readonly failure: string | undefined;
}

const reopen = { first: seconds(1), cap: minutes(5) };
/** A server may end a stream after this time without a failure. */
const longLife = minutes(1);

export class ChangeStream {
  readonly #options: ChangeStreamOptions;
  #isRunning = false;
  #openSince: number | undefined;
  #heardAt = 0;
  #failures = 0;
  #failure: string | undefined;
  #wasOpen = false;

  constructor(options: ChangeStreamOptions) {
    this.#options = options;
  }

  /** Undefined while the stream should be closed, as on a standby replica. Times are monotonic. */
  get state(): ChangeStreamState | undefined {
    if (!this.#isRunning) return undefined;
    return { openSince: this.#openSince, heardAt: this.#heardAt, failure: this.#failure };
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, random } = this.#options;
    this.#wasOpen = false;
    this.#isRunning = true;
    while (!signal.aborted) {
      const error = await this.#follow(signal);
      // The final silence does not count as part of the stream's life.
      const lived = this.#openSince === undefined ? 0 : this.#heardAt - this.#openSince;
      this.#openSince = undefined;
      if (signal.aborted) break;
      if (lived >= longLife) this.#failures = 0;
      this.#failures += 1;
      if (error !== undefined || lived < longLife) this.#report(error);
      await sleep(clock, backoff(this.#failures, reopen, random), signal).catch(() => undefined);
    }
    this.#isRunning = false;
    this.#failures = 0;
    this.#failure = undefined;
  }

  /** Follows the stream to its end. Returns the error that ended it. */
  async #follow(signal: AbortSignal): Promise<unknown> {
    const { changes, clock, onHints } = this.#options;
    const { maxSilence } = changes;
    const { controller, unlink } = linkedController(signal);
    this.#heardAt = clock.monotonic();
    let cancel = (): void => undefined;
    const watch = (): void => {
      const left = this.#heardAt + maxSilence - clock.monotonic();
      if (left <= 0) controller.abort(new Error(`the cloud sent nothing for ${formatDuration(maxSilence)}.`));
      else cancel = clock.after(milliseconds(Math.ceil(left)), watch);
    };
    watch();
    try {
      for await (const hints of changes.follow({ signal: controller.signal, urgency: "refresh" })) {
        this.#heardAt = clock.monotonic();
        this.#noteOpen();
        if (hints.length > 0) onHints(hints);
      }
      return undefined;
    } catch (error) {
      return controller.signal.aborted ? controller.signal.reason : error;
    } finally {
      cancel();
      controller.abort();
      unlink();
    }
  }

  #noteOpen(): void {
    if (this.#openSince !== undefined) return;
    this.#openSince = this.#heardAt;
    if (this.#failure !== undefined) this.#options.note("The cloud reports its changes again");
    this.#failure = undefined;
    if (this.#wasOpen) this.#options.onReopened();
    this.#wasOpen = true;
  }

  #report(error: unknown): void {
    const why = error === undefined ? "the cloud closed the connection." : messageOf(error);
    if (this.#failure === undefined)
      this.#options.warn(
        `The cloud does not report its changes: ${why} Fairlead finds them with the next listing, and tries to connect again.`,
      );
    this.#failure = why;
  }
}

/** The objects that may have changed: certain keys, or any object. */
export type Hinted = ReadonlySet<string> | "any";
