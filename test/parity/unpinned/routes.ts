// What no test of upstream's pins of its route controller, and the tests of ours that do. Data only.

import type { Unpinned } from "./unpinned.ts";

/** 9.15.4, route controller. */
export const ofRoutes: readonly Unpinned[] = [
  {
    behaviour: "NetworkUnavailable results of reconcile",
    provedBy: [
      "creates a route per pod range to the Node's machine and sets the Node's condition [F58]",
      "creates a route per range in dual stack, and reports the Node reachable only with both [F63]",
    ],
    note: "D61",
  },
  {
    behaviour: "failing create and delete",
    provedBy: [
      "reaches the same state with a fault at any call, whether or not the call took effect",
      "retries a failing route alone without delaying the others",
    ],
    note: "D54",
  },
  {
    behaviour: "FailedToCreateRoute text",
    provedBy: ["the Node of a failed route gets upstream's event"],
  },
  {
    behaviour: "node losing its CIDR",
    provedBy: ["a node that lost its range loses its route, and its condition is left alone"],
    note: "D58",
  },
  { behaviour: "blackhole with a known target", provedBy: ["a blackhole whose target is known is replaced"] },
  {
    behaviour: "different textual forms of one CIDR",
    provedBy: ["treats another spelling of a range as the same range"],
    note: "D52",
  },
  { behaviour: "concurrency limit", provedBy: ["change at most the configured number at the same time"] },
  {
    behaviour: "ordering of delete and create",
    provedBy: [
      "replaces the route of a Node with a new address, removing the old one first [F61]",
      "removes the old route of a range that moved to another Node before creating the new one",
    ],
  },
  {
    behaviour: "gate-off loop",
    provedBy: [
      "reconciles exactly every --route-reconciliation-period",
      "TestHandleNodeUpdate 3, upstream's way: without any change there is a look from time to time",
    ],
    note: "D55",
  },
  {
    behaviour: "rate limiting and requeue with the gate on",
    provedBy: [
      "what failed is tried again without any event",
      "handles a burst of Nodes with one reconcile and one listing [F59]",
      "changes nothing after a failed listing, reports it once and retries with growing backoff",
    ],
    note: "D88",
  },
];
