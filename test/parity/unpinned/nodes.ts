// What no test of upstream's pins of its two node controllers, and the tests of ours that do. Data only.

import type { Unpinned } from "./unpinned.ts";

const contract = "0001-provider-contract";

/** 9.15.1, node controller. */
export const ofNodes: readonly Unpinned[] = [
  {
    behaviour: "event text",
    provedBy: [
      "gets its addresses first, then its id and labels in the same write that removes the taint [S4 F1 F3]",
    ],
  },
  {
    behaviour: "both histograms",
    provedBy: [
      "9.15.1: one update of each histogram when the taint goes, with the age of the Node, and none later [F15]",
    ],
  },
  {
    behaviour: "conflict retry from the lister",
    provedBy: ["is retried immediately when another writer changes it, and keeps that writer's taint"],
  },
  {
    behaviour: "address update that fails after the taint was removed",
    provedBy: ["keeps its taint when its addresses cannot be written, and is initialized later [S4]"],
    note: "D3",
  },
  {
    behaviour: "label overwrite where the node has another zone or type",
    provedBy: ["9.15.1: zone and type of the kubelet's are overwritten, in both spellings"],
  },
  {
    behaviour: "instance-type labels at all",
    provedBy: [
      "9.15.1: zone and type of the kubelet's are overwritten, in both spellings",
      "follows a resized machine",
    ],
  },
  {
    behaviour: "AdditionalLabels with a conflicting existing label",
    provedBy: [
      "sets other labels only on new Nodes and never overwrites them",
      "Test_syncNode 19: additional labels that are reserved or there already are left out",
    ],
  },
  { behaviour: "AdditionalLabels with V1", note: contract },
  {
    behaviour: "nil metadata in the periodic refresh",
    provedBy: [
      "9.15.1: a refresh that does not show the machine leaves its Node byte for byte, and says nothing",
    ],
  },
  {
    behaviour: "dual-stack change detection",
    provedBy: [
      "TestNodeAddressesChangeDetected, not pinned: two of one kind are no change for ever, as upstream's are [F6]",
      "reorders addresses while the Node joins, and ignores a different order later",
    ],
    note: "D13",
  },
  {
    behaviour: "exact patch bodies",
    provedBy: [
      "guards the uid, the absent provider id, the absent labels and the taints it replaces",
      "adds single labels to existing ones and never overwrites a provider id",
      "returns no patch when nothing changes",
    ],
    note: "D18",
  },
  {
    behaviour: "Hostname duplication when several exist",
    provedBy: [
      "9.15.1: several host names of the kubelet all stay, behind what the cloud has, and are not repeated",
    ],
  },
];

/** 9.15.2, lifecycle controller. */
export const ofLifecycle: readonly Unpinned[] = [
  {
    behaviour: "V2 shutdown",
    provedBy: ["adds the shutdown taint to its Node while stopped and removes it when started [F19]"],
    note: "D25",
  },
  {
    behaviour: "shutdown-taint removal when Ready returns",
    provedBy: [
      "causes no cloud request to remove the shutdown taint of a Ready Node [F19]",
      "removes the shutdown taint of a Ready Node",
    ],
  },
  {
    behaviour: "missing Ready condition",
    provedBy: ["treats a Node without Ready condition as not Ready"],
  },
  {
    behaviour: "NotImplemented from the V1 shutdown call",
    provedBy: ["keeps the shutdown taint when the machine's state is unknown"],
    note: contract,
  },
  {
    behaviour: "event types and texts",
    provedBy: ["9.15.2: a refused deletion is a Warning in upstream's words, one that worked is Normal"],
    note: "D23",
  },
  {
    behaviour: "deletionTimestamp nodes",
    provedBy: ["keeps its Node when that is paused, foreign, or already being deleted [F12]"],
    note: "D24",
  },
  {
    behaviour: "request count per pass",
    provedBy: [
      "9.15.2: a hundred Nodes that are not Ready and whose machines exist cost a few listings, and no write",
      "is checked in one listing with all other Nodes that are not Ready [F24]",
    ],
    note: "D26",
  },
];
