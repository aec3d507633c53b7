// Applies a changed configuration to the running manager by replacing the session while the Lease stays held. The controllers
// drain, then restart with the new settings and a new cloud session. Caches and knowledge from Kubernetes stay.

import { formatDuration } from "../../core/duration.ts";
import type { Clock } from "../../platform/clock.ts";
import type { AnyCloud } from "../../provider/provider.ts";
import type { Log } from "../../telemetry/log.ts";
import { ConfigurationError } from "../configuration/configuration-error.ts";
import type { ReadFlags } from "../flags/read-flags.ts";
import type { CloudSession } from "./cloud-session.ts";
import type { CloudSessions } from "./cloud-sessions.ts";

export interface Reload {
  /** The new settings, with the previous values of everything that needs a restart. */
  readonly settings: ReadFlags;
  /** Whether anything besides the log verbosity changed. */
  readonly affectsControllers: boolean;
}

export interface ReloadDeps {
  /** The sessions, one for each Lease. */
  readonly sessions: readonly CloudSessions[];
  readonly clock: Clock;
  readonly log: Log;
}

const why = "the configuration has changed";

/** Throws a ConfigurationError if the settings cannot be used, and then changes nothing. Returns a function that applies them. */
export function prepareReload(
  deps: ReloadDeps,
  { settings, affectsControllers }: Reload,
): () => Promise<void> {
  if (!affectsControllers) return async () => undefined;
  const opened = deps.sessions.map((all) => [all, openNext(all, settings)] as const);
  return () => replaceAll(deps, opened);
}

function openNext(sessions: CloudSessions, settings: ReadFlags): CloudSession {
  const next = sessions.open(settings);
  const changed = changedPart(sessions.current.connected.cloud, next.connected.cloud);
  if (changed === undefined) return next;
  // The session has sent no request, so it holds nothing.
  void next.close();
  throw new ConfigurationError([needsRestart(changed)]);
}

async function replaceAll(
  { sessions, clock, log }: ReloadDeps,
  opened: readonly (readonly [CloudSessions, CloudSession])[],
): Promise<void> {
  const cancel = new AbortController();
  const grace = sessions[0]?.current.settings.flags["drain-timeout"];
  if (grace === undefined) return;
  if (sessions.some(({ isRunning }) => isRunning))
    log.info("Applying the changed configuration; draining in-flight work", { withinSeconds: grace / 1000 });
  const stopTimer = clock.after(grace, () => {
    log.warn(
      `Reload drain timed out after ${formatDuration(grace)}; cancelled in-flight work, which starts again. --drain-timeout sets the limit.`,
    );
    cancel.abort();
  });
  try {
    await Promise.all(opened.map(([all, next]) => all.reload(next, why, cancel.signal)));
  } finally {
    stopTimer();
  }
}

const parts = {
  loadBalancers: "load balancers",
  routes: "routes",
  volumes: "volumes",
  nodeFirewall: "a firewall of the Nodes",
  machineTags: "tags of machines",
  changes: "reports of changes",
} as const satisfies Partial<Record<keyof AnyCloud, string>>;

/** The selection of controllers and their watches is fixed at the start of the process. */
function changedPart(before: AnyCloud, after: AnyCloud): string | undefined {
  const names = Object.keys(parts) as (keyof typeof parts)[];
  const changed = names.find((name) => (before[name] === undefined) !== (after[name] === undefined));
  return changed && parts[changed];
}

function needsRestart(part: string) {
  return {
    severity: "error",
    reason: "NeedsRestart",
    text: `The cloud settings change whether it has ${part}, which needs a restart of this process. Restart it to use them.`,
  } as const;
}
