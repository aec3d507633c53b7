// The settings of the service controller with their defaults.

import { type Milliseconds, milliseconds, minutes } from "../../core/brand.ts";

export interface ServiceSettings {
  /** What to do about changes made outside Fairlead: only report them, or report and repair them. */
  readonly drift: "report" | "repair";
  /** The targets of Services without a target-policy annotation. `local-endpoints`: endpoints if the traffic policy is Local. */
  readonly targets: "all" | "endpoints" | "local-endpoints";
  /** How long a target drains before it is removed, if the cloud supports it. Zero is upstream's behavior. */
  readonly targetDrain: Milliseconds;
  /** The maximum age of a listing to plan on when only the desired state has changed. */
  readonly acceptsAge: Milliseconds;
}

export const serviceDefaults: ServiceSettings = {
  drift: "repair",
  targets: "all",
  targetDrain: milliseconds(0),
  acceptsAge: minutes(5),
};
