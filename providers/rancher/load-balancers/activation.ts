// Plans the activation of a load balancer, and says what it waits for until its addresses can be published. Pure.

import { type Plan, type Problem, waitFor } from "#ccm";
import { reasons } from "../reasons.ts";
import type { Observed, RancherStep } from "./model.ts";

export function waitForBalancer({ balancer }: Observed, what: string) {
  const { name, transitioningMessage } = balancer;
  return waitFor(`load balancer ${name} ${what}${transitioningMessage ? ` (${transitioningMessage})` : ""}`);
}

/** After an upgrade, an operator decides when to finish it. */
const activeStates = new Set(["active", "updating-active", "upgraded"]);

export function planActivation(observed: Observed): Plan<RancherStep> {
  const {
    name,
    state,
    transitioning,
    transitioningMessage,
    actions = {},
    healthState,
    publicEndpoints,
  } = observed.balancer;
  const problems: readonly Problem[] =
    transitioning === "error"
      ? [
          {
            severity: "warning",
            reason: reasons.LoadBalancerFailed,
            text: `Rancher reports an error of load balancer ${name}: ${transitioningMessage ?? "no message"}. Correct it in Rancher or in the Service; Fairlead checks again until it is solved.`,
          },
        ]
      : [];
  if (!activeStates.has(state)) {
    const link = transitioning === "yes" ? undefined : actions["activate"];
    if (link === undefined)
      return { ...waitForBalancer(observed, `to become active, it is ${state}`), problems };
    const isRetry = transitioning === "error";
    return {
      steps: [{ do: "activate load balancer", on: name, send: { kind: "act", link, isRetry } }],
      problems,
    };
  }
  if ((publicEndpoints ?? []).length === 0)
    return { ...waitForBalancer(observed, "to get public endpoints"), problems };
  if (healthState === "initializing") return { ...waitForBalancer(observed, "to become healthy"), problems };
  return { steps: [], problems };
}
