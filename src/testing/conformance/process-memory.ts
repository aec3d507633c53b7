// What the manager's process remembers between two plans: accepted steps, refused targets, and its own route changes. A restart
// loses it.

import { OwnChanges } from "../../controllers/route/observed/own-changes.ts";
import { RecentSteps } from "../../controllers/service/state/recent-steps.ts";
import { RefusedTargets } from "../../controllers/service/state/refused-targets.ts";
import type { ServiceUID } from "../../core/brand.ts";
import type { AnyCloud } from "./simulated-cloud.ts";

export class ProcessMemory {
  readonly #recentSteps = new Map<string, RecentSteps>();
  readonly #refused = new Map<ServiceUID, RefusedTargets>();
  readonly #ownChanges = new Map<string | undefined, OwnChanges>();

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

  /** Of the route table with this name. */
  ownChanges(table: string | undefined): OwnChanges {
    const known = this.#ownChanges.get(table) ?? new OwnChanges();
    this.#ownChanges.set(table, known);
    return known;
  }
}

const memories = new WeakMap<AnyCloud, ProcessMemory>();

/** A new connection is a new process. */
export function memoryOf(cloud: AnyCloud): ProcessMemory {
  const known = memories.get(cloud) ?? new ProcessMemory();
  memories.set(cloud, known);
  return known;
}
