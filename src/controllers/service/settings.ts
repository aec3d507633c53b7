// The settings of the service controller with their defaults.

import { type Milliseconds, milliseconds, minutes, seconds } from "../../core/brand.ts";
import { defaultRemovalLimit, type RemovalLimitSetting } from "../kernel/removal-limit.ts";

export interface ServiceSettings {
  /** The reaction to changes made outside Fairlead: only report them, or report and repair them. */
  readonly drift: "report" | "repair";
  /** The targets of Services without a target-policy annotation. `local-endpoints`: endpoints if the traffic policy is Local. */
  readonly targets: "all" | "endpoints" | "local-endpoints";
  /** The time that a target drains before it is removed, if the cloud supports it. Zero is upstream's behavior. */
  readonly targetDrain: Milliseconds;
  /** The percentage of unhealthy targets from which a Service has a condition; 0: none. */
  readonly unhealthyCondition: number;
  /** The number of load balancers that may be removed, or created again, within the window because something was absent. */
  readonly removalLimit: RemovalLimitSetting;
  /** The treatment of the load balancer of a vanished Service whose finalizer Fairlead did not remove. */
  readonly vanished: "delete" | "keep";
  /** The minimum time between two listings that prove that a load balancer is absent, and in which a vanished Service may come back. */
  readonly confirmAfter: Milliseconds;
  /** The maximum age of a listing to plan on when only the desired state has changed. */
  readonly acceptsAge: Milliseconds;
}

export const serviceDefaults: ServiceSettings = {
  drift: "repair",
  targets: "all",
  targetDrain: milliseconds(0),
  unhealthyCondition: 0,
  removalLimit: defaultRemovalLimit,
  vanished: "delete",
  confirmAfter: seconds(30),
  acceptsAge: minutes(5),
};
