// What a provider's plans need to know of the cloud besides balancers, asked once for all and shared while it is young.

import { minutes } from "../../core/brand.ts";
import type { Call } from "../../provider/call.ts";
import type { ServicePorts } from "./ports.ts";
import type { Wish } from "./wishes.ts";

const acceptsAge = minutes(1);

export const createSurveys = ({ balancers, clock }: Pick<ServicePorts, "balancers" | "clock">) => {
  let held: { readonly value: Promise<unknown>; readonly at: number } | undefined;
  return {
    /** One that began before `since` does not know what was wished then. */
    current: (wishes: () => readonly Wish[], since: number, call: Call): Promise<unknown> => {
      if (balancers.survey === undefined) return Promise.resolve(undefined);
      const now = clock.monotonic();
      if (held !== undefined && held.at >= Math.max(since, now - acceptsAge)) return held.value;
      const value = balancers.survey(wishes(), call);
      held = { value, at: now };
      // One that failed is nobody's answer.
      value.catch(() => {
        if (held?.value === value) held = undefined;
      });
      return value;
    },
  };
};
