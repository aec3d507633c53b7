// What counts as healthy, alive and ready. Healthy as upstream: the Lease and the controllers. Alive: nothing that never
// rests has stood still. Ready: the caches are filled and the cloud has answered once; a replica that waits is ready too.

import { minutes } from "../../core/brand.ts";
import type { Health } from "../../server/health.ts";
import type { ControllerName } from "../flags/controller-names.ts";
import type { Manager } from "../manager/manager.ts";

const taskQueues = {
  "cloud-node": "Nodes",
  "cloud-node-lifecycle": "node-lifecycle",
  service: "service",
  "node-route": "Routes",
} as const satisfies Record<ControllerName, string>;

/** Every call has a deadline of seconds; a worker that has one key for this long is stuck. */
const stuckAfter = minutes(10);

function stuck(manager: Manager, name: ControllerName): string | undefined {
  const since = manager.metrics.queues.longestInHand(taskQueues[name]);
  return since * 1000 > stuckAfter
    ? `a worker of ${name} has had the same key for ${Math.round(since)} s; ended from outside, the next replica goes on`
    : undefined;
}

function unfilled(manager: Manager): string | undefined {
  const missing = Object.entries(manager.caches()).filter(([, { isSynced }]) => !isSynced);
  return missing.length === 0 ? undefined : `not listed yet: ${missing.map(([name]) => name).join(", ")}`;
}

/** Those of one manager; gives back what takes them away again when another one follows. */
export function addChecks(health: Health, manager: Manager): () => void {
  const election = { name: "leaderElection", check: manager.leadershipHealth } as const;
  const controllers = (Object.keys(taskQueues) as ControllerName[]).filter((name) =>
    manager.controllers.includes(name),
  );
  const removals = [
    ...(manager.flags["leader-elect"] ? [health.add({ ...election, pages: ["healthz", "livez"] })] : []),
    health.add({ name: "watches", pages: ["livez"], check: manager.stalled }),
    ...controllers.map((name) =>
      health.add({ name, pages: ["healthz", "livez"], check: () => stuck(manager, name) }),
    ),
    health.add({ name: "caches-synced", pages: ["readyz"], check: () => unfilled(manager) }),
    health.add({ name: "cloud", pages: ["readyz"], check: manager.cloudProblem }),
  ];
  return () => {
    for (const remove of removals) remove();
  };
}
