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

/** That this holder of a Lease changes nothing, and what to do; undefined if it may lead. */
export function observerText(holder: string, lease: string): string | undefined {
  if (!holder.endsWith(observeSuffix)) return undefined;
  return `No manager leads: ${holder} holds the Lease ${lease} with --mode=observe, so it changes nothing, and keeps others from leading. Restart it without --mode=observe, or without --leader-elect.`;
}
