// Decides which occurrences become events and which increment the count of an earlier event, as client-go does: equal
// messages are counted, many different messages are combined, and floods about one object are dropped. Writes nothing.

import { minutes, seconds } from "../../core/brand.ts";
import type { Clock } from "../../platform/clock.ts";
import type { ObjectReference } from "../objects.ts";

export interface Occurrence {
  readonly component: string;
  readonly object: ObjectReference;
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
}

/**
 * Occurrences that the API server stores as one event with a count. Kept small, because thousands of Nodes have a series each.
 */
export interface Series {
  readonly message: string;
  count: number;
  /** Wall-clock time. */
  first: number;
  /** The number of consecutive failed writes. */
  failures?: number;
  /** The count of the stored event before this process, known after the first successful write. */
  earlier?: number | undefined;
}

export interface Correlated {
  readonly series: Series;
  readonly occurrence: Occurrence;
  /** True if several messages share this series. The message then does not identify it. */
  readonly isCombined: boolean;
  readonly count: number;
  /** Wall-clock time. */
  readonly last: number;
}

interface OwnSeries extends Series {
  /** Counts towards the limit of different messages. */
  isDistinct: boolean;
}

interface Group {
  readonly type: Occurrence["type"];
  readonly reason: string;
  last: number;
  /** Series by message, oldest first; usually only one. */
  series: OwnSeries | OwnSeries[];
  combined?: Series;
}

interface Bucket {
  tokens: number;
  at: number;
}

interface Subject {
  groups: Group | Group[];
  normal?: Bucket;
  warning?: Bucket;
}

/** A single item is stored without a list, to save memory. */
function listed<T extends object>(some: T | T[] | undefined): readonly T[] {
  return some === undefined ? [] : Array.isArray(some) ? some : [some];
}

const capacity = 4096;
const burst = 25;
const refillInterval = seconds(300);
const maxDistinct = 10;
/** The maximum number of messages per reason with their own count. */
const maxSeries = 32;
const maxGap = minutes(10);

export class EventCorrelator {
  readonly #clock: Clock;
  readonly #subjects = new LruMap<Subject>(capacity);

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Undefined when the spam filter drops the occurrence. */
  correlate(occurrence: Occurrence): Correlated | undefined {
    const { subject, group } = this.#groupOf(occurrence);
    const series = this.#seriesOf(group, occurrence.message);
    series.count += 1;
    if (!this.#takeToken(subject, occurrence.type)) return undefined;
    const isCombined = series === group.combined;
    const message = isCombined ? `(combined from similar events): ${occurrence.message}` : occurrence.message;
    return {
      series,
      occurrence: isCombined ? { ...occurrence, message } : occurrence,
      isCombined,
      count: series.count,
      last: this.#clock.now(),
    };
  }

  /** The group of this occurrence, created if necessary. */
  #groupOf(occurrence: Occurrence): { readonly subject: Subject; readonly group: Group } {
    const { component, object, type, reason } = occurrence;
    const { kind, namespace, name, uid, apiVersion } = object;
    const key = [component, kind, namespace, name, uid, apiVersion].join("\0");
    const now = this.#clock.monotonic();
    let subject = this.#subjects.get(key);
    const known = listed(subject?.groups).find((group) => group.type === type && group.reason === reason);
    const group: Group = known ?? { type, reason, last: now, series: [] };
    if (subject === undefined) {
      subject = { groups: group };
      this.#subjects.set(key, subject);
    } else if (known === undefined) subject.groups = [...listed(subject.groups), group];
    // After a pause, different messages are counted from zero again; the counts of events continue.
    if (now - group.last > maxGap) for (const series of listed(group.series)) series.isDistinct = false;
    group.last = now;
    return { subject, group };
  }

  /** The spam filter: a token bucket per object and type. */
  #takeToken(subject: Subject, type: Occurrence["type"]): boolean {
    const now = this.#clock.monotonic();
    const kind = type === "Normal" ? "normal" : "warning";
    subject[kind] ??= { tokens: burst, at: now };
    const bucket = subject[kind];
    bucket.tokens = Math.min(burst, bucket.tokens + (now - bucket.at) / refillInterval);
    bucket.at = now;
    if (bucket.tokens < 1) return false;
    bucket.tokens -= 1;
    return true;
  }

  /** The series of an occurrence: a separate series, or the combined series if there are too many different messages. */
  #seriesOf(group: Group, message: string): Series {
    const all = listed(group.series);
    const known = all.find((series) => series.message === message);
    const wasDistinct = known?.isDistinct === true;
    if (wasDistinct && all.length === 1) return known;
    const own = known ?? { message, count: 0, first: this.#clock.now(), isDistinct: true };
    own.isDistinct = true;
    const kept = wasDistinct ? [...all] : [...all.filter((series) => series !== own), own];
    if (kept.length > maxSeries) kept.shift();
    group.series = kept.length === 1 ? own : kept;
    const distinct = kept.filter(({ isDistinct }) => isDistinct);
    const [oldest] = distinct;
    if (distinct.length < maxDistinct || oldest === undefined) return own;
    // One below the limit, so that the next different message reaches it again.
    oldest.isDistinct = false;
    group.combined ??= { message, count: 0, first: this.#clock.now() };
    return group.combined;
  }
}

/** A map with a capacity: when it is full, the least recently used entry is evicted. */
class LruMap<V> {
  readonly #entries = new Map<string, V>();
  readonly #capacity: number;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: string): V | undefined {
    const value = this.#entries.get(key);
    if (value !== undefined) this.set(key, value);
    return value;
  }

  set(key: string, value: V): void {
    this.#entries.delete(key);
    this.#entries.set(key, value);
    if (this.#entries.size <= this.#capacity) return;
    for (const oldest of this.#entries.keys()) {
      this.#entries.delete(oldest);
      return;
    }
  }
}
