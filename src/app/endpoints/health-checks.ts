// The health checks of the manager. /healthz, as in upstream: leader election and controllers. /livez: watches are not
// stalled. /readyz: the caches are synced and the cloud has answered once; standby replicas are ready too.

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

/** Every call has a deadline of some seconds, so a worker that takes this long for one key is stuck. */
const stuckAfter = minutes(10);

function stuck(manager: Manager, name: ControllerName): string | undefined {
  const since = manager.metrics.queues.longestActive(taskQueues[name]);
  return since * 1000 > stuckAfter
    ? `a worker of ${name} has processed the same key for ${Math.round(since)}s; restart this process, so that another replica takes over`
    : undefined;
}

function unsynced(manager: Manager): string | undefined {
  const missing = Object.entries(manager.caches()).filter(([, { isSynced }]) => !isSynced);
  return missing.length === 0 ? undefined : `not synced yet: ${missing.map(([name]) => name).join(", ")}`;
}

export function addChecks(health: Health, manager: Manager): void {
  const controllers = (Object.keys(taskQueues) as ControllerName[]).filter((name) =>
    manager.controllers.includes(name),
  );
  if (manager.flags["leader-elect"]) {
    health.add({ name: "leaderElection", pages: ["healthz", "livez"], check: manager.leadershipHealth });
  }
  health.add({ name: "watches", pages: ["livez"], check: manager.stalled });
  for (const name of controllers) {
    health.add({ name, pages: ["healthz", "livez"], check: () => stuck(manager, name) });
  }
  health.add({ name: "caches-synced", pages: ["readyz"], check: () => unsynced(manager) });
  health.add({ name: "cloud", pages: ["readyz"], check: manager.cloudProblem });
}
