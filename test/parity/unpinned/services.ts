// What no test of upstream's pins of its service controller, and the tests of ours that do. Data only.

import type { Unpinned } from "./unpinned.ts";

const contract = "0001-provider-contract";

/** 9.15.3, service controller. */
export const ofServices: readonly Unpinned[] = [
  {
    behaviour: "order of finalizer, cloud call and status patch",
    provedBy: [
      "writes the finalizer before the first request that changes the cloud, and the status after it [F26 F27]",
      "takes the finalizer off only when the cloud has nothing left [F27]",
    ],
  },
  {
    behaviour: "ImplementedElsewhere in all three places",
    provedBy: [
      "an address that somebody else announces is never written by us, not even when the Service ends",
      "a Service with a class is none of ours: no event, no write, no request, not even when it goes [F28]",
    ],
    note: contract,
  },
  {
    behaviour: "UID change in one key",
    provedBy: [
      "a Service made again under its name within a second gets a balancer of its own, and the first one's goes [F26]",
    ],
    note: "D48",
  },
  {
    behaviour: "ensure failing after the finalizer was added",
    provedBy: ["9.15.3: an ensure that fails after the finalizer was added leaves it there and comes back"],
  },
  {
    behaviour: "delete when the balancer does not exist",
    provedBy: ["9.15.3: a balancer that does not exist any more is no obstacle to a deletion"],
  },
  {
    behaviour: "NotFound on finalizer removal",
    provedBy: ["9.15.3: a finalizer whose Service is gone meanwhile is nobody's error"],
  },
  {
    behaviour: "handlers: filter of additions",
    provedBy: ["one that comes", "one that comes and is none of ours", "one that comes with our finalizer"],
  },
  {
    behaviour: "handlers: filter of updates",
    provedBy: ["everything that upstream sees is seen, annotations of others apart"],
    note: "D39",
  },
  {
    behaviour: "handlers: retry by resync",
    provedBy: [
      "9.15.3: what has to be cleaned up and failed is tried again without any change of the Service",
    ],
  },
  {
    behaviour: "annotation changes in needsUpdate",
    provedBy: [
      "needsUpdate row 9: an annotation of the provider",
      "needsUpdate row 9: an annotation of somebody else: as upstream",
      "needsUpdate row 9: an annotation of somebody else: the other way round, as we do",
    ],
    note: "D39",
  },
  { behaviour: "sourceRanges changes in needsUpdate", provedBy: ["needsUpdate row 3: source ranges"] },
  {
    behaviour: "sessionAffinity changes in needsUpdate",
    provedBy: ["needsUpdate row 5: session affinity", "needsUpdate row 6: its time"],
  },
  { behaviour: "loadBalancerIP changes in needsUpdate", provedBy: ["needsUpdate row 7: loadBalancerIP"] },
  {
    behaviour: "class changes in needsUpdate",
    provedBy: [
      "needsUpdate row 2: a class is given",
      "needsUpdate row 2: a class is taken away",
      "9.15.3: a class given to a Service that has a balancer is refused by Kubernetes, and nothing is touched",
    ],
    note: "D40",
  },
  {
    behaviour: "RetryError from update",
    provedBy: ["9.15.3: targets that take the cloud a while are no error"],
  },
  {
    behaviour: "RetryError from delete",
    provedBy: ["9.15.3: a deletion that must wait for the cloud is no error"],
  },
  {
    behaviour: "events except one",
    provedBy: [
      "9.15.3: a Service's life is told in upstream's words and order, each once",
      "9.15.3: targets that cannot be changed are a failed update, then a failed sync, and the next one changes them",
      "9.15.3: without any node the balancer is made, and the Service says that there are none",
      "TestProcessServiceDeletion 1 2: nothing to delete is no error; what the cloud refuses is told in its own words",
    ],
  },
  {
    behaviour: "metrics",
    provedBy: ["a node that joins is one node sync and one host update per balancer; making one is neither"],
    note: "D91",
  },
  {
    behaviour: "node add and delete",
    provedBy: [
      "which changes of a node concern balancers one that comes",
      "which changes of a node concern balancers one that goes",
      "a burst of nodes is one change of each balancer",
    ],
  },
  {
    behaviour: "hosts empty",
    provedBy: [
      "9.15.3: when the last node goes the balancer stays, without targets, and the Service says that there are none",
    ],
  },
  {
    behaviour: "failed host update leading to ensure",
    provedBy: [
      "9.15.3: targets that cannot be changed are a failed update, then a failed sync, and the next one changes them",
      "TestNodeChangesForStableNodeSetEnabled 3: a call that fails is repeated until every balancer has the node",
    ],
  },
  {
    behaviour: "label value variants other than four",
    provedBy: [
      "excluded by the empty word",
      "excluded by any word",
      "excluded by a truth",
      "not excluded by a falsehood",
      "not excluded by zero",
    ],
  },
];
