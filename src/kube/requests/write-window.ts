// How many writes may be under way at once: more while the server answers as quickly as it did with fewer, half as many
// after a 429 or a 5xx, none until a Retry-After is over. It limits concurrency only; a hard rate is the token bucket's.

import { type Milliseconds, milliseconds, minutes } from "../../core/brand.ts";
import type { Clock } from "../../platform/clock.ts";
import { isKubeError } from "../errors/kube-error.ts";
import { WaitingLine } from "./waiting-line.ts";

/** State writes go first; events fill what is left. */
export type WritePriority = "state" | "event";

/** What the server made of a write. "fine" counts its latency; "overloaded" closes; "unknown" says nothing about load. */
export type WriteOutcome =
  | { readonly kind: "fine"; readonly latency: Milliseconds }
  | { readonly kind: "overloaded"; readonly retryAfter?: Milliseconds }
  | { readonly kind: "unknown" };

/** What a failed write says about the server's load. */
export function writeOutcomeOf(error: unknown): WriteOutcome {
  if (!isKubeError(error, "throttled", "server", "timeout")) return { kind: "unknown" };
  return { kind: "overloaded", ...(error.retryAfter !== undefined && { retryAfter: error.retryAfter }) };
}

export interface WriteWindow {
  readonly size: number;
  readonly inFlight: number;
  readonly waiting: number;
  /** Resolves with the function that reports the outcome and makes place; it must be called, once. */
  enter(priority: WritePriority, signal: AbortSignal): Promise<(outcome: WriteOutcome) => void>;
}

/** What a proxy before the server says must not stop all writes for an hour. */
const maxBackoff = minutes(1);
/** More in flight that makes each this much slower than the best epoch only adds latency. */
const tolerated = 1.25;
const tooSlow = 1.6;

export function createWriteWindow(clock: Clock, { start = 16, least = 1, most = 64 } = {}): WriteWindow {
  const lines: Record<WritePriority, WaitingLine> = { state: new WaitingLine(), event: new WaitingLine() };
  let size = start;
  let inFlight = 0;
  let closedUntil = 0;
  let cancelReopening: (() => void) | undefined;
  // An epoch is one window's worth of answers while the window was full.
  let answered = 0;
  let latencySum = 0;
  let best = Number.POSITIVE_INFINITY;
  let shrunkAt = Number.NEGATIVE_INFINITY;

  const isClosed = (): boolean => clock.monotonic() < closedUntil;
  const admit = (): void => {
    while (!isClosed() && inFlight < Math.floor(size)) {
      const line = lines.state.length > 0 ? lines.state : lines.event;
      if (line.length === 0) return;
      inFlight++;
      line.next();
    }
  };

  const grow = (latency: Milliseconds, wasFull: boolean): void => {
    if (!wasFull) return;
    answered++;
    latencySum += latency;
    if (answered < size) return;
    const mean = Math.max(0.5, latencySum / answered);
    answered = 0;
    latencySum = 0;
    // The best is forgotten slowly: a server that became slower for good must not keep us small for ever.
    best = Math.min(best * 1.002, mean);
    if (size < start || mean <= best * tolerated) size = Math.min(most, size + Math.max(1, size / 8));
    else if (mean > best * tooSlow && size > start) size = Math.max(start, size * 0.9);
  };

  const shrink = (startedAt: number, retryAfter: Milliseconds | undefined): void => {
    // Refusals of one crowded moment count once: only a request sent after the last shrinking says something new.
    if (startedAt >= shrunkAt) {
      size = Math.max(least, size / 2);
      shrunkAt = clock.monotonic();
      answered = 0;
      latencySum = 0;
    }
    if (retryAfter === undefined || retryAfter <= 0) return;
    closedUntil = Math.max(closedUntil, clock.monotonic() + Math.min(retryAfter, maxBackoff));
    cancelReopening?.();
    cancelReopening = clock.after(milliseconds(closedUntil - clock.monotonic()), admit);
  };

  return {
    get size() {
      return Math.floor(size);
    },
    get inFlight() {
      return inFlight;
    },
    get waiting() {
      return lines.state.length + lines.event.length;
    },
    enter: async (priority, signal) => {
      signal.throwIfAborted();
      const isFree = !isClosed() && inFlight < Math.floor(size) && lines[priority].length === 0;
      if (isFree && lines.state.length === 0) inFlight++;
      else await lines[priority].join(signal);
      const startedAt = clock.monotonic();
      let open = true;
      return (outcome) => {
        if (!open) return;
        open = false;
        const wasFull = inFlight >= Math.floor(size);
        inFlight--;
        if (outcome.kind === "fine") grow(outcome.latency, wasFull);
        if (outcome.kind === "overloaded") shrink(startedAt, outcome.retryAfter);
        admit();
      };
    },
  };
}
