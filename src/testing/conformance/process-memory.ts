// What the manager's process remembers between two plans: accepted steps, refused targets, and its own route changes. A restart
// loses it.

import { type RouteTable, routeTablesOf } from "../../cloud/route-tables.ts";
import { RecentSteps } from "../../controllers/service/state/recent-steps.ts";
import { RefusedTargets } from "../../controllers/service/state/refused-targets.ts";
import type { ServiceUID } from "../../core/brand.ts";
import type { Clock } from "../../platform/clock.ts";
import type { AnyCloud } from "./simulated-cloud.ts";

export class ProcessMemory {
  readonly #recentSteps = new Map<string, RecentSteps>();
  readonly #refused = new Map<ServiceUID, RefusedTargets>();
  #routeTables: readonly RouteTable[] | undefined;

  /** Of a group. */
  recentSteps(group: string): RecentSteps {
    const known = this.#recentSteps.get(group) ?? new RecentSteps();
    this.#recentSteps.set(group, known);
    return known;
  }

  refused(uid: ServiceUID): RefusedTargets {
    const known = this.#refused.get(uid) ?? new RefusedTargets();
    this.#refused.set(uid, known);
    return known;
  }

  /** They remember the route changes of the process. */
  routeTables({ routes }: AnyCloud, clock: Clock): readonly RouteTable[] {
    if (routes === undefined) throw new Error("This provider has no routes.");
    this.#routeTables ??= routeTablesOf(routes, clock);
    return this.#routeTables;
  }
}

const memories = new WeakMap<AnyCloud, ProcessMemory>();

/** A new connection is a new process. */
export function memoryOf(cloud: AnyCloud): ProcessMemory {
  const known = memories.get(cloud) ?? new ProcessMemory();
  memories.set(cloud, known);
  return known;
}
