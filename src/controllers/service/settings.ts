// What an operator can decide about Services, as one value with our defaults.

import { type Milliseconds, milliseconds, minutes } from "../../core/brand.ts";

export interface ServiceSettings {
  /** A balancer that somebody changed in the cloud: said, or said and put right. */
  readonly drift: "report" | "repair";
  /** Which nodes are targets of Services that do not say it; the last: with endpoints where the traffic policy is Local. */
  readonly targets: "all" | "endpoints" | "local-endpoints";
  /** How long a target that leaves is left to drain, where the cloud can; none is upstream's way. */
  readonly targetDrain: Milliseconds;
  /** How old an observation may be when a wish changes and nothing else happened. */
  readonly acceptsAge: Milliseconds;
}

export const serviceDefaults: ServiceSettings = {
  drift: "repair",
  targets: "all",
  targetDrain: milliseconds(0),
  acceptsAge: minutes(5),
};
