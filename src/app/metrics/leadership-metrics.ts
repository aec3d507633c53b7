// Metrics of leader election and of running controllers, by upstream's names.

import type { Task } from "../../runtime/run-together.ts";
import type { Metrics } from "../../telemetry/metrics.ts";

export interface LeadershipMetrics {
  leads(lease: string, isLeader: boolean): void;
  slowElection(lease: string): void;
  runs(controller: string, isRunning: boolean): void;
}

export function createLeadershipMetrics(metrics: Metrics): LeadershipMetrics {
  const leads = metrics.gauge(
    "leader_election_master_status",
    "[ALPHA] Gauge of if the reporting system is master of the relevant lease, 0 indicates backup, 1 indicates master. 'name' is the string used to identify the lease. Please make sure to group by name.",
    ["name"],
  );
  const slow = metrics.counter(
    "leader_election_slowpath_total",
    "[ALPHA] Total number of slow path exercised in renewing leader leases. 'name' is the string used to identify the lease. Please make sure to group by name.",
    ["name"],
  );
  const running = metrics.gauge(
    "running_managed_controllers",
    "[BETA] Indicates where instances of a controller are currently running",
    ["name", "manager"],
  );
  return {
    leads: (name, isLeader) => leads.set(isLeader ? 1 : 0, { name }),
    slowElection: (name) => slow.add({ name }),
    runs: (name, isRunning) => running.set(isRunning ? 1 : 0, { name, manager: "cloud-controller-manager" }),
  };
}

/** The task, with the metric of running controllers. */
export function withRunningMetric(task: Task, runs: (name: string, isRunning: boolean) => void): Task {
  return {
    name: task.name,
    run: async (stop) => {
      runs(task.name, true);
      try {
        await task.run(stop);
      } finally {
        runs(task.name, false);
      }
    },
  };
}
