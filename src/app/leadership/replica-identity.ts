// The identity of a replica, as the holder of its Lease. The identity shows observe mode, because an observer would otherwise
// look like a leader.

import type { ManagerPlatform } from "../system-platform.ts";

const observeSuffix = "-observe";

/** Created once per process, so that a reload keeps the Lease. As in upstream, it starts with the name of the pod or Node. */
export function replicaIdentity(
  { environment, random }: Pick<ManagerPlatform, "environment" | "random">,
  name: string,
  mode: "enforce" | "observe",
): string {
  return `${environment["HOSTNAME"] ?? name}_${random.uuid()}${mode === "observe" ? observeSuffix : ""}`;
}

/** Whether this Lease holder is an observer, which changes nothing. */
export const isObserver = (holder: string): boolean => holder.endsWith(observeSuffix);
