// Composes the task that lists all instances periodically.

import type { Inventory } from "../../cloud/inventory.ts";
import { runRefreshLoop } from "../../cloud/refresh-loop.ts";
import { defined } from "../../core/defined.ts";
import type { Clock } from "../../platform/clock.ts";
import { PausableWork } from "../../runtime/pausable-work.ts";
import type { Task } from "../../runtime/run-together.ts";
import type { Flags } from "../flags/table.ts";

export interface ComposedRefresh extends Task {
  readonly work: PausableWork;
}

export function composeRefresh(inventory: Inventory, clock: Clock, flags: Flags): ComposedRefresh {
  const work = new PausableWork();
  // A reload changes the flags in place, and starts the loop again.
  const refresh = (stop: AbortSignal): Promise<void> => {
    const policy = defined({ fixed: flags["node-status-update-frequency"] });
    return runRefreshLoop({ inventory, clock, policy }, stop);
  };
  return { name: "inventory", work, run: (stop) => work.run(refresh, stop) };
}
