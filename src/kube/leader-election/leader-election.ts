// Leader election on a Lease, compatible with client-go: acquires the Lease, renews it, and reports when it is lost. Callers
// must then stop their work.

import { type Milliseconds, milliseconds, seconds } from "../../core/brand.ts";
import { formatDuration } from "../../core/duration.ts";
import { messageOf } from "../../core/error-message.ts";
import { sleep } from "../../platform/clock.ts";
import type { Random } from "../../platform/random.ts";
import { abortable, linkedController } from "../../runtime/abortable.ts";
import { isKubeError, KubeError, type KubeErrorFacts } from "../errors/kube-error.ts";
import type { Lease } from "../objects.ts";
import { LeaseLock, type LeaseLockOptions } from "./lease-lock.ts";

export interface LeaderElectionOptions extends LeaseLockOptions {
  readonly random: Random;
  readonly leaseDuration?: Milliseconds;
  readonly renewDeadline?: Milliseconds;
  readonly retryPeriod?: Milliseconds;
  readonly onAcquired: () => void;
  readonly onLost: (reason: string) => void;
  /** Called when a held Lease was released, so that the next replica need not wait until it expires. */
  readonly onReleased?: () => void;
  /** Called when an attempt fails; further attempts follow. */
  readonly onProblem?: (error: unknown) => void;
}

/** The problem with the timing by client-go's rules; undefined if there is none. */
export function electionTimingProblem(
  leaseDuration: Milliseconds,
  renewDeadline: Milliseconds,
  retryPeriod: Milliseconds,
): string | undefined {
  const [lease, renew, retry] = [leaseDuration, renewDeadline, retryPeriod].map(
    (time) => `${formatDuration(time)}`,
  );
  if (leaseDuration < 1000) return `The lease duration must be at least 1s, got ${lease}.`;
  if (leaseDuration <= renewDeadline) {
    return `The lease duration (${lease}) must be longer than the renew deadline (${renew}).`;
  }
  if (renewDeadline <= retryPeriod * 1.2) {
    return `The renew deadline (${renew}) must be longer than 1.2 times the retry period (${retry}).`;
  }
  return retryPeriod > 0 ? undefined : `The retry period must be longer than 0s, got ${retry}.`;
}

/** The time limit of one attempt to acquire or renew the Lease. */
export function attemptTimeout(renewDeadline: Milliseconds): Milliseconds {
  return milliseconds(Math.max(1000, renewDeadline / 2));
}

/** Cancels the remains of an attempt. A constant, because an abort without a reason creates an error with a stack. */
const attemptEnded = new Error("The attempt to renew the Lease has ended.");

export class LeaderElection {
  readonly #options: LeaderElectionOptions;
  readonly #lock: LeaseLock;
  readonly #duration: Milliseconds;
  readonly #renewDeadline: Milliseconds;
  readonly #retryPeriod: Milliseconds;
  #endPause: (() => void) | undefined;
  #isNudged = false;
  /** Callers that wait for a renewal which has not begun yet. */
  #renewals: PromiseWithResolvers<void>[] = [];
  /** Why the last attempt failed. */
  #failure: unknown;
  /** Why this replica gives up the Lease that it holds. */
  #stepsDownBecause: string | undefined;

  constructor(options: LeaderElectionOptions) {
    const { leaseDuration = seconds(15), renewDeadline = seconds(10), retryPeriod = seconds(2) } = options;
    const problem = electionTimingProblem(leaseDuration, renewDeadline, retryPeriod);
    if (problem !== undefined) throw new RangeError(problem);
    if (options.identity === "") throw new RangeError("The identity for leader election must not be empty.");
    this.#options = options;
    this.#lock = new LeaseLock(options, leaseDuration);
    this.#duration = leaseDuration;
    this.#renewDeadline = renewDeadline;
    this.#retryPeriod = retryPeriod;
  }

  get holder(): string | undefined {
    return this.#lock.holder;
  }

  get lease(): Lease | undefined {
    return this.#lock.lease;
  }

  /** As in upstream, unhealthy only while this replica claims a Lease that expired longer ago than the tolerance. */
  health(tolerance: Milliseconds): string | undefined {
    const age = this.age();
    return age !== undefined && age > this.#duration + tolerance
      ? `failed election to renew leadership on lease ${this.#options.name}`
      : undefined;
  }

  /** Time since the last proof that this replica holds the Lease; undefined while it does not. */
  age(): Milliseconds | undefined {
    return this.#lock.age();
  }

  isHeld(): boolean {
    return this.mayWrite(milliseconds(0)) === true;
  }

  /** Whether a write that is sent now arrives, including the margin, before the Lease can expire. */
  mayWrite(margin: Milliseconds): true | { readonly reason: string } {
    return this.#lock.mayWrite(margin);
  }

  /** Makes a waiting candidate try immediately, because the Lease has changed. */
  nudge(): void {
    // An attempt in progress may have read the Lease before the change, so another attempt follows.
    this.#isNudged = true;
    this.#endPause?.();
  }

