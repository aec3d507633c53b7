// Decides which of the things that happened become events, and which only count up an earlier one, as client-go does:
// many different messages become one, equal ones are counted, floods about one object are cut off. It writes nothing.

import { minutes, seconds } from "../core/brand.ts";
import type { Clock } from "../seams/clock.ts";
import type { ObjectReference } from "./objects.ts";
import { Recent } from "./recent.ts";

export interface Occurrence {
  readonly component: string;
  readonly object: ObjectReference;
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
}

/** Occurrences that are one event to the API server, which is counted up. Kept lean: thousands of Nodes have one each. */
export interface Series {
  readonly message: string;
  count: number;
  /** Wall time. */
  first: number;
  /** Where it was written, once it was. */
  written?: { readonly name: string; readonly namespace: string };
}

export interface Correlated {
  readonly series: Series;
  readonly occurrence: Occurrence;
  readonly count: number;
  /** Wall time. */
  readonly last: number;
}

interface Group {
  readonly type: Occurrence["type"];
  readonly reason: string;
  last: number;
  /** By message, oldest first. */
  readonly series: (Series & { counts: boolean })[];
  combined?: Series;
}

interface Subject {
  readonly groups: Group[];
  readonly buckets: Partial<Record<Occurrence["type"], { tokens: number; at: number }>>;
}

const capacity = 4096;
const burst = 25;
const refillEvery = seconds(300);
const distinctMessages = 10;
/** Messages of one reason whose counts are remembered. */
const mostSeries = 32;
const longestGap = minutes(10);

export interface EventCorrelator {
  /** undefined: cut off by the spam filter. */
  correlate(occurrence: Occurrence): Correlated | undefined;
}

export const createEventCorrelator = (clock: Clock): EventCorrelator => {
  const subjects = new Recent<Subject>(capacity);

  const subjectOf = ({ component, object }: Occurrence): Subject => {
    const { kind, namespace, name, uid, apiVersion } = object;
    const key = [component, kind, namespace, name, uid, apiVersion].join("\0");
    const known = subjects.get(key);
    if (known !== undefined) return known;
    const subject: Subject = { groups: [], buckets: {} };
    subjects.set(key, subject);
    return subject;
  };

  const passes = ({ buckets }: Subject, type: Occurrence["type"]): boolean => {
    const now = clock.monotonic();
    buckets[type] ??= { tokens: burst, at: now };
    const bucket = buckets[type];
    bucket.tokens = Math.min(burst, bucket.tokens + (now - bucket.at) / refillEvery);
    bucket.at = now;
    if (bucket.tokens < 1) return false;
    bucket.tokens -= 1;
    return true;
  };

  const groupOf = ({ groups }: Subject, { type, reason }: Occurrence): Group => {
    const now = clock.monotonic();
    let group = groups.find((each) => each.type === type && each.reason === reason);
    if (group === undefined) {
      group = { type, reason, last: now, series: [] };
      groups.push(group);
    }
    // After a silence the messages are counted anew, the events are not.
    if (now - group.last > longestGap) for (const each of group.series) each.counts = false;
    group.last = now;
    return group;
  };

  /** The event that an occurrence counts up: its own, or one for all when there are too many different ones. */
  const seriesOf = (group: Group, message: string): Series => {
    const { series } = group;
    const at = series.findIndex((each) => each.message === message);
    let own = series[at];
    if (own?.counts !== true) {
      if (own !== undefined) series.splice(at, 1);
      own = { ...(own ?? { message, count: 0, first: clock.now() }), counts: true };
      series.push(own);
    }
    const counting = series.filter(({ counts }) => counts);
    if (series.length > mostSeries) series.shift();
    const [oldest] = counting;
    if (counting.length < distinctMessages || oldest === undefined) return own;
    // Kept one short of the limit, so that the next one counts too.
    oldest.counts = false;
    group.combined ??= { message, count: 0, first: clock.now() };
    return group.combined;
  };

  return {
    correlate: (occurrence) => {
      const subject = subjectOf(occurrence);
      const group = groupOf(subject, occurrence);
      const series = seriesOf(group, occurrence.message);
      series.count += 1;
      if (!passes(subject, occurrence.type)) return undefined;
      const isCombined = series === group.combined;
      const message = isCombined
        ? `(combined from similar events): ${occurrence.message}`
        : occurrence.message;
      return {
        series,
        occurrence: isCombined ? { ...occurrence, message } : occurrence,
        count: series.count,
        last: clock.now(),
      };
    },
  };
};
