// Keeps the objects of the last listing for the machines that have not changed since. Whoever has dealt with a machine
// then knows by identity that there is nothing new about it, and two listings of one state are one in memory. Pure.

import type { Instance } from "../provider/instances.ts";

/** The very list of before when nothing at all has changed. */
export function reuseInstances(
  listed: readonly Instance[],
  before: readonly Instance[],
): readonly Instance[] {
  const known = new Map(before.map((instance) => [instance.key, instance]));
  const merged = listed.map((instance) => {
    const same = known.get(instance.key);
    return same !== undefined && Bun.deepEquals(same, instance, true) ? same : instance;
  });
  const isSame = merged.length === before.length && merged.every((one, index) => one === before[index]);
  return isSame ? before : merged;
}
