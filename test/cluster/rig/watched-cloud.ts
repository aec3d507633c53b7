// Records the changes of a simulated cloud, and calls a function in the middle of a chosen change.

import type { FakeCloud } from "../../../providers/fake/simulator/fake-cloud.ts";

export interface CloudChange {
  readonly method: string;
  /** The path, such as "/balancers/b7". */
  readonly path: string;
}

export interface WatchedCloud {
  /** All changes so far, in order. */
  readonly changes: readonly CloudChange[];
  /**
   * Calls `interrupt` in the middle of the n-th change from now: the cloud has applied it, but its response has not been read.
   */
  interruptAt(changesFromNow: number, interrupt: () => void): void;
}

export const watchCloud = (cloud: FakeCloud): WatchedCloud => {
  const changes: CloudChange[] = [];
  const interrupts = new Map<number, () => void>();
  const handle = cloud.handle.bind(cloud);
  cloud.handle = (request, token) => {
    const delivery = handle(request, token);
    if (request.method !== "GET") {
      changes.push({ method: request.method, path: request.path });
      interrupts.get(changes.length)?.();
    }
    return delivery;
  };
  return {
    changes,
    interruptAt: (changesFromNow, interrupt) =>
      void interrupts.set(changes.length + changesFromNow, interrupt),
  };
};
