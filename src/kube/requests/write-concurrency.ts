// Limits concurrent writes and adapts the limit: it grows while the latency stays low, halves after a 429 or a 5xx, and is zero
// until a Retry-After has passed. `TokenBucket` limits the rate.

import { type Milliseconds, milliseconds, minutes, seconds } from "../../core/brand.ts";
import { defined } from "../../core/defined.ts";
import type { Clock } from "../../platform/clock.ts";
import { isKubeError } from "../errors/kube-error.ts";
import { WaitQueue } from "./request-limit.ts";

/** Writes of state precede events, which wait while many writes of state are in flight. */
export type WritePriority = "state" | "event";

/** The latency of a success can raise the limit, "overloaded" lowers it, and "unknown" has no effect. */
export type WriteOutcome =
  | { readonly kind: "success"; readonly latency: Milliseconds }
  | { readonly kind: "overloaded"; readonly retryAfter?: Milliseconds }
  | { readonly kind: "unknown" };

/** The information about the server's load in a failed write. */
export function writeOutcomeOf(error: unknown): WriteOutcome {
  if (!isKubeError(error, "throttled", "server", "timeout")) return { kind: "unknown" };
  return { kind: "overloaded", ...defined({ retryAfter: error.retryAfter }) };
}

/** An incorrect Retry-After from a proxy must not stop all writes for an hour. */
const maxClosed = minutes(1);
/** The limit grows while the mean latency is below this multiple of the best latency. */
const growBelow = 1.25;
/** Above this multiple, more writes in flight only add latency. */
const shrinkAbove = 1.6;
/** Above this share of the limit, writes of state delay events, because each event costs the server as much as a Node. */
const busyShare = 1 / 4;
/** Events that wait longer than this are written one at a time, before writes of state. */
const maxEventHold = seconds(10);

export class WriteConcurrency {
  readonly #clock: Clock;
  readonly #limits: { readonly start: number; readonly min: number; readonly max: number };
  readonly #lines: Record<WritePriority, WaitQueue> = {
    state: new WaitQueue(),
    event: new WaitQueue(),
  };
  #size: number;
  #inFlight = 0;
  #eventsInFlight = 0;
  /** When events began to wait for writes of state. */
  #eventsHeldSince: number | undefined;
  #cancelHold: (() => void) | undefined;
  #closedUntil = 0;
  #cancelReopening: (() => void) | undefined;
  /** The responses since the last change of the limit. They are counted only while the limit is reached. */
  #epoch = { answers: 0, latencySum: 0 };
  #bestMean = Number.POSITIVE_INFINITY;
  #shrunkAt = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, { start = 16, min = 1, max = 64 } = {}) {
    this.#clock = clock;
    this.#limits = { start, min, max };
    this.#size = start;
  }

  get size(): number {
    return Math.floor(this.#size);
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  get waiting(): number {
    return this.#lines.state.length + this.#lines.event.length;
  }

  /**
   * Resolves with a function that reports the outcome and frees the place. The function must be called; further calls have no
   * effect.
   */
  async enter(priority: WritePriority, signal: AbortSignal): Promise<(outcome: WriteOutcome) => void> {
    signal.throwIfAborted();
    const place = this.#lines[priority].join(signal);
    this.#admit();
    await place;
    const startedAt = this.#clock.monotonic();
    let isOpen = true;
    return (outcome) => {
      if (!isOpen) return;
      isOpen = false;
      if (priority === "event") this.#eventsInFlight--;
      this.#leave(outcome, startedAt);
    };
  }

  #leave(outcome: WriteOutcome, startedAt: number): void {
    const wasFull = this.#inFlight >= this.size;
    this.#inFlight--;
    if (outcome.kind === "success" && wasFull) this.#grow(outcome.latency);
    if (outcome.kind === "overloaded") this.#shrink(startedAt, outcome.retryAfter);
    this.#admit();
  }

  #hasPlace(): boolean {
    return this.#clock.monotonic() >= this.#closedUntil && this.#inFlight < this.size;
  }

  #admit(): void {
    while (this.#hasPlace()) {
      const isOverdue = this.#isEventOverdue();
      if (isOverdue || !this.#lines.state.next()) {
        if (!isOverdue && !this.#mayWriteEvents()) break;
        if (!this.#lines.event.next()) break;
        this.#eventsInFlight++;
        if (!isOverdue) this.#endHold();
      }
      this.#inFlight++;
    }
    if (this.#lines.event.length === 0) this.#endHold();
    else this.#beginHold();
  }

  #mayWriteEvents(): boolean {
    return this.#inFlight - this.#eventsInFlight < this.size * busyShare;
  }

  #isEventOverdue(): boolean {
    if (this.#eventsHeldSince === undefined || this.#eventsInFlight > 0) return false;
    // The events that waited may have been aborted.
    if (this.#lines.event.length === 0) return false;
    return this.#clock.monotonic() - this.#eventsHeldSince >= maxEventHold;
  }

  #beginHold(): void {
    if (this.#eventsHeldSince !== undefined) return;
    this.#eventsHeldSince = this.#clock.monotonic();
    this.#cancelHold = this.#clock.after(maxEventHold, () => this.#admit());
  }

  #endHold(): void {
    this.#eventsHeldSince = undefined;
    this.#cancelHold?.();
  }

  #grow(latency: Milliseconds): void {
    const { start, max } = this.#limits;
    const epoch = this.#epoch;
    epoch.answers++;
    epoch.latencySum += latency;
    if (epoch.answers < this.#size) return;
    const mean = Math.max(0.5, epoch.latencySum / epoch.answers);
    this.#epoch = { answers: 0, latencySum: 0 };
    // The best mean rises slowly, so that a permanently slower server does not keep the limit low forever.
    this.#bestMean = Math.min(this.#bestMean * 1.002, mean);
    if (this.#size < start || mean <= this.#bestMean * growBelow) {
      this.#size = Math.min(max, this.#size + Math.max(1, this.#size / 8));
    } else if (mean > this.#bestMean * shrinkAbove && this.#size > start) {
      this.#size = Math.max(start, this.#size * 0.9);
    }
  }

  #shrink(startedAt: number, retryAfter: Milliseconds | undefined): void {
    const now = this.#clock.monotonic();
    // Rejections of one burst count once: only a request sent after the last decrease brings new information.
    if (startedAt >= this.#shrunkAt) {
      this.#size = Math.max(this.#limits.min, this.#size / 2);
      this.#shrunkAt = now;
      this.#epoch = { answers: 0, latencySum: 0 };
    }
    if (retryAfter === undefined || retryAfter <= 0) return;
    this.#closedUntil = Math.max(this.#closedUntil, now + Math.min(retryAfter, maxClosed));
    this.#cancelReopening?.();
    this.#cancelReopening = this.#clock.after(milliseconds(this.#closedUntil - now), () => this.#admit());
  }
}
