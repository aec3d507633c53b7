// Decides which of the things that happened become events, and which only count up an earlier one, as client-go does:
// many different messages become one, equal ones are counted, floods about one object are cut off. It writes nothing.

import { minutes, seconds } from "../../core/brand.ts";
import type { Clock } from "../../platform/clock.ts";
import type { ObjectReference } from "../objects.ts";
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
  /** Attempts in a row that failed to write it. */
  failures?: number;
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

interface OwnSeries extends Series {
  /** Among the different messages of late. */
  counts: boolean;
}

interface Group {
  readonly type: Occurrence["type"];
  readonly reason: string;
  last: number;
  /** By message, oldest first. Nearly always there is one. */
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

/** One thing is kept as itself, several as a list. */
function listed<T extends object>(some: T | T[] | undefined): readonly T[] {
  return some === undefined ? [] : Array.isArray(some) ? some : [some];
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

export function createEventCorrelator(clock: Clock): EventCorrelator {
  const subjects = new Recent<Subject>(capacity);

  /** The group of this occurrence, made where there is none. */
  const groupOf = (occurrence: Occurrence): { readonly subject: Subject; readonly group: Group } => {
    const { component, object, type, reason } = occurrence;
    const { kind, namespace, name, uid, apiVersion } = object;
    const key = [component, kind, namespace, name, uid, apiVersion].join("\0");
    let subject = subjects.get(key);
    const known = listed(subject?.groups).find((each) => each.type === type && each.reason === reason);
    const group: Group = known ?? { type, reason, last: clock.monotonic(), series: [] };
    if (subject === undefined) {
      subject = { groups: group };
      subjects.set(key, subject);
    } else if (known === undefined) subject.groups = [...listed(subject.groups), group];
    const now = clock.monotonic();
    // After a silence the messages are counted anew, the events are not.
    if (now - group.last > longestGap) for (const each of listed(group.series)) each.counts = false;
    group.last = now;
    return { subject, group };
  };

  const passes = (subject: Subject, type: Occurrence["type"]): boolean => {
    const now = clock.monotonic();
    const kind = type === "Normal" ? "normal" : "warning";
    subject[kind] ??= { tokens: burst, at: now };
    const bucket = subject[kind];
    bucket.tokens = Math.min(burst, bucket.tokens + (now - bucket.at) / refillEvery);
    bucket.at = now;
    if (bucket.tokens < 1) return false;
    bucket.tokens -= 1;
    return true;
  };

  /** The event that an occurrence counts up: its own, or one for all when there are too many different ones. */
  const seriesOf = (group: Group, message: string): Series => {
    const all = listed(group.series);
    const known = all.find((each) => each.message === message);
    if (known?.counts === true && all.length === 1) return known;
    const own = known ?? { message, count: 0, first: clock.now(), counts: true };
    const isLatest = known?.counts === true;
    own.counts = true;
    const kept = isLatest ? [...all] : [...all.filter((each) => each !== own), own];
    if (kept.length > mostSeries) kept.shift();
    group.series = kept.length === 1 ? own : kept;
    const counting = kept.filter(({ counts }) => counts);
    const [oldest] = counting;
    if (counting.length < distinctMessages || oldest === undefined) return own;
    // Kept one short of the limit, so that the next one counts too.
    oldest.counts = false;
    group.combined ??= { message, count: 0, first: clock.now() };
    return group.combined;
  };

  return {
    correlate: (occurrence) => {
      const { subject, group } = groupOf(occurrence);
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
}
