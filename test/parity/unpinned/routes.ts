// What no test of upstream's pins of its route controller, and the tests of ours that do. Data only.

import type { Unpinned } from "./unpinned.ts";

/** 9.15.4, route controller. */
export const ofRoutes: readonly Unpinned[] = [
  {
    behaviour: "NetworkUnavailable results of reconcile",
    provedBy: [
      "every pod range gets a route to its node's machine, and the node says so [F58]",
      "dual stack: one route per range, and the node is reachable only when both are there [F63]",
    ],
    note: "D61",
  },
  {
    behaviour: "failing create and delete",
    provedBy: [
      "comes to the same end with a fault at any call, whether or not the call landed",
      "a route that fails holds up none of the others and is tried again alone",
    ],
    note: "D54",
  },
  {
    behaviour: "FailedToCreateRoute text",
    provedBy: ["upstream's message is on the node whose route could not be made"],
  },
  {
    behaviour: "node losing its CIDR",
    provedBy: ["a node that lost its range loses its route, and its condition is left alone"],
    note: "D58",
  },
  { behaviour: "blackhole with a known target", provedBy: ["a blackhole whose target is known is replaced"] },
  {
    behaviour: "different textual forms of one CIDR",
    provedBy: ["another spelling of a range is the same range"],
    note: "D52",
  },
  { behaviour: "concurrency limit", provedBy: ["at most so many changes at once"] },
  {
    behaviour: "ordering of delete and create",
    provedBy: [
      "a node that changed its address gets its route changed, the old one first [F61]",
      "a range that moved to another node has its old route removed before the new one is made",
    ],
  },
  {
    behaviour: "gate-off loop",
    provedBy: [
      "--route-reconciliation-period is kept exactly",
      "TestHandleNodeUpdate 3, upstream's way: without any change there is a look from time to time",
    ],
    note: "D55",
  },
  {
    behaviour: "rate limiting and requeue with the gate on",
    provedBy: [
      "what failed is tried again without any event",
      "a burst of nodes is one pass with one listing [F59]",
      "a listing that fails changes nothing, is said once and is tried again after growing rests",
    ],
    note: "D88",
  },
];
