// The common behavior of smoke test trials: a trial creates, checks and removes a cloud object, and finds it in a new listing.

import { type Milliseconds, milliseconds, minutes, seconds } from "../../core/brand.ts";
import { type Clock, sleep } from "../../platform/clock.ts";
import type { Call } from "../../provider/call.ts";
import { CloudError } from "../../provider/errors.ts";
import type { AnyCloud, AnyProvider } from "../../provider/provider.ts";
import { RpcError } from "../../volumes/grpc/status.ts";
import type { Part, RecordFile } from "./record.ts";

export interface TrialContext {
  readonly provider: AnyProvider;
  /** The connection that changes the cloud. */
  readonly work: AnyCloud;
  /** A read-only connection, whose listings do not depend on the memory of the other connection. */
  readonly check: AnyCloud;
  readonly clock: Clock;
  readonly file: RecordFile;
  readonly progress: (text: string) => void;
}

export interface TrialStep {
  readonly name: string;
  readonly run: (call: Call) => Promise<void>;
}

/** An object that this smoke test has created. */
export interface Found {
  /** The name that the user sees in the cloud. */
  readonly name: string;
  /** Starts the removal. Returns when to list again. */
  readonly remove: (call: Call) => Promise<Milliseconds>;
}

export interface Trial {
  readonly part: Part;
  readonly steps: readonly TrialStep[];
  /** A text that users can search for if listing is not possible. */
  readonly searchFor: string;
  /** The result of a new listing. */
  find(call: Call): Promise<readonly Found[]>;
}

/** The result differs from what the test expects. `reason` is for the report, so it contains no names. */
export class SmokeFailure extends Error {
  readonly reason: string;

  constructor(reason: string, message: string) {
    super(message);
    this.reason = reason;
  }
}

export const interval: Milliseconds = seconds(2);
/** How long a listing may lack created objects. */
export const shownWithin: Milliseconds = minutes(1);
/** The number of consecutive errors after which a trial or a removal is given up. */
export const maxFailures = 5;

/** The request may have had an effect. */
export const isUnclear = (error: unknown): boolean =>
  (CloudError.is(error) && error.kind === "unavailable") ||
  (error instanceof RpcError && error.code === "UNAVAILABLE");

const isPassing = (error: unknown): boolean =>
  isUnclear(error) ||
  (CloudError.is(error) && ["busy", "conflict", "rate-limited"].includes(error.kind)) ||
  (error instanceof RpcError && error.code === "ABORTED");

/**
 * Calls `attempt` until it returns undefined; otherwise it returns when to try again. Throws the first error that is not
 * temporary.
 */
export async function untilDone(
  clock: Clock,
  signal: AbortSignal,
  attempt: () => Promise<Milliseconds | undefined>,
): Promise<void> {
  for (let failures = 0; ; ) {
    let delay: Milliseconds | undefined;
    try {
      delay = await attempt();
      if (delay === undefined) return;
      failures = 0;
    } catch (error) {
      signal.throwIfAborted();
      failures += 1;
      if (!isPassing(error) || failures === maxFailures) throw error;
      delay = milliseconds(interval * 2 ** failures);
    }
    await sleep(clock, milliseconds(Math.max(interval, delay)), signal);
  }
}

/** Waits until a new listing shows the object. */
export async function untilShown(
  { clock }: TrialContext,
  signal: AbortSignal,
  what: string,
  isShown: () => Promise<boolean>,
): Promise<void> {
  const end = clock.monotonic() + shownWithin;
  await untilDone(clock, signal, async () => {
    if (await isShown()) return undefined;
    if (clock.monotonic() < end) return interval;
    throw new SmokeFailure("NotListed", `No listing shows ${what} after ${shownWithin / 1000} s.`);
  });
}
