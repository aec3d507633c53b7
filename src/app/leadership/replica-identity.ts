// The identity of a replica, as the holder of its Lease. It shows observe mode, because a holder that changes nothing looks like a
// leader otherwise.

import type { ManagerPlatform } from "../system-platform.ts";

const observeSuffix = "-observe";

/** Created once per process, so that a reload keeps the Lease. It starts with the name of the pod or Node, as in upstream. */
export function replicaIdentity(
  { environment, random }: Pick<ManagerPlatform, "environment" | "random">,
  name: string,
  mode: "enforce" | "observe",
): string {
  return `${environment["HOSTNAME"] ?? name}_${random.uuid()}${mode === "observe" ? observeSuffix : ""}`;
}

/** Whether this holder of a Lease changes nothing. */
export const isObserver = (holder: string): boolean => holder.endsWith(observeSuffix);
