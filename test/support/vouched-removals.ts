// The memory of the mass limits for an account that is confirmed, so that even the last object of a small world may be absent.

import { RemovalMemory } from "../../src/controllers/kernel/removal-memory.ts";
import type { Clock } from "../../src/platform/clock.ts";

export function vouchedRemovals(clock: Clock): RemovalMemory {
  const removals = new RemovalMemory(clock);
  removals.account.vouch();
  return removals;
}
