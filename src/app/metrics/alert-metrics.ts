// Gauges of what stays wrong until somebody looks, for alerts. They are read when somebody asks, and only the replica that
// leads has any: one that waits looks at nothing, so its figures would be stale and raise alerts about what is long mended.

import { isUninitialized } from "../../controllers/node-facts.ts";
import type { Node } from "../../kube/objects.ts";
import type { Metrics } from "../../telemetry/metrics.ts";

export interface AlertSources {
  readonly leads: () => boolean;
  readonly nodes: { list(): readonly Node[] };
  readonly isSelected: (node: Node) => boolean;
  /** Nodes that look wrong, by name, with the reason why one is not deleted although its machine is gone. */
  readonly candidates: ReadonlyMap<string, { readonly heldFor?: string | undefined }>;
  /** Undefined where the cloud has no balancers. */
  readonly service:
    | {
        readonly activeProblems: () => ReadonlyMap<string, unknown>;
        readonly orphans: () => readonly unknown[];
      }
    | undefined;
}

/** Gives back what makes them tell of a manager. */
export function createAlertMetrics(metrics: Metrics): (sources: AlertSources) => void {
  let sources: AlertSources | undefined;
  const gauge = (name: string, help: string, read: (from: AlertSources) => number): void =>
    metrics.gaugeFrom(name, `${help} Only on the replica that leads.`, [], () =>
      sources?.leads() === true ? [[{}, read(sources)] as const] : [],
    );
  gauge(
    "fairlead_nodes_uninitialized",
    "Nodes that still wait to be initialised.",
    ({ nodes, isSelected }) =>
      nodes.list().filter((node) => isSelected(node) && isUninitialized(node)).length,
  );
  metrics.gaugeFrom(
    "fairlead_node_deletions_held",
    "Nodes that are not deleted although their machine looks gone, by reason: MassDeletionHeld when too many do at once. Only on the replica that leads.",
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
  gauge(
    "fairlead_services_in_trouble",
    "Services of which a warning holds.",
    ({ service }) => service?.activeProblems().size ?? 0,
  );
  gauge(
    "fairlead_balancers_orphaned",
    "Load balancers with our mark that no Service asks for.",
    ({ service }) => service?.orphans().length ?? 0,
  );
  return (next) => {
    sources = next;
  };
}
