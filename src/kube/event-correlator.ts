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

export interface Correlated {
  /** Occurrences with one key are one event that is counted up. */
  readonly key: string;
  readonly occurrence: Occurrence;
  readonly count: number;
  /** Wall time. */
  readonly first: number;
  readonly last: number;
}

const capacity = 4096;
const burst = 25;
const refillEvery = seconds(300);
const distinctMessages = 10;
const longestGap = minutes(10);

const join = (...parts: readonly (string | undefined)[]): string => parts.join("\0");

const objectOf = ({ component, object }: Occurrence): string =>
  join(component, object.kind, object.namespace, object.name, object.uid, object.apiVersion);

export interface EventCorrelator {
  /** undefined: cut off by the spam filter. */
  correlate(occurrence: Occurrence): Correlated | undefined;
}

export const createEventCorrelator = (clock: Clock): EventCorrelator => {
  const buckets = new Recent<{ tokens: number; at: number }>(capacity);
  const groups = new Recent<{ readonly messages: Set<string>; last: number }>(capacity);
  const counts = new Recent<{ count: number; readonly first: number }>(capacity);

  const passes = (occurrence: Occurrence): boolean => {
    const key = join(objectOf(occurrence), occurrence.type);
    const now = clock.monotonic();
    const bucket = buckets.get(key) ?? { tokens: burst, at: now };
    bucket.tokens = Math.min(burst, bucket.tokens + (now - bucket.at) / refillEvery);
    bucket.at = now;
    const isAllowed = bucket.tokens >= 1;
    if (isAllowed) bucket.tokens -= 1;
    buckets.set(key, bucket);
    return isAllowed;
  };

  const aggregate = (occurrence: Occurrence): { readonly key: string; readonly message: string } => {
    const groupKey = join(objectOf(occurrence), occurrence.type, occurrence.reason);
    const now = clock.monotonic();
    const known = groups.get(groupKey);
    const group =
      known === undefined || now - known.last > longestGap
        ? { messages: new Set<string>(), last: now }
        : known;
    group.last = now;
    group.messages.add(occurrence.message);
    groups.set(groupKey, group);
    if (group.messages.size < distinctMessages) {
      return { key: join(groupKey, occurrence.message), message: occurrence.message };
    }
    // Kept one short of the limit, so that the next one counts too and the set does not grow.
    for (const oldest of group.messages) {
      group.messages.delete(oldest);
      break;
    }
    return { key: groupKey, message: `(combined from similar events): ${occurrence.message}` };
  };

  return {
    correlate: (occurrence) => {
      const { key, message } = aggregate(occurrence);
      const last = clock.now();
      const counted = counts.get(key) ?? { count: 0, first: last };
      counted.count++;
      counts.set(key, counted);
      if (!passes(occurrence)) return undefined;
      return {
        key,
        occurrence: { ...occurrence, message },
        count: counted.count,
        first: counted.first,
        last,
      };
    },
  };
};
