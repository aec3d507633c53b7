// Publishes events: correlates, queues and writes them with lower priority than state, and retries while the API server is
// unreachable. Callers never wait for an event, and every lost event is counted.

import { createHash } from "node:crypto";
import { type Milliseconds, milliseconds, seconds } from "../../core/brand.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Random } from "../../platform/random.ts";
import { abortable } from "../../runtime/abortable.ts";
import type { KubeApi } from "../client/api.ts";
import { isKubeError, KubeError } from "../errors/kube-error.ts";
import { type Event, type ObjectKey, toTime } from "../objects.ts";
import { events } from "../resources.ts";
import { type Correlated, EventCorrelator, type Occurrence, type Series } from "./event-correlator.ts";

export type EventLoss = "spam" | "queue-full" | "refused" | "undeliverable";

export interface EventRecorderOptions {
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly random: Random;
  readonly capacity?: number;
  readonly maxInFlight?: number;
  readonly onLost?: (reason: EventLoss, occurrence: Occurrence, error?: unknown) => void;
}

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
  // The wall clock was set forward, so that the Lease may have expired, until the next renewal.
  "fenced",
] as const;

export class EventRecorder {
  readonly #options: EventRecorderOptions;
  readonly #api: KubeApi;
  readonly #correlator: EventCorrelator;
  /** Occurrences of one series that are waiting become one write. */
  readonly #queue = new Map<Series, Correlated>();
  readonly #writing = new Set<Series>();
  #delayed = 0;
  #signal: AbortSignal | undefined;
  #idle: (() => void)[] = [];

  constructor(options: EventRecorderOptions) {
    this.#options = options;
    this.#api = options.api.as({ priority: "event" });
    this.#correlator = new EventCorrelator(options.clock);
  }

  /** Queued, waiting for a retry, or being written. */
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
    const signal = this.#signal;
    if (signal === undefined || signal.aborted) return;
    for (const [series, event] of this.#queue) {
      if (this.#writing.size >= (this.#options.maxInFlight ?? 32)) return;
      // A second write needs the result of the first one.
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

// Writes one series of an event to the API server. Its name follows from what it says, so the same problem stays one event with
// a count when the process restarts, reloads or hands over leadership.

const maxMessage = 1024;

/** Begins like the names of the Go managers, which end in a time instead. */
function keyOfEvent({ occurrence, isCombined }: Correlated): Required<ObjectKey> {
  const { component, object, type, reason, message } = occurrence;
  const identity = [component, object.kind, object.uid, type, reason, isCombined ? "combined" : message];
  const hash = createHash("sha256").update(identity.join("\0")).digest("hex").slice(0, 16);
  const namespace = object.namespace === undefined || object.namespace === "" ? "default" : object.namespace;
  return { name: `${object.name}.${hash}`, namespace };
}

/** Creates the event, or updates its count. */
async function writeEvent(api: KubeApi, event: Correlated, signal: AbortSignal): Promise<void> {
  const { series } = event;
  const key = keyOfEvent(event);
  if (series.earlier === undefined) {
    if (await create(api, key, event, signal)) {
      series.earlier = 0;
      return;
    }
  }
  try {
    series.earlier ??= await earlierCount(api, key, event, signal);
    await updateCount(api, key, event, signal);
  } catch (error) {
    // The server deletes events after an hour; the next one is a new one.
    if (!isKubeError(error, "not-found")) throw error;
    series.earlier = undefined;
    await create(api, key, event, signal);
    series.earlier = 0;
  }
}

/** Returns false if the event exists. */
async function create(
  api: KubeApi,
  metadata: Required<ObjectKey>,
  { series, occurrence, count, last }: Correlated,
  signal: AbortSignal,
): Promise<boolean> {
  const { component, object, type, reason, message } = occurrence;
  const draft = {
    metadata,
    involvedObject: object,
    type,
    reason,
    message: message.slice(0, maxMessage),
    count,
    firstTimestamp: toTime(series.first),
    lastTimestamp: toTime(last),
    source: { component },
    reportingComponent: component,
  };
  try {
    await api.create(events, draft, signal);
    return true;
  } catch (error) {
    if (!isKubeError(error, "already-exists")) throw error;
    return false;
  }
}

/**
 * The count that an earlier process has written. The manager may patch events but not read them, and an empty patch returns
 * the event without changing it.
 */
async function earlierCount(
  api: KubeApi,
  key: Required<ObjectKey>,
  { series }: Correlated,
  signal: AbortSignal,
): Promise<number> {
  const existing: Event = await patch(api, key, {}, signal);
  // The response to the create was lost.
  const isOwn = series.failures !== undefined && existing.firstTimestamp === toTime(series.first);
  return isOwn ? 0 : (existing.count ?? 0);
}

function updateCount(
  api: KubeApi,
  key: Required<ObjectKey>,
  { series, occurrence, count, last }: Correlated,
  signal: AbortSignal,
): Promise<Event> {
  const message = occurrence.message.slice(0, maxMessage);
  const total = (series.earlier ?? 0) + count;
  return patch(api, key, { count: total, lastTimestamp: toTime(last), message }, signal);
}

function patch(api: KubeApi, key: ObjectKey, body: object, signal: AbortSignal): Promise<Event> {
  return api.patch(events, key, { contentType: "application/strategic-merge-patch+json", body }, signal);
}
