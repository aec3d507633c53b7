// Gauges that are read from the manager's report on each scrape. Metrics for alerts exist only on the leader, because a
// standby replica does not reconcile and would report stale values.

import { isProblem } from "../../core/problem.ts";
import type { LabelValues, Metrics } from "../../telemetry/metrics.ts";
import type { ManagerReport } from "../report/manager-report.ts";

type Series = readonly (readonly [LabelValues, number])[];

interface ReportGauge {
  readonly name: string;
  readonly help: string;
  readonly labels?: readonly string[];
  /** The metric exists only on the leader. */
  readonly onLeader?: true;
  readonly read: (report: ManagerReport) => Series | number;
}

/** Counts how often each value occurs. */
function countsOf(values: readonly string[], known: readonly string[] = []): ReadonlyMap<string, number> {
  const counts = new Map(known.map((value) => [value, 0]));
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return counts;
}

/** The set of reasons is closed, so the number of series is limited. An object counts once for each reason. */
function problemsOf({ findings }: ManagerReport): Series {
  const problems = findings.filter((found) => isProblem(found) && found.reason !== "");
  const distinct = new Map(
    problems.map(({ object, name, reason }) => [`${object} ${name} ${reason}`, { object, reason }]),
  );
  const counts = Map.groupBy(distinct.values(), ({ object, reason }) => `${object} ${reason}`);
  return [...counts.values()].flatMap((same) =>
    same[0] === undefined ? [] : [[same[0], same.length] as const],
  );
}

function servicesWithProblems({ findings }: ManagerReport): number {
  const problems = findings.filter((found) => found.object === "Service" && isProblem(found));
  return new Set(problems.map(({ name }) => name)).size;
}

type Level = ManagerReport["accounts"][number]["budget"];

/** Only accounts whose cloud reports the value. */
const levels =
  (pick: (level: Level) => number | undefined) =>
  ({ accounts }: ManagerReport): Series =>
    accounts.flatMap(({ name, budget }) => {
      const value = pick(budget);
      return value === undefined ? [] : [[{ account: name }, value] as const];
    });

/** Only sources that were listed at least once. */
const listings =
  (pick: (source: ManagerReport["inventory"][number]) => number | undefined) =>
  ({ inventory }: ManagerReport): Series =>
    inventory.flatMap((one) => {
      const value = pick(one);
      return value === undefined ? [] : [[{ source: one.source }, value] as const];
    });

const outOfServiceStates: Readonly<Record<string, string>> = {
  OutOfServiceHeld: "held",
  OutOfServiceObserved: "observed",
};

const reasonsOfHolds = (findings: ManagerReport["findings"]): readonly string[] =>
  findings.flatMap(({ object, severity, reason }) =>
    object === "Node" && severity === "hold" ? [reason] : [],
  );

