// Records events: correlates, queues and writes them with lower priority than state, and retries while the API server is
// unreachable. Callers never wait for an event, and every lost event is counted.

import { type Milliseconds, milliseconds, seconds } from "../../core/brand.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Random } from "../../platform/random.ts";
import { abortable } from "../../runtime/abortable.ts";
import type { KubeApi } from "../client/api.ts";
import { isKubeError, KubeError } from "../errors/kube-error.ts";
import { type Correlated, EventCorrelator, type Occurrence, type Series } from "./event-correlator.ts";
import { writeEvent } from "./write-event.ts";

export type EventLoss = "spam" | "queue-full" | "refused" | "undeliverable";

export interface EventRecorderOptions {
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly random: Random;
  readonly capacity?: number;
  readonly maxInFlight?: number;
  readonly onLost?: (reason: EventLoss, occurrence: Occurrence, error?: unknown) => void;
}

/**
 * The first event of a burst waits, so that the reported change is written first. With 200 Services, addresses then arrive a
 * fifth earlier.
 */
const collectFor = seconds(1);
const maxAttempts = 12;
const retryInterval = seconds(10);
const temporary = [
  "throttled",
  "timeout",
  "unreachable",
  "tls",
  "server",
  "unauthorized",
  "conflict",
  // The wall clock was set forward, so that the Lease may have expired; writes wait for the next renewal.
  "fenced",
] as const;

export class EventRecorder {
  readonly #options: EventRecorderOptions;
  readonly #api: KubeApi;
  readonly #correlator: EventCorrelator;
  /** Waiting occurrences of one series become one write. */
  readonly #queue = new Map<Series, Correlated>();
  readonly #writing = new Set<Series>();
  #isCollecting = false;
  #delayed = 0;
  #signal: AbortSignal | undefined;
  #idle: (() => void)[] = [];

  constructor(options: EventRecorderOptions) {
    this.#options = options;
    this.#api = options.api.as({ priority: "event" });
    this.#correlator = new EventCorrelator(options.clock);
  }

  /** The number of events that are queued, waiting for a retry, or being written. */
  get pending(): number {
    return this.#queue.size + this.#writing.size + this.#delayed;
  }

  record(occurrence: Occurrence): void {
    const event = this.#correlator.correlate(occurrence);
    if (event === undefined) {
      this.#lose("spam", occurrence);
      return;
    }
    this.#enqueue(event);
    if (this.#isCollecting || this.#writing.size > 0) return;
    this.#isCollecting = true;
    this.#options.clock.after(collectFor, () => this.#pump());
  }

  /** Writes pending events without delay, and resolves when none is pending. */
  whenIdle(signal: AbortSignal): Promise<void> {
    this.#pump();
    const idle = new Promise<void>((resolve) => {
      if (this.pending === 0) resolve();
      else this.#idle.push(resolve);
    });
    return abortable(idle, signal);
  }

  /** Writes until aborted. Pending events stay queued for a later run. */
  async run(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    this.#signal = signal;
    this.#pump();
    await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
    this.#signal = undefined;
  }

  #enqueue(event: Correlated): void {
    const { series } = event;
    const queued = this.#queue.get(series);
    if (queued !== undefined && queued.count >= event.count) return;
    if (queued === undefined && this.#queue.size >= (this.#options.capacity ?? 50_000)) {
      this.#lose("queue-full", event.occurrence);
      return;
    }
    this.#queue.set(series, event);
  }

  #pump(): void {
    this.#isCollecting = false;
    const signal = this.#signal;
    if (signal === undefined || signal.aborted) return;
    for (const [series, event] of this.#queue) {
      if (this.#writing.size >= (this.#options.maxInFlight ?? 32)) return;
      // A second write needs the result of the first.
      if (this.#writing.has(series)) continue;
      this.#queue.delete(series);
      this.#writing.add(series);
      // Never rejects: every failure leads to a retry or is counted as a lost event.
      void this.#deliver(event, signal).finally(() => {
        this.#writing.delete(series);
        this.#pump();
        this.#notifyIdle();
      });
    }
  }

  #notifyIdle(): void {
    if (this.pending > 0) return;
    const waiting = this.#idle;
    this.#idle = [];
    for (const resolve of waiting) resolve();
  }

  async #deliver(event: Correlated, signal: AbortSignal): Promise<void> {
    const { series, occurrence } = event;
    try {
      await writeEvent(this.#api, event, signal);
      delete series.failures;
    } catch (error) {
      if (signal.aborted) {
        this.#enqueue(event);
        return;
      }
      const isRefused = error instanceof KubeError && !isKubeError(error, ...temporary);
      series.failures = (series.failures ?? 0) + 1;
      const { failures } = series;
      if (isRefused || failures >= maxAttempts) {
        this.#lose(isRefused ? "refused" : "undeliverable", occurrence, error);
        return;
      }
      const { clock, random } = this.#options;
      const delay: Milliseconds =
        failures === 1 ? milliseconds(random.fraction() * retryInterval) : retryInterval;
      this.#delayed++;
      clock.after(delay, () => {
        this.#delayed--;
        this.#enqueue(event);
        this.#pump();
      });
    }
  }

  #lose(reason: EventLoss, occurrence: Occurrence, error?: unknown): void {
    this.#options.onLost?.(reason, occurrence, error);
  }
}