  /** Renews the Lease now. Concurrent callers share one renewal. Rejects if the renewal fails or the Lease is not held. */
  renew(): Promise<void> {
    if (!this.isHeld()) return Promise.reject(this.#notHeld());
    const renewal = Promise.withResolvers<void>();
    this.#renewals.push(renewal);
    this.#endPause?.();
    return renewal.promise;
  }

  /** Releases the Lease now, so that another replica can lead. Stop the work first. */
  stepDown(reason: string): void {
    if (!this.isHeld()) return;
    this.#stepsDownBecause = reason;
    this.#endPause?.();
  }

  /**
   * Takes part in the election until aborted, over any number of leadership sessions, and then releases the Lease. Stop the work
   * first.
   */
  async run(signal: AbortSignal): Promise<void> {
    const { onAcquired, onLost } = this.#options;
    while (!signal.aborted) {
      await this.#acquire(signal);
      if (signal.aborted) break;
      this.#stepsDownBecause = undefined;
      onAcquired();
      const reason = await this.#hold(signal);
      for (const renewal of this.#renewals.splice(0)) renewal.reject(this.#notHeld());
      if (reason === undefined) break;
      if (reason !== this.#stepsDownBecause) this.#lock.forfeit();
      onLost(reason);
      if (reason === this.#stepsDownBecause) await this.#release();
    }
    await this.#release();
  }

  async #release(): Promise<void> {
    const { onReleased, onProblem } = this.#options;
    try {
      if (await this.#lock.release()) onReleased?.();
    } catch (error) {
      onProblem?.(error);
    }
  }

  async #acquire(signal: AbortSignal): Promise<void> {
    const { random } = this.#options;
    while (!signal.aborted) {
      this.#isNudged = false;
      if (await this.#try(this.#attemptTimeout(), signal)) return;
      if (this.#isNudged) continue;
      const pause = milliseconds(this.#retryPeriod * (1 + random.fraction() * 1.2));
      await this.#pause(pause, signal);
    }
  }

  /** Pauses; ends early when the signal is aborted, or by `#endPause`. */
  async #pause(pause: Milliseconds, signal: AbortSignal): Promise<void> {
    const { controller, unlink } = linkedController(signal);
    this.#endPause = () => controller.abort();
    await sleep(this.#options.clock, pause, controller.signal).catch(() => {});
    this.#endPause = undefined;
    unlink();
  }

  /** Renews the Lease. Returns why it was lost, or undefined when the signal was aborted. */
  async #hold(signal: AbortSignal): Promise<string | undefined> {
    const { identity } = this.#options;
    const remaining = (): number => this.#renewDeadline - this.#lock.sinceProof;
    for (;;) {
      const pause = milliseconds(Math.max(0, Math.min(this.#retryPeriod, remaining())));
      if (this.#renewals.length === 0) await this.#pause(pause, signal);
      if (signal.aborted) return undefined;
      if (this.#stepsDownBecause !== undefined) return this.#stepsDownBecause;
      const timeout = milliseconds(Math.min(this.#attemptTimeout(), remaining()));
      if (timeout > 0 && (await this.#tryToRenew(timeout, signal))) continue;
      if (signal.aborted) return undefined;
      if (this.#lock.isRestored) {
        return `the Lease ${this.#lock.key} is older than this replica wrote it, so the API server was restored from a backup. Everything is listed again.`;
      }
      if (this.holder !== identity) {
        return `the Lease ${this.#lock.key} is now held by ${JSON.stringify(this.holder ?? "")}.`;
      }
      if (remaining() <= 0) {
        return `the Lease ${this.#lock.key} was not renewed within ${formatDuration(this.#renewDeadline)}.`;
      }
    }
  }

  /** Resolves only the callers that waited before the attempt began, because it writes their values. */
  async #tryToRenew(timeout: Milliseconds, signal: AbortSignal): Promise<boolean> {
    const renewals = this.#renewals.splice(0);
    const isRenewed = await this.#try(timeout, signal);
    for (const { resolve, reject } of renewals) {
      if (isRenewed) resolve();
      else reject(this.#notRenewed());
    }
    return isRenewed;
  }

  #notHeld(): KubeError {
    return new KubeError("fenced", `This replica does not hold the Lease ${this.#lock.key}.`, this.#facts);
  }

  #notRenewed(): KubeError {
    const cause = this.#failure;
    const kind = isKubeError(cause) ? cause.kind : "timeout";
    const why = cause === undefined ? "another client changed it" : messageOf(cause);
    return new KubeError(kind, `The Lease ${this.#lock.key} could not be renewed: ${why}`, this.#facts);
  }

  get #facts(): KubeErrorFacts {
    return { operation: "update leases", object: this.#lock.key };
  }

  #attemptTimeout(): Milliseconds {
    return attemptTimeout(this.#renewDeadline);
  }

  /** Makes one attempt with a timeout; failures are reported and return false. */
  async #try(timeout: Milliseconds, signal: AbortSignal): Promise<boolean> {
    const { controller, unlink } = linkedController(signal);
    this.#failure = undefined;
    const cancel = this.#options.clock.after(timeout, () => {
      const message = `An attempt to acquire or renew the Lease ${this.#lock.key} timed out after ${formatDuration(timeout)}.`;
      controller.abort(new DOMException(message, "TimeoutError"));
    });
    try {
      return await abortable(this.#lock.tryHold(controller.signal), controller.signal);
    } catch (error) {
      this.#failure = error;
      if (!signal.aborted) this.#options.onProblem?.(error);
      return false;
    } finally {
      // A later response is ignored.
      controller.abort(attemptEnded);
      cancel();
      unlink();
    }
  }
}
