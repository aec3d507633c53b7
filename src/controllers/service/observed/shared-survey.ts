// What a provider's plans need to know of the cloud besides balancers, asked once for all and shared while it is young.

import { minutes } from "../../../core/brand.ts";
import type { Call } from "../../../provider/call.ts";
import { fingerprintOf } from "../desired/fingerprint.ts";
import type { Wish } from "../desired/member.ts";
import type { ServicePorts } from "../deps.ts";

const acceptsAge = minutes(1);

export const createSharedSurvey = ({ balancers, clock }: Pick<ServicePorts, "balancers" | "clock">) => {
  let held:
    | { readonly value: Promise<unknown>; readonly at: number; readonly asked: ReadonlySet<string> }
    | undefined;
  const textOf = (wish: Wish): string => fingerprintOf([wish]).rest;
  return {
    /** One that was made without these wishes does not know what they are about. */
    current: (mine: readonly Wish[], all: () => readonly Wish[], call: Call): Promise<unknown> => {
      if (balancers.survey === undefined) return Promise.resolve(undefined);
      const now = clock.monotonic();
      const isFresh = held !== undefined && now - held.at < acceptsAge;
      if (isFresh && held !== undefined && mine.every((wish) => held?.asked.has(textOf(wish)))) {
        return held.value;
      }
      const wishes = all();
      const value = balancers.survey(wishes, call);
      held = { value, at: now, asked: new Set(wishes.map(textOf)) };
      // One that failed is nobody's answer.
      value.catch(() => {
        if (held?.value === value) held = undefined;
      });
      return value;
    },
  };
};
