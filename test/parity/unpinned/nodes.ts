// Behavior of the two node controllers that upstream's tests do not cover, and the tests here that do. Data only.

import type { Unpinned } from "./unpinned.ts";

const contract = "0001-provider-contract";

/** Behavior of the node controller. */
export const nodeBehaviors: readonly Unpinned[] = [
  {
    behavior: "event text",
    provedBy: [
      "a joining Node gets its addresses first, then its id and labels in the same write that removes the taint [S4 F1 F3]",
    ],
  },
  {
    behavior: "both histograms",
    provedBy: ["updates each histogram once, with the Node's age, when the taint is removed [F15]"],
  },
  {
    behavior: "conflict retry from the lister",
    provedBy: [
      "retries a joining Node immediately when another writer changes it, and keeps that writer's taint",
    ],
  },
  {
    behavior: "address update that fails after the taint was removed",
    provedBy: [
      "a joining Node keeps its taint when its addresses cannot be written, and is initialized later [S4]",
    ],
    note: "D3",
  },
  {
    behavior: "label overwrite where the node has a different zone or type",
    provedBy: ["replaces the kubelet's zone and instance type with the cloud's, in both spellings"],
  },
  {
    behavior: "instance-type labels at all",
    provedBy: [
      "replaces the kubelet's zone and instance type with the cloud's, in both spellings",
      "follows a resized machine",
    ],
  },
  {
    behavior: "AdditionalLabels with a conflicting existing label",
    provedBy: [
      "sets other labels only on new Nodes and never overwrites them",
      "Test_syncNode 19: leaves out additional labels that are reserved or already exist",
    ],
  },
  { behavior: "AdditionalLabels with V1", note: contract },
  {
    behavior: "nil metadata in the periodic refresh",
    provedBy: ["a refresh leaves a Node without its machine unchanged, and sends no event"],
  },
  {
    behavior: "dual-stack change detection",
    provedBy: [
      "TestNodeAddressesChangeDetected, not pinned: two equal dual-stack addresses are not a change, unlike in upstream [F6]",
      "reorders addresses while the Node joins, and ignores a different order later",
    ],
    note: "D13",
  },
  {
    behavior: "exact patch bodies",
    provedBy: [
      "a Node patch guards the uid, the absent provider id, the absent labels and the replaced taints",
      "a Node patch adds single labels to existing labels and never overwrites a provider id",
      "returns no Node patch when nothing changes",
    ],
    note: "D18",
  },
  {
    behavior: "Hostname duplication when several exist",
    provedBy: ["keeps several hostnames of the kubelet without duplicates, after the cloud's addresses"],
  },
];

/** Behavior of the node lifecycle controller. */
export const lifecycleBehaviors: readonly Unpinned[] = [
  {
    behavior: "V2 shutdown",
    provedBy: [
      "adds the shutdown taint while the machine is stopped, and removes it when the machine starts [F19]",
    ],
    note: "D25",
  },
  {
    behavior: "shutdown-taint removal when Ready returns",
    provedBy: [
      "removes the shutdown taint of a Ready Node without a cloud request [F19]",
      "removes the shutdown taint of a Ready Node",
    ],
  },
  {
    behavior: "missing Ready condition",
    provedBy: ["treats a Node without Ready condition as not Ready"],
  },
  {
    behavior: "NotImplemented from the V1 shutdown call",
    provedBy: ["keeps the shutdown taint when the machine's state is unknown"],
    note: contract,
  },
  {
    behavior: "event types and texts",
    provedBy: [
      "reports a rejected deletion as a Warning with upstream's message, and a successful deletion as Normal",
    ],
    note: "D23",
  },
  {
    behavior: "deletionTimestamp nodes",
    provedBy: ["keeps Nodes that are paused, foreign, or already being deleted [F12]"],
    note: "D24",
  },
  {
    behavior: "request count per pass",
    provedBy: [
      "needs a few listings and no write for a hundred Nodes that are not Ready but have machines",
      "checks all Nodes that are not Ready in one listing [F24]",
    ],
    note: "D26",
  },
];
