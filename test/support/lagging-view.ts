// A view of the simulated cloud whose listings of load balancers lag behind changes, as eventually consistent clouds do.

import type { SimulatedBalancer } from "../../providers/fake/simulator/balancers.ts";
import { trueView } from "../../providers/fake/simulator/view.ts";
import type { ServiceWorld } from "./service-world.ts";

/** Makes listings show the state of this number of seconds ago. */
export function lagListings({ cloud, clock }: Pick<ServiceWorld, "cloud" | "clock">, lag: number): void {
  const { balancers } = cloud;
  const states: { readonly at: number; readonly list: readonly SimulatedBalancer[] }[] = [];
  const record = (): void => void states.push({ at: clock.monotonic(), list: balancers.list() });
  record();
  for (const method of ["create", "change", "remove"] as const) {
    const original = balancers[method].bind(balancers) as (...given: unknown[]) => unknown;
    Object.assign(balancers, {
      [method]: (...given: unknown[]) => {
        const result = original(...given);
        record();
        return result;
      },
    });
  }
  const shown = (): readonly SimulatedBalancer[] =>
    states.findLast(({ at }) => at <= clock.monotonic() - lag * 1000)?.list ?? states[0]?.list ?? [];
  cloud.view = {
    ...trueView,
    balancers: (existing, kind) => (kind === "listing" ? shown() : existing),
  };
}
