// Applies a changed configuration to the running manager. Only what changed is replaced: the Lease, the caches, the evidence and
// everything else that the controllers know stays, and no request is repeated.

import type { Inventory } from "../../cloud/inventory.ts";
import { formatDuration } from "../../core/duration.ts";
import type { Clock } from "../../platform/clock.ts";
import { type PausableWork, whilePaused } from "../../runtime/pausable-work.ts";
import type { Log } from "../../telemetry/log.ts";
import type { ReadFlags } from "../flags/read-flags.ts";
import type { Controllers } from "./compose-controllers.ts";
import type { LiveSettings, SettingsSection } from "./controller-context.ts";
import type { CurrentClouds } from "./current-clouds.ts";

export interface Reload {
  /** Everything that needs a restart has its previous value. */
  readonly settings: ReadFlags;
  /** Whether anything besides the log verbosity has changed. */
  readonly affectsControllers: boolean;
  /** Whether the connection to the cloud is to be replaced. */
  readonly reconnects: boolean;
}

export interface ReloadDeps {
  readonly live: LiveSettings;
  readonly clouds: CurrentClouds;
  readonly inventory: Inventory;
  readonly composed: Controllers;
  /** The work of the loop that lists all instances. */
  readonly refresh: { readonly work: PausableWork };
  readonly clock: Clock;
  readonly log: Log;
}

const why = "the configuration has changed";

/** Throws a ConfigurationError if the settings cannot be used; nothing has changed then. Returns how to apply them. */
export function prepareReload(deps: ReloadDeps, reload: Reload): () => Promise<void> {
  const { live, clouds } = deps;
  const { settings, affectsControllers, reconnects } = reload;
  const connect = reconnects ? clouds.prepare(settings) : undefined;
  return async () => {
    if (affectsControllers) await apply(deps, settings, connect);
    else live.replace(settings);
  };
}

async function apply(
  deps: ReloadDeps,
  next: ReadFlags,
  connect: ReturnType<CurrentClouds["prepare"]> | undefined,
): Promise<void> {
  const { live, clouds, inventory, composed, refresh, clock, log } = deps;
  const { flags } = live.current;
  const frequency = flags["node-status-update-frequency"];
  let changed: readonly SettingsSection[] = [];
  let isCancelled = false;
  await whilePaused(
    Object.values(composed.queues).map(({ work }) => work),
    {
      why,
      clock,
      grace: flags["drain-timeout"],
      onDeadline: (timeout) => {
        isCancelled = true;
        log.warn(
          `Reload drain timed out after ${formatDuration(timeout)}; cancelled in-flight work, which starts again. --drain-timeout sets the limit.`,
        );
      },
    },
    () => {
      changed = live.replace(next);
      // Cancelled work may not have ended yet inside the provider. It keeps the connection that is replaced.
      const replace = connect ?? (isCancelled ? clouds.prepare(next) : undefined);
      if (replace !== undefined) inventory.replaceSources(replace());
      if (connect === undefined) return;
      composed.lifecycle.forgetEvidence();
      composed.service?.forgetEvidence();
      composed.route?.forgetEvidence();
      composed.volume?.forgetEvidence();
    },
  );
  if (flags["node-status-update-frequency"] !== frequency) {
    // The current wait may be much longer than the new interval.
    await refresh.work.pause(why, AbortSignal.abort());
    refresh.work.resume();
  }
  // Evidence of absence must be collected again.
  composed.reconsider(connect === undefined ? changed : [...changed, "lifecycle"]);
  // Shows at once whether the cloud accepts the new settings.
  if (connect !== undefined && refresh.work.isRunning) inventory.requestListing(clock.monotonic(), "refresh");
}
