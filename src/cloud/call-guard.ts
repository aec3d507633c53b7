// Gives up calls of a provider that ignore their cancellation: a promise that never settles must not hold up a reload, the end of
// leadership or a shutdown. The caller gets an error, and a late result is discarded.

import { minutes, seconds } from "../core/brand.ts";
import type { Clock } from "../platform/clock.ts";
import type { Call } from "../provider/call.ts";
import { CloudError } from "../provider/errors.ts";

/** A call that did not end in time. */
export interface AbandonedCall {
  /** The method of the provider contract, such as `loadBalancers.apply`. */
  readonly operation: string;
  /** What the call is about; empty for a call about everything. */
  readonly object: string;
  /** Why it should have ended. */
  readonly why: "cancelled" | "replaced";
}

export interface CallGuardOptions {
  readonly clock: Clock;
  /** Aborted when the connection is replaced. */
  readonly replaced: AbortSignal;
  readonly onAbandoned: (call: AbandonedCall) => void;
}

/** What is called, for messages. */
export interface GuardedCall {
  readonly operation: string;
  readonly object?: () => string;
}

/** How long a call may take to end. One that observes its cancellation ends immediately. */
export const timeToEnd = { cancelled: seconds(2), replaced: minutes(1) } as const;

export class CallGuard {
  readonly #options: CallGuardOptions;

  constructor(options: CallGuardOptions) {
    this.#options = options;
  }

  /** Settles like the call, or rejects when it has not ended in time. */
  call<T>({ operation, object }: GuardedCall, signal: AbortSignal, begin: () => Promise<T>): Promise<T> {
    const { clock, replaced, onAbandoned } = this.#options;
    return new Promise<T>((resolve, reject) => {
      const done = new AbortController();
      const limit = (why: AbandonedCall["why"]): void => {
        const giveUp = (): void => {
          done.abort();
          onAbandoned({ operation, object: object?.() ?? "", why });
          reject(notEnded(operation, why));
        };
        done.signal.addEventListener("abort", clock.after(timeToEnd[why], giveUp), { once: true });
      };
      for (const [why, from] of [["cancelled", signal] as const, ["replaced", replaced] as const]) {
        if (from.aborted) limit(why);
        else from.addEventListener("abort", () => limit(why), { once: true, signal: done.signal });
      }
      const begun = async (): Promise<T> => begin();
      begun()
        .finally(() => done.abort())
        .then(resolve, reject);
    });
  }

  async *pages<P>(operation: string, list: (call: Call) => AsyncIterable<P>, call: Call): AsyncIterable<P> {
    const pages = list(call)[Symbol.asyncIterator]();
    let isAtPage = false;
    try {
      for (;;) {
        const next = await this.call({ operation }, call.signal, () => pages.next());
        if (next.done === true) return;
        isAtPage = true;
        yield next.value;
        isAtPage = false;
      }
    } finally {
      // The reader stopped. Between pages, a listing that hangs would not end.
      if (isAtPage) await this.call({ operation }, call.signal, async () => pages.return?.());
    }
  }
}

function notEnded(operation: string, why: AbandonedCall["why"]): CloudError {
  const since = why === "cancelled" ? "its cancellation" : "its connection was replaced";
  return new CloudError(
    "unavailable",
    `${operation} of the provider did not end within ${timeToEnd[why] / 1000}s after ${since}, so its result is discarded.`,
    { operation },
  );
}
