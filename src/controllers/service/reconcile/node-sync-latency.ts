// What upstream calls a node sync: after Nodes have changed, until every balancer was looked at for it. It only measures;
// changes that come meanwhile make it longer.

import type { Clock } from "../../../platform/clock.ts";
import type { ServiceObserver } from "../deps.ts";

export function createNodeSyncLatency(clock: Clock, { onNodeSync }: Pick<ServiceObserver, "onNodeSync">) {
  const left = new Set<string>();
  let beganAt = 0;
  return {
    begin: (groups: Iterable<string>): void => {
      if (left.size === 0) beganAt = clock.monotonic();
      for (const group of groups) left.add(group);
    },
    /** It has settled, failed, or is gone. */
    end: (group: string): void => {
      if (left.delete(group) && left.size === 0) onNodeSync(clock.monotonic() - beganAt);
    },
  };
}

export type NodeSyncLatency = ReturnType<typeof createNodeSyncLatency>;
