// The settings of the node-lifecycle controller and their defaults.

import { type Milliseconds, minutes, seconds } from "../../core/brand.ts";
import { defaultRemovalLimit, type RemovalLimitSetting } from "../kernel/removal-limit.ts";

export interface LifecycleSettings {
  /** `observe`: only report what would be deleted. `off`: never delete. The shutdown taint is maintained in every mode. */
  readonly deletion: "off" | "observe" | "enforce";
  /**
   * Whether Nodes whose machine is proved to be stopped or gone get the out-of-service taint. `observe`: only report which
   * Nodes would get it.
   */
  readonly outOfService: "off" | "observe" | "enforce";
  /**
   * The minimum time between the first and the last proof that an instance is gone. With zero, one proof is enough, as in
   * upstream.
   */
  readonly confirmAfter: Milliseconds;
  /** The number of managed Nodes that may be deleted unannounced within the window. */
  readonly removalLimit: RemovalLimitSetting;
  /**
   * The minimum age for deleting a Node without a provider id or before its initialization, because its instance may not be
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
