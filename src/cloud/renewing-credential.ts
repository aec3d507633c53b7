// A credential that renews itself: one fetch at a time, shared by all who wait, made again before it ends or when it
// was refused. A fetch that failed rests for all of them; the provider only says how one is fetched.

import { seconds } from "../core/brand.ts";
import { untilMoment } from "../core/moment.ts";
import type { Clock } from "../platform/clock.ts";
import type { Fetched } from "../provider/provider.ts";
import { fullBackoff } from "../runtime/backoff.ts";

export interface RenewingCredential<T> {
  current(): Promise<T>;
  /** It was refused: the next caller fetches, unless another one has done so since. Without one: whichever there is. */
  forget(refused?: T): void;
}

/** Renewed this long before it ends, or at four fifths of its life, whichever is later in life. */
const margin = seconds(30);

/** After a fetch that failed nobody tries again for this long, doubled with every further one. */
const rest = { first: seconds(1), cap: seconds(30) } as const;

/** `fetchOne` brings its own signal: one caller who gives up must not fail the others who wait for the same fetch. */
export function renewingCredential<T>(
  clock: Clock,
  fetchOne: () => Promise<Fetched<T>>,
): RenewingCredential<T> {
  let held: { readonly value: T; readonly renewAt: number } | undefined;
  let fetching: Promise<T> | undefined;
  let generation = 0;
  let failures = 0;
  /** Whoever asks while it rests is given the failure that there was. */
  let failed: { readonly error: unknown; readonly until: number } | undefined;

  const renew = async (mine: number): Promise<T> => {
    try {
      const { value, goodUntil } = await fetchOne();
      failures = 0;
      failed = undefined;
      const life = goodUntil === undefined ? Number.POSITIVE_INFINITY : untilMoment(goodUntil, clock.now());
      // What was forgotten while it was under way is not kept.
      if (mine === generation) {
        held = { value, renewAt: clock.monotonic() + Math.max(life * 0.8, life - margin) };
      }
      return value;
    } catch (error) {
      const pause = fullBackoff(failures + 1, rest);
      failures += 1;
      failed = { error, until: clock.monotonic() + pause };
      throw error;
    } finally {
      if (mine === generation) fetching = undefined;
    }
  };

  return {
    current: () => {
      if (held !== undefined && clock.monotonic() < held.renewAt) return Promise.resolve(held.value);
      if (fetching === undefined && failed !== undefined && clock.monotonic() < failed.until)
        return Promise.reject(failed.error);
      fetching ??= renew(generation);
      return fetching;
    },
    forget: (refused) => {
      // Many calls are refused together: only the first one may throw away, or each would end the fetch of the one before.
      if (refused !== undefined && held?.value !== refused) return;
      generation += 1;
      held = undefined;
      fetching = undefined;
    },
  };
}
