// The inputs of a manager.

import type { AnyProvider } from "../../provider/provider.ts";
import type { Log } from "../../telemetry/log.ts";
import type { ConfigurationReloads } from "../configuration/configuration-reloads.ts";
import type { ReadFlags } from "../flags/read-flags.ts";
import type { ManagerPlatform } from "../system-platform.ts";

export interface ManagerOptions {
  readonly provider: AnyProvider;
  readonly settings: ReadFlags;
  readonly platform: ManagerPlatform;
  readonly log: Log;
  /** The holder identity in the Lease. If unset, the manager creates one. */
  readonly identity?: string;
  /** Receives a short status for systemd. */
  readonly onStatus?: (text: string) => void;
  /** The results of reloading the configuration. If unset, the configuration is never reloaded. */
  readonly reloads?: Pick<ConfigurationReloads, "pendingRestart" | "isRefused">;
}
