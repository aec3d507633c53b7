// What every controller of a manager shares: clients, clock, journal, events, and the live settings, which a reload replaces. Created in
// manager.ts.

import type { Inventory } from "../../cloud/inventory.ts";
import type { RemovalHistory } from "../../controllers/absence/removal-history.ts";
import type { LatestObjects } from "../../controllers/latest-objects.ts";
import type { KubeApi } from "../../kube/client/api.ts";
import type { EventRecorder } from "../../kube/events/event-recorder.ts";
import type { Node } from "../../kube/objects.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Files } from "../../platform/files.ts";
import type { Random } from "../../platform/random.ts";
import type { Journal } from "../../runtime/journal.ts";
import type { Log } from "../../telemetry/log.ts";
import type { ConnectedCloud } from "../connect-cloud.ts";
import type { ControllerName } from "../flags/controller-names.ts";
import type { ControllerSettings } from "../flags/controller-settings.ts";
import type { ReadFlags } from "../flags/read-flags.ts";
import type { FollowedCache } from "../leadership/current-caches.ts";
import type { LeaseEvent } from "../leadership/hold-release.ts";
import type { ManagerMetrics } from "../metrics/manager-metrics.ts";

export interface ControllerContext {
  /** With --use-service-account-credentials, it has the identity of the controller. */
  readonly api: KubeApi;
  /** For watches: with the identity of the process, as in upstream. */
  readonly reader: KubeApi;
  readonly clock: Clock;
  readonly random: Random;
  readonly files: Files;
  readonly collectGarbage: (() => void) | undefined;
  readonly log: Log;
  readonly journal: Journal;
  readonly metrics: ManagerMetrics;
  readonly events: EventRecorder;
  readonly settings: ReadFlags;
  readonly isObserving: boolean;
  readonly connected: ConnectedCloud;
  readonly inventory: Inventory;
  readonly nodes: LatestObjects<Node>;
  /** The controller stops while this cache may be outdated. Returns how to end that. */
  readonly followCache: (cache: FollowedCache, controller: ControllerName) => () => void;
  /** The memory of the mass limits. */
  readonly removals: RemovalHistory;
  /** Reports what concerns a whole controller as an event on its Lease. */
  readonly reportOnLease: (controller: ControllerName, event: LeaseEvent) => void;
  /** How often the holder of a Lease of this manager has changed. */
  readonly formerLeaders: () => number;
  /** Aborted when the manager has ended, which after a drain is later than the request to stop. */
  readonly life: AbortSignal;
}

/** The settings of one controller. */
export type SettingsSection = Exclude<keyof ControllerSettings, "problems">;

const sections = Object.keys({
  nodes: true,
  lifecycle: true,
  routes: true,
  services: true,
} satisfies Record<SettingsSection, true>) as readonly SettingsSection[];

/**
 * The settings that the controllers read, as they are now. A reload replaces the values in place, while no controller works on anything, so
 * nothing that holds a section must be created again.
 */
export class LiveSettings {
  /** The object and its sections keep their identity. Read a value when it is needed; do not copy it. */
  readonly current: ReadFlags;

  constructor(first: ReadFlags) {
    const copies = sections.map((name) => [name, { ...first[name] }] as const);
    this.current = { ...first, flags: { ...first.flags }, ...Object.fromEntries(copies) };
  }

  /** Returns the sections whose values have changed. */
  replace(next: ReadFlags): readonly SettingsSection[] {
    replaceIn(this.current.flags, next.flags);
    return sections.filter((name) => replaceIn(this.current[name], next[name]));
  }
}

/** Returns whether a value has changed. */
function replaceIn<T extends object>(target: T, next: T): boolean {
  const before = textOf(target);
  for (const name of Object.keys(target)) {
    if (!Object.hasOwn(next, name)) Reflect.deleteProperty(target, name);
  }
  Object.assign(target, next);
  return textOf(target) !== before;
}

/** For comparison only. */
function textOf(section: object): string {
  const entries = Object.entries(section).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify(entries, (_, value: unknown) =>
    value instanceof Map || value instanceof Set ? [...value] : value,
  );
}
