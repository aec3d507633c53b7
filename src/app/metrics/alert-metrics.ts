// Gauges for alerts on lasting problems. They are computed on each scrape, and only on the leader: a standby replica does not
// reconcile, so its figures would be stale.

import { isUninitialized } from "../../controllers/node-facts.ts";
import { type RemovalHistory, type RemovalKind, removalKinds } from "../../controllers/removal-history.ts";
import type { Node } from "../../kube/objects.ts";
import type { Metrics } from "../../telemetry/metrics.ts";

export interface AlertSources {
  readonly leads: () => boolean;
  readonly nodes: { list(): readonly Node[] };
  readonly isSelected: (node: Node) => boolean;
  /** Whether the Node has the provider id of another cloud, whose manager must initialize it. */
  readonly isForeign: (node: Node) => boolean;
  /** Nodes without an instance or with a stopped one, by name, with the reason why a deletion is on hold. */
  readonly candidates: ReadonlyMap<string, { readonly heldFor?: string | undefined }>;
  /** What keeps Nodes from being initialized, by name. */
  readonly nodeProblems: ReadonlyMap<string, { readonly problem: { readonly reason: string } }>;
  /** Problems of the routes of Nodes, by name. */
  readonly routeProblems: () => ReadonlyMap<string, readonly { readonly reason: string }[]>;
  readonly removals: Pick<RemovalHistory, "count" | "held">;
  /** Undefined if the cloud has no load balancers. */
  readonly service:
    | {
        /** By Service: the reason and message of each active warning. */
        readonly activeProblems: () => ReadonlyMap<string, readonly string[]>;
        readonly orphans: () => readonly unknown[];
      }
    | undefined;
}

/** Reasons are a closed list, so the number of series is limited. */
function problemsOf({ nodeProblems, routeProblems, service }: AlertSources) {
  const reasonsOf = {
    Node: [
      ...[...nodeProblems.values()].map(({ problem }) => [problem.reason]),
      ...[...routeProblems().values()].map((problems) => problems.map(({ reason }) => reason)),
    ],
    Service: [...(service?.activeProblems().values() ?? [])].map((texts) =>
      texts.map((text) => text.split(" ", 1)[0] ?? ""),
    ),
  };
  return Object.entries(reasonsOf).flatMap(([object, all]) => {
    const counts = new Map<string, number>();
    for (const reason of all.flatMap((reasons) => [...new Set(reasons)]))
      if (reason !== "") counts.set(reason, (counts.get(reason) ?? 0) + 1);
    return [...counts].map(([reason, count]) => [{ object, reason }, count] as const);
  });
}

/** Returns the function that sets the manager they are computed from. */
export function createAlertMetrics(metrics: Metrics): (sources: AlertSources) => void {
  let sources: AlertSources | undefined;
  const gauge = (name: string, help: string, read: (from: AlertSources) => number): void =>
    metrics.gaugeFrom(name, `${help} Only on the leader.`, [], () =>
      sources?.leads() === true ? [[{}, read(sources)] as const] : [],
    );
  gauge(
    "fairlead_nodes_uninitialized",
    "Nodes that are not initialized yet. Nodes of another cloud are not included.",
    ({ nodes, isSelected, isForeign }) =>
      nodes.list().filter((node) => isUninitialized(node) && isSelected(node) && !isForeign(node)).length,
  );
  metrics.gaugeFrom(
    "fairlead_node_deletions_held",
    "Nodes whose deletion is on hold although they have no instance, by reason; MassDeletionHeld: too many at once. Only on the leader.",
    ["reason"],
    () => {
      if (sources?.leads() !== true) return [];
      const counts = new Map([["MassDeletionHeld", 0]]);
      for (const { heldFor } of sources.candidates.values()) {
        if (heldFor !== undefined) counts.set(heldFor, (counts.get(heldFor) ?? 0) + 1);
      }
      return [...counts].map(([reason, count]) => [{ reason }, count] as const);
    },
  );
  const byKind = (
    name: string,
    help: string,
    read: (from: AlertSources, kind: RemovalKind) => number,
  ): void =>
    metrics.gaugeFrom(name, `${help} Only on the leader.`, ["kind"], () => {
      const from = sources;
      if (from?.leads() !== true) return [];
      return removalKinds.map((kind) => [{ kind }, read(from, kind)] as const);
    });
  byKind(
    "fairlead_removals_held",
    "Nodes, load balancers and routes that the mass limit holds: neither removed nor created again.",
    ({ removals }, kind) => removals.held(kind).length,
  );
  byKind(
    "fairlead_removals_recent",
    "Nodes, load balancers and routes that count towards the mass limit, because they were removed or created again within 10 minutes.",
    ({ removals }, kind) => removals.count(kind),
  );
  gauge(
    "fairlead_services_with_problems",
    "Services with an active warning.",
    ({ service }) => service?.activeProblems().size ?? 0,
  );
  metrics.gaugeFrom(
    "fairlead_problems",
    "Services and Nodes with an active problem, by its reason (docs/events.md and the provider's own). Only on the leader.",
    ["object", "reason"],
    () => (sources?.leads() === true ? problemsOf(sources) : []),
  );
  gauge(
    "fairlead_balancers_orphaned",
    "Load balancers with this cluster's mark that no Service needs.",
    ({ service }) => service?.orphans().length ?? 0,
  );
  return (next) => {
    sources = next;
  };
}
