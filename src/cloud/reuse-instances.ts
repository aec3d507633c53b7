// Reuses the objects of the previous listing for machines that have not changed. Callers detect changes by identity, and two
// equal listings share their memory. Pure.

import type { Instance } from "../provider/instances.ts";

/** The previous array itself when nothing has changed. */
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