const gauges: readonly ReportGauge[] = [
  {
    name: "fairlead_nodes_uninitialized",
    help: "Nodes that are not initialized yet. Nodes of another cloud are not included.",
    onLeader: true,
    read: ({ nodesUninitialized }) => nodesUninitialized,
  },
  {
    name: "fairlead_node_deletions_held",
    help: "Nodes whose deletion is on hold although they have no instance, by reason; MassDeletionHeld: too many at once.",
    labels: ["reason"],
    onLeader: true,
    read: ({ findings }) => {
      const reasons = reasonsOfHolds(findings).filter((reason) => !(reason in outOfServiceStates));
      return [...countsOf(reasons, ["MassDeletionHeld"])].map(([reason, count]) => [{ reason }, count]);
    },
  },
  {
    name: "fairlead_nodes_out_of_service",
    help: "Nodes with the taint out-of-service that Fairlead set (tainted), and those that do not get it although their machine is stopped or gone: too many at once (held), or --out-of-service-taint=observe (observed).",
    labels: ["state"],
    onLeader: true,
    read: ({ findings, nodesOutOfService }) => {
      const reasons = reasonsOfHolds(findings);
      const kept = Object.entries(outOfServiceStates).map(([reason, state]) => {
        return [{ state }, reasons.filter((one) => one === reason).length] as const;
      });
      return [[{ state: "tainted" }, nodesOutOfService], ...kept];
    },
  },
  {
    name: "fairlead_removals_held",
    help: "Nodes, load balancers, routes and volumes that the mass limit holds: neither removed nor recreated.",
    labels: ["kind"],
    onLeader: true,
    read: ({ massLimits }) => massLimits.map(({ kind, held }) => [{ kind }, held.length]),
  },
  {
    name: "fairlead_removals_recent",
    help: "Nodes, load balancers, routes and volumes that count towards the mass limit, because they were removed or recreated within 10 minutes.",
    labels: ["kind"],
    onLeader: true,
    read: ({ massLimits }) => massLimits.map(({ kind, recent }) => [{ kind }, recent]),
  },
  {
    name: "fairlead_services_with_problems",
    help: "Services with an active warning.",
    onLeader: true,
    read: servicesWithProblems,
  },
  {
    name: "fairlead_foreign_nodes",
    help: "k3s and RKE2 Nodes with --foreign-nodes=targets. matched: a load balancer target. awaited: the cloud has not answered. unmatched: not a target; an event on the Node gives the reason.",
    labels: ["state"],
    onLeader: true,
    read: ({ foreignNodes }) =>
      [...Map.groupBy(foreignNodes, (state) => state)].map(
        ([state, all]) => [{ state }, all.length] as const,
      ),
  },
  {
    name: "fairlead_problems",
    help: "Services, Nodes, route tables, claims, PersistentVolumes and VolumeAttachments with an active problem, by its reason (docs/events.md and the provider's own).",
    labels: ["object", "reason"],
    onLeader: true,
    read: problemsOf,
  },
  {
    name: "fairlead_load_balancers_orphaned",
    help: "Load balancers with this cluster's mark that no Service needs.",
    onLeader: true,
    read: ({ orphans }) => orphans.length,
  },
  {
    name: "fairlead_load_balancers_possibly_orphaned",
    help: "Load balancers whose mark names no cluster, and no Service that this process knows. They may belong to another cluster; the command cleanup lists them.",
    onLeader: true,
    read: ({ possibleOrphans }) => possibleOrphans.length,
  },
  {
    name: "fairlead_load_balancers_shared",
    help: "Load balancers that several Services of this cluster share.",
    onLeader: true,
    read: ({ sharedBalancers }) => sharedBalancers.length,
  },
  {
    name: "fairlead_load_balancer_targets",
    help: "Targets of all load balancers, by their last known result in the cloud's health checks: healthy or unhealthy. Only for clouds that report it. The events of Services name the targets.",
    labels: ["health"],
    onLeader: true,
    read: ({ targetHealth }) =>
      Object.entries(targetHealth ?? {}).map(([health, count]) => [{ health }, count]),
  },
  {
    name: "fairlead_deprecations",
    help: "What the cloud and the API server have announced within a day: deprecated operations, types and images in use, warnings, and values that this version does not know, each once. The log and the event DeprecationAnnounced on the Lease have the names.",
    labels: ["api", "what"],
    read: ({ deprecations }) =>
      [...Map.groupBy(deprecations, ({ api, what }) => `${api} ${what}`).values()].flatMap((same) =>
        same[0] === undefined ? [] : [[{ api: same[0].api, what: same[0].what }, same.length] as const],
      ),
  },
  {
    name: "fairlead_cloud_budget_remaining",
    help: "Remaining requests, as reported by the cloud.",
    labels: ["account"],
    read: levels(({ remaining }) => remaining),
  },
  {
    name: "fairlead_cloud_budget_limit",
    help: "Request limit, as reported by the cloud.",
    labels: ["account"],
    read: levels(({ limit }) => limit),
  },
  {
    name: "fairlead_cloud_requests_waiting",
    help: "Requests that wait for the budget.",
    labels: ["account"],
    read: levels(({ waiting }) => waiting),
  },
  {
    name: "fairlead_inventory_age_seconds",
    help: "Age of the last complete listing of a source.",
    labels: ["source"],
    read: listings(({ ageSeconds }) => ageSeconds),
  },
  {
    name: "fairlead_inventory_instances",
    help: "Instances in the last complete listing of a source.",
    labels: ["source"],
    read: listings(({ objects }) => objects),
  },
  {
    name: "fairlead_change_stream_open",
    help: "Whether the connection is open over which the cloud reports changes. Only on the leader, and only for clouds with such a connection.",
    read: ({ changes }) =>
      changes === undefined ? [] : [[{}, changes.openForSeconds === undefined ? 0 : 1]],
  },
  {
    name: "fairlead_watch_age_seconds",
    help: "Time since the API server last sent anything about a watched resource; about a minute at most while the watch is healthy.",
    labels: ["resource"],
    read: ({ caches }) =>
      Object.entries(caches).map(([resource, { heardSecondsAgo }]) => [{ resource }, heardSecondsAgo]),
  },
  {
    name: "fairlead_caches_awaited",
    help: "Resources whose complete list the controllers wait for, after they became leader or after the API server was silent. Nothing is changed in the meantime.",
    read: ({ awaitedCaches }) => awaitedCaches.length,
  },
  {
    name: "fairlead_configuration_restart_pending",
    help: "Settings whose changed value takes effect after a restart of the process; /debug/state shows them.",
    read: ({ pendingRestart }) => pendingRestart.length,
  },
];

/** `report` is undefined before the manager exists. */
export function addReportMetrics(metrics: Metrics, report: () => ManagerReport | undefined): void {
  for (const { name, help, labels = [], onLeader = false, read } of gauges) {
    metrics.gaugeFrom(name, onLeader ? `${help} Only on the leader.` : help, labels, () => {
      const from = report();
      if (from === undefined || (onLeader && !from.leads)) return [];
      const values = read(from);
      return typeof values === "number" ? [[{}, values]] : values;
    });
  }
}
