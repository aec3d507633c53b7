// What a provider's plans need to know of the cloud besides balancers, asked once for all and shared while it is young.

import { minutes } from "../../../core/brand.ts";
import type { Call } from "../../../provider/call.ts";
import type { ServiceDeps } from "../deps.ts";
import { fingerprintOf } from "../desired/fingerprint.ts";
import type { Desired } from "../desired/member.ts";

const acceptsAge = minutes(1);

export function createSharedSurvey({ balancers, clock }: Pick<ServiceDeps, "balancers" | "clock">) {
  let held:
    | { readonly value: Promise<unknown>; readonly at: number; readonly asked: ReadonlySet<string> }
    | undefined;
  const textOf = (desired: Desired): string => fingerprintOf([desired]).rest;
  return {
    /** One that was made without these wishes does not know what they are about. */
    current: (mine: readonly Desired[], all: () => readonly Desired[], call: Call): Promise<unknown> => {
      if (balancers.survey === undefined) return Promise.resolve(undefined);
      const now = clock.monotonic();
      const isFresh = held !== undefined && now - held.at < acceptsAge;
      if (isFresh && held !== undefined && mine.every((desired) => held?.asked.has(textOf(desired)))) {
        return held.value;
      }
      const desiredServices = all();
      const value = balancers.survey(desiredServices, call);
      held = { value, at: now, asked: new Set(desiredServices.map(textOf)) };
      // One that failed is nobody's answer.
      value.catch(() => {
        if (held?.value === value) held = undefined;
      });
      return value;
    },
  };
}
