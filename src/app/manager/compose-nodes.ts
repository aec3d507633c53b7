// Composes the controllers of Nodes: node, node-lifecycle and route. Without usable flags it logs why routes are skipped; the other
// controllers still run.

import { routeTablesOf } from "../../cloud/ideal-route-tables.ts";
import { ForeignNodes } from "../../controllers/foreign-nodes.ts";
import { journalledCloudSend } from "../../controllers/kernel/journalled-send.ts";
import { createNodeWrites } from "../../controllers/kernel/node-writes.ts";
import { NodeController } from "../../controllers/node/controller.ts";
import { NodeHistory } from "../../controllers/node/history.ts";
import type { NodeDeps } from "../../controllers/node-deps.ts";
import { LifecycleController } from "../../controllers/node-lifecycle/controller.ts";
import { LifecycleHistory } from "../../controllers/node-lifecycle/history.ts";
import { RouteController } from "../../controllers/route/controller.ts";
import { readClusterCIDRs } from "../../controllers/route/desired/cluster-cidrs.ts";
import { RouteHistory } from "../../controllers/route/history.ts";
import type { EventSource } from "../../controllers/well-known.ts";
import { milliseconds } from "../../core/brand.ts";
import { messageIn, type Problem } from "../../core/problem.ts";
import type { Node } from "../../kube/objects.ts";
import type { Flags } from "../flags/flag-table.ts";
import { logProblem } from "../leadership/hold-release.ts";
import type { Composer, ControllerContext, HistoryContext } from "./controller-context.ts";

/** Whether --node-selector matches a Node; without a selector every Node matches. */
export function isSelectedBy(flags: Flags): (node: Node) => boolean {
  const required = [...(flags["node-selector"] ?? [])];
  return ({ metadata }) => required.every(([key, value]) => metadata.labels?.[key] === value);
}

/** Undefined unless --foreign-nodes makes k3s and RKE2 Nodes targets. */
export function foreignNodesOf(kept: HistoryContext): ForeignNodes | undefined {
  const { nodes, clock, isSelected, session } = kept;
  if (session.settings.flags["foreign-nodes"] !== "targets") return undefined;
  return new ForeignNodes({
    nodes,
    clock,
    isSelected,
    get inventory() {
      return kept.inventory;
    },
    get confirmAfter() {
      // Observe mode changes nothing, so nothing waits for a proof.
      return kept.isObserving ? milliseconds(0) : kept.session.settings.services.confirmAfter;
    },
  });
}

export function nodeDeps(context: ControllerContext, component: EventSource): NodeDeps {
  const { api, journal, clock, random, inventory, nodes, settings, log } = context;
  const { flags } = settings;
  return {
    nodes,
    inventory,
    clock,
    random,
    concurrency: flags["concurrent-node-syncs"],
    writes: createNodeWrites({
      api,
      journal,
      clock,
      mode: flags.mode,
      remember: (node) => nodes.remember(node),
    }),
    isSelected: isSelectedBy(flags),
    report: context.reporterOf(component, "Node"),
    note: (message, fields) => log.info(message, fields),
  };
}

export function nodesComposer(
  kept: HistoryContext,
  foreignNodes: ForeignNodes | undefined,
): Composer<NodeController> {
  const history = new NodeHistory(kept);
  return (context) => {
    const options = {
      foreignNodes,
      ...nodeDeps(context, "cloud-node-controller"),
      settings: context.settings.nodes,
      ownPrefixes: context.instances.labelPrefixes ?? [],
      onInitialized: (_: Node, ageMs: number) => context.metrics.initialized(ageMs),
    };
    return new NodeController(options, history);
  };
}

export function lifecycleComposer(kept: HistoryContext): Composer<LifecycleController> {
  const history = new LifecycleHistory(kept);
  return (context) => {
    const options = {
      ...nodeDeps(context, "cloud-node-lifecycle-controller"),
      settings: context.settings.lifecycle,
      removals: context.removals,
      onLookup: context.metrics.instanceLookup,
    };
    return new LifecycleController(options, history);
  };
}

/** Composes nothing if the cloud has no routes, or the flags disable them. */
export function routesComposer(kept: HistoryContext): Composer<RouteController | undefined> {
  const { session, log } = kept;
  const { flags } = session.settings;
  const ranges = readClusterCIDRs(flags["cluster-cidr"]);
  if (!flags["configure-cloud-routes"] || session.connected.cloud.routes === undefined)
    return () => undefined;
  if (ranges.kind === "skip") {
    log.warn(messageIn(ranges.problem));
    return () => undefined;
  }
  const { cidrs: clusterCIDRs } = ranges;
  const history = new RouteHistory(kept);
  return (context) => {
    const { clock, journal, connected, settings, metrics, removals, reportOnLease } = context;
    const { routes, pending } = connected.cloud;
    if (routes === undefined) return undefined;
    const options = {
      // Upstream's event source, with the underscore.
      ...nodeDeps(context, "route_controller"),
      send: journalledCloudSend({ journal, clock, mode: settings.flags.mode }),
      tables: routeTablesOf(routes, clock),
      pending,
      reportProblem: (problem: Problem) => logProblem(problem, log),
      removals,
      reportHold: (problem: Problem) => {
        logProblem(problem, log);
        reportOnLease("node-route", problem);
      },
      settings: settings.routes,
      clusterCIDRs,
      onSync: metrics.routeSync,
    };
    return new RouteController(options, history);
  };
}
