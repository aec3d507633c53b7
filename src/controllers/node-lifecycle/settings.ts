// The settings of the node-lifecycle controller and their defaults.

import { type Milliseconds, minutes, seconds } from "../../core/brand.ts";
import { defaultRemovalLimit, type RemovalLimitSetting } from "../kernel/removal-limit.ts";

export interface LifecycleSettings {
  /** `observe`: report what would be deleted. `off`: never delete. The shutdown taint is maintained in any case. */
  readonly deletion: "off" | "observe" | "enforce";
  /** Whether Nodes whose machine is proved to be stopped or gone get the taint out-of-service. `observe`: report which would get it. */
  readonly outOfService: "off" | "observe" | "enforce";
  /** The minimum time between the first and the last proof that an instance is gone. Zero: one proof is enough, as upstream. */
  readonly confirmAfter: Milliseconds;
  /** The number of managed Nodes that may be deleted unannounced within the window. */
  readonly removalLimit: RemovalLimitSetting;
  /**
   * A Node without provider id, or one that is not initialized, is not deleted before this age: its instance may not be
   * visible yet.
   */
  readonly minAge: Milliseconds;
  /**
   * When to remove the shutdown taint: as soon as the instance is running, or when the Node is Ready (as in
   * upstream).
   */
  readonly removeShutdownTaint: "when-running" | "when-ready";
}

export const lifecycleDefaults: LifecycleSettings = {
  deletion: "enforce",
  outOfService: "off",
  confirmAfter: seconds(30),
  removalLimit: defaultRemovalLimit,
  minAge: minutes(10),
  removeShutdownTaint: "when-running",
};
