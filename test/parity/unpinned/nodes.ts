// What no test of upstream's pins of its two node controllers, and the tests of ours that do. Data only.

import type { Unpinned } from "./unpinned.ts";

const contract = "0001-provider-contract";

/** 9.15.1, node controller. */
export const ofNodes: readonly Unpinned[] = [
  {
    behaviour: "event text",
    provedBy: [
      "gets its addresses before its taint goes, and id and labels in the same write as that [S4 F1 F3]",
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
    provedBy: ["is tried again at once when somebody else changed it meanwhile, and keeps their taint"],
  },
  {
    behaviour: "address update that fails after the taint was removed",
    provedBy: ["keeps its taint when its addresses could not be written, and gets all of it later [S4]"],
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
      "a resized machine is followed",
    ],
  },
  {
    behaviour: "AdditionalLabels with a conflicting existing label",
    provedBy: [
      "others are set on new nodes only, and never over what is there",
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
      "reorders addresses while the node joins, and leaves a mere order alone later",
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
    provedBy: ["marks its node while it is stopped and unmarks it when it was started [F19]"],
    note: "D25",
  },
  {
    behaviour: "shutdown-taint removal when Ready returns",
    provedBy: [
      "unmarks a node that is Ready again without asking the cloud [F19]",
      "a Ready node loses the mark",
    ],
  },
  {
    behaviour: "missing Ready condition",
    provedBy: ["one that is missing a Ready condition counts as not Ready"],
  },
  {
    behaviour: "NotImplemented from the V1 shutdown call",
    provedBy: ["one of unknown state keeps its mark"],
    note: contract,
  },
  {
    behaviour: "event types and texts",
    provedBy: ["9.15.2: a refused deletion is a Warning in upstream's words, one that worked is Normal"],
    note: "D23",
  },
  {
    behaviour: "deletionTimestamp nodes",
    provedBy: ["is no reason to delete when its node is paused, foreign, or leaving already [F12]"],
    note: "D24",
  },
  {
    behaviour: "request count per pass",
    provedBy: [
      "9.15.2: a hundred Nodes that are not Ready and whose machines exist cost a few listings, and no write",
      "is looked at together with the others that are not Ready, whenever they became so [F24]",
    ],
    note: "D26",
  },
];
