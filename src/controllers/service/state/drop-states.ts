// Drops the state of Services and groups that is no longer needed. No other file does that.

import type { ServiceUID } from "../../../core/brand.ts";
import type { ServiceStore } from "../deps.ts";
import { isManaged } from "../predicates.ts";
import type { GroupStates } from "./group-states.ts";
import type { ServiceState } from "./service-record.ts";
import type { ServiceStates } from "./service-states.ts";

/**
 * Drops the state of these Services, unless they still exist or have something pending. While a group must still release a
 * Service, its state keeps how to do that.
 */
export function dropServiceStates(
  uids: Iterable<ServiceUID>,
  store: Pick<ServiceStore, "get">,
  services: ServiceStates,
  groups: GroupStates,
): void {
  for (const uid of uids) {
    const state = services.get(uid);
    if (state === undefined || state.group !== undefined || isNeeded(state, store)) continue;
    const isPending = state.onDelete !== undefined;
    services.drop(state, isPending && groups.all.some((group) => group.pendingReleases.has(uid)));
  }
}

function isNeeded({ key, uid, hasLeftovers }: ServiceState, store: Pick<ServiceStore, "get">): boolean {
  const service = store.get(key);
  return service?.metadata.uid === uid && (hasLeftovers || isManaged(service));
}

/** Drops the state of a group without members. If a release is pending, what that needs is kept. */
export function dropGroupState(group: string, groups: GroupStates): void {
  const state = groups.get(group);
  if (state === undefined || state.members.size > 0) return;
  if (state.pendingReleases.size > 0) groups.commit(state, { kind: "left" });
  else groups.delete(group);
}
