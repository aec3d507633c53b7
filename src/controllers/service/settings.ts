// The settings of the service controller with their defaults.

import { type Milliseconds, milliseconds, minutes, seconds } from "../../core/brand.ts";
import { defaultRemovalLimit, type RemovalLimitSetting } from "../kernel/removal-limit.ts";

export interface ServiceSettings {
  /** The reaction to changes made outside Fairlead: only report them, or report and repair them. */
  readonly drift: "report" | "repair";
  /**
   * The default target policy of Services without the annotation. `local-endpoints`: endpoints if the traffic policy is Local.
   */
  readonly targets: "all" | "endpoints" | "local-endpoints";
  /** How long a target drains before it is removed, if the cloud supports draining. Zero is upstream's behavior. */
  readonly targetDrain: Milliseconds;
  /** The percentage of unhealthy targets at which a Service gets a condition; 0 disables it. */
  readonly unhealthyCondition: number;
  /** How many load balancers may be removed or recreated within the window because an object was absent. */
  readonly removalLimit: RemovalLimitSetting;
  /** What happens to the load balancer of a vanished Service whose finalizer Fairlead did not remove. */
  readonly vanished: "delete" | "keep";
  /**
   * The minimum time between two listings that prove the absence of a load balancer, and the time in which a vanished Service
   * may return.
   */
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
