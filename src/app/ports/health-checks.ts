// What counts as healthy, alive and ready. Healthy as upstream: the Lease and the controllers. Alive: nothing that never
// rests has stood still. Ready: the caches are filled and the cloud has answered once; a replica that waits is ready too.

import { minutes } from "../../core/brand.ts";
import type { Health } from "../../serving/health.ts";
import type { ControllerName } from "../flags/controller-names.ts";
import type { Flags } from "../flags/read-flags.ts";
import type { Manager } from "../manager.ts";

const taskQueues = {
  "cloud-node": "Nodes",
  "cloud-node-lifecycle": "node-lifecycle",
  service: "service",
  "node-route": "Routes",
} as const satisfies Record<ControllerName, string>;

/** Every call has a deadline of seconds; a worker that has one key for this long is stuck. */
const stuckAfter = minutes(10);

const stuck = (manager: Manager, name: ControllerName): string | undefined => {
  const since = manager.metrics.queues.longestInHand(taskQueues[name]);
  return since * 1000 > stuckAfter
    ? `a worker of ${name} has had the same key for ${Math.round(since)} s; ended from outside, the next replica goes on`
    : undefined;
};

export const addChecks = (health: Health, manager: () => Manager, flags: Flags): void => {
  if (flags["leader-elect"]) {
    health.add({
      name: "leaderElection",
      pages: ["healthz", "livez"],
      check: () => manager().leadershipHealth(),
    });
  }
  health.add({ name: "watches", pages: ["livez"], check: () => manager().stalled() });
  for (const name of Object.keys(taskQueues) as ControllerName[]) {
    if (!manager().controllers.includes(name)) continue;
    health.add({ name, pages: ["healthz", "livez"], check: () => stuck(manager(), name) });
  }
  health.add({
    name: "caches-synced",
    pages: ["readyz"],
    check: () => {
      const missing = Object.entries(manager().caches()).filter(([, { isSynced }]) => !isSynced);
      return missing.length === 0 ? undefined : `not listed yet: ${missing.map(([name]) => name).join(", ")}`;
    },
  });
  health.add({ name: "cloud", pages: ["readyz"], check: () => manager().cloudProblem() });
};
