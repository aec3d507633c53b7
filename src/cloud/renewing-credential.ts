// A credential that renews itself: one fetch at a time, shared by all who wait, made again before it ends or when it
// was refused. The provider only says how one is fetched.

import { milliseconds, seconds } from "../core/brand.ts";
import type { Secret } from "../core/secret.ts";
import type { Call } from "../provider/call.ts";
import type { FetchedCredential } from "../provider/provider.ts";
import type { Clock } from "../seams/clock.ts";

export interface RenewingCredential {
  current(call: Call): Promise<Secret>;
  /** It was refused, or what it is made from has changed: the next caller fetches. */
  forget(): void;
}

/** Renewed this long before it ends, or at four fifths of its life, whichever is later in life. */
const margin = seconds(30);

export const renewingCredential = (
  clock: Clock,
  fetchOne: (call: Call) => Promise<FetchedCredential>,
): RenewingCredential => {
  let held: { readonly value: Secret; readonly renewAt: number } | undefined;
  let fetching: Promise<Secret> | undefined;
  let generation = 0;

  const renew = async (call: Call, started: number): Promise<Secret> => {
    const { value, goodFor } = await fetchOne(call);
    const life = goodFor === undefined ? Number.POSITIVE_INFINITY : Math.max(goodFor * 0.8, goodFor - margin);
    if (generation === started) held = { value, renewAt: clock.monotonic() + milliseconds(life) };
    return value;
  };

  return {
    current: (call) => {
      if (held !== undefined && clock.monotonic() < held.renewAt) return Promise.resolve(held.value);
      fetching ??= renew(call, generation).finally(() => {
        fetching = undefined;
      });
      return fetching;
    },
    forget: () => {
      generation += 1;
      held = undefined;
    },
  };
};
