// Publishes events: queued, correlated, written behind all state writes, tried again while the server cannot be reached.
// Nothing waits for an event, and none is lost without being counted.

import { type Milliseconds, milliseconds, seconds } from "../../core/brand.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Random } from "../../platform/random.ts";
import { abortable } from "../../runtime/abortable.ts";
import type { KubeApi } from "../client/api.ts";
import { isKubeError, KubeError } from "../errors/kube-error.ts";
import { toTime } from "../objects.ts";
import { events } from "../resources.ts";
import { type Correlated, createEventCorrelator, type Occurrence, type Series } from "./event-correlator.ts";

export type EventLoss = "spam" | "queue-full" | "refused" | "undeliverable";

export interface EventRecorderOptions {
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly random: Random;
  readonly capacity?: number;
  readonly atOnce?: number;
  readonly onLost?: (why: EventLoss, occurrence: Occurrence, error?: unknown) => void;
}

const mostTries = 12;
const retryEvery = seconds(10);
const longestMessage = 1024;
const temporary = [
  "throttled",
  "timeout",
  "unreachable",
  "tls",
  "server",
  "unauthorized",
  "conflict",
] as const;

export class EventRecorder {
  readonly #options: EventRecorderOptions;
  readonly #api: KubeApi;
  readonly #correlator;
  /** Waiting: what happens again before it is written is one write. */
  readonly #queue = new Map<Series, Correlated>();
  readonly #busy = new Set<Series>();
  #delayed = 0;
  #serial = 0;
  #signal: AbortSignal | undefined;
  #idle: (() => void)[] = [];

  constructor(options: EventRecorderOptions) {
    this.#options = options;
    this.#api = options.api.as({ priority: "event" });
    this.#correlator = createEventCorrelator(options.clock);
  }

  /** Queued, waiting for another try, or being written. */
  get pending(): number {
    return this.#queue.size + this.#busy.size + this.#delayed;
  }

  record(occurrence: Occurrence): void {
    const event = this.#correlator.correlate(occurrence);
    if (event === undefined) {
      this.#lose("spam", occurrence);
      return;
    }
    this.#enqueue(event);
    this.#pump();
  }

  /** Resolves when nothing is pending. */
  whenIdle(signal: AbortSignal): Promise<void> {
    const idle = new Promise<void>((resolve) => {
      if (this.pending === 0) resolve();
      else this.#idle.push(resolve);
    });
    return abortable(idle, signal);
  }

  /** Writes until aborted. What is pending then stays queued, and a later run goes on with it. */
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
    const signal = this.#signal;
    if (signal === undefined || signal.aborted) return;
    for (const [series, event] of this.#queue) {
      if (this.#busy.size >= (this.#options.atOnce ?? 32)) return;
      // The name that a second write needs is known only after the first.
      if (this.#busy.has(series)) continue;
      this.#queue.delete(series);
      this.#busy.add(series);
      // Never rejects: every failure is kept, retried or counted as lost.
      void this.#deliver(event, signal).finally(() => {
        this.#busy.delete(series);
        this.#pump();
        this.#tellIdle();
      });
    }
  }

  #tellIdle(): void {
    if (this.pending > 0) return;
    const waiting = this.#idle;
    this.#idle = [];
    for (const resolve of waiting) resolve();
  }

  async #deliver(event: Correlated, signal: AbortSignal): Promise<void> {
    const { series, occurrence } = event;
    try {
      await this.#write(event, signal);
      delete series.failures;
    } catch (error) {
      if (signal.aborted) {
        this.#enqueue(event);
        return;
      }
      const isRefused = error instanceof KubeError && !isKubeError(error, ...temporary);
      series.failures = (series.failures ?? 0) + 1;
      const { failures } = series;
      if (isRefused || failures >= mostTries) {
        this.#lose(isRefused ? "refused" : "undeliverable", occurrence, error);
        return;
      }
      const { clock, random } = this.#options;
      const delay: Milliseconds = failures === 1 ? milliseconds(random.fraction() * retryEvery) : retryEvery;
      this.#delayed++;
      clock.after(delay, () => {
        this.#delayed--;
        this.#enqueue(event);
        this.#pump();
      });
    }
  }

  async #write({ series, occurrence, count, last }: Correlated, signal: AbortSignal): Promise<void> {
    const known = series.written;
    const message = occurrence.message.slice(0, longestMessage);
    if (known !== undefined) {
      try {
        await this.#api.patch(
          events,
          known,
          {
            contentType: "application/strategic-merge-patch+json",
            body: { count, lastTimestamp: toTime(last), message },
          },
          signal,
        );
        return;
      } catch (error) {
        // Events live an hour; after that the next one is a new one.
        if (!isKubeError(error, "not-found")) throw error;
      }
    }
    const { component, object, type, reason } = occurrence;
    const namespace =
      object.namespace === undefined || object.namespace === "" ? "default" : object.namespace;
    const metadata = { name: `${object.name}.${this.#uniqueHex()}`, namespace };
    await this.#api.create(
      events,
      {
        metadata,
        involvedObject: object,
        type,
        reason,
        message,
        count,
        firstTimestamp: toTime(series.first),
        lastTimestamp: toTime(last),
        source: { component },
        reportingComponent: component,
      },
      signal,
    );
    series.written = metadata;
  }

  /** Nanoseconds in hexadecimal, as in Go; what our clock cannot tell apart, a serial number does. */
  #uniqueHex(): string {
    this.#serial = (this.#serial + 1) % 1000;
    const within = this.#serial * 1000 + Math.floor(this.#options.random.fraction() * 1000);
    return (BigInt(Math.trunc(this.#options.clock.now())) * 1_000_000n + BigInt(within)).toString(16);
  }

  #lose(why: EventLoss, occurrence: Occurrence, error?: unknown): void {
    this.#options.onLost?.(why, occurrence, error);
  }
}
