// Behavior of the route controller that upstream's tests do not cover, and the tests here that do. Data only.

import type { Unpinned } from "./unpinned.ts";

/** Behavior of the route controller. */
export const routeBehaviors: readonly Unpinned[] = [
  {
    behavior: "NetworkUnavailable results of reconcile",
    provedBy: [
      "creates a route per pod range to the Node's machine and sets the Node's condition [F58]",
      "creates a route per range in dual stack, and reports the Node reachable only with both [F63]",
    ],
    note: "D61",
  },
  {
    behavior: "failing create and delete",
    provedBy: [
      "reaches the same state with a fault at any call, whether or not the call took effect",
      "retries a failing route without delaying other routes",
    ],
    note: "D54",
  },
  {
    behavior: "FailedToCreateRoute text",
    provedBy: ["the Node of a failed route gets upstream's event"],
  },
  {
    behavior: "node losing its CIDR",
    provedBy: ["a Node that lost its pod range loses its route and keeps its condition"],
    note: "D58",
  },
  {
    behavior: "blackhole with a known target",
    provedBy: ["a blackhole route to a known target is replaced"],
  },
  {
    behavior: "different textual forms of one CIDR",
    provedBy: ["treats a different spelling of a range as the same range"],
    note: "D52",
  },
  {
    behavior: "concurrency limit",
    provedBy: [
      "changes at most the configured number of routes at the same time when each route needs a separate call",
    ],
  },
  {
    behavior: "ordering of delete and create",
    provedBy: [
      "replaces the route of a Node with a new address, removing the old route first [F61]",
      "when a range moves to another Node, removes the old route before creating the new route",
    ],
  },
  {
    behavior: "gate-off loop",
    provedBy: [
      "reconciles exactly once per --route-reconciliation-period",
      "TestHandleNodeUpdate 3 (upstream): routes are reconciled periodically without any change",
    ],
    note: "D55",
  },
  {
    behavior: "rate limiting and requeue with the gate on",
    provedBy: [
      "failed routes are retried without any event",
      "handles a burst of Nodes with one reconcile and one listing [F59]",
      "changes nothing after a failed listing, reports it once and retries with growing backoff",
    ],
    note: "D88",
  },
];
