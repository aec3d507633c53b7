// The memory of the mass limits of an account that is vouched for, so that the last object of a small world may be absent too.

import { RemovalMemory } from "../../src/controllers/kernel/removal-memory.ts";
import type { Clock } from "../../src/platform/clock.ts";

export function vouchedRemovals(clock: Clock): RemovalMemory {
  const removals = new RemovalMemory(clock);
  removals.account.vouch();
  return removals;
}
