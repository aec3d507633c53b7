// What upstream calls a node sync: after Nodes have changed, until every balancer was looked at for it. It only measures;
// changes that come meanwhile make it longer.

import type { Clock } from "../../seams/clock.ts";

export interface ServiceObserver {
  /** All balancers have followed a change of Nodes. */
  readonly onNodeSync: (durationMs: number) => void;
  /** The targets of one balancer were changed, or that failed. */
  readonly onHostUpdate: (durationMs: number, isFailed: boolean) => void;
}

export const createNodeSyncs = (clock: Clock, { onNodeSync }: Pick<ServiceObserver, "onNodeSync">) => {
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
};

export type NodeSyncs = ReturnType<typeof createNodeSyncs>;
