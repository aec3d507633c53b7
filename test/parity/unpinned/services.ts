// What no test of upstream's pins of its service controller, and the tests of ours that do. Data only.

import type { Unpinned } from "./unpinned.ts";

const contract = "0001-provider-contract";

/** 9.15.3, service controller. */
export const ofServices: readonly Unpinned[] = [
  {
    behaviour: "order of finalizer, cloud call and status patch",
    provedBy: [
      "the finalizer is written before the first change in the cloud, and the status after it [F26 F27]",
      "the finalizer is removed only when the cloud has nothing left [F27]",
    ],
  },
  {
    behaviour: "ImplementedElsewhere in all three places",
    provedBy: [
      "an address that another program announces is never written, not even when the Service is deleted",
      "a Service with a class gets no event, write or request, not even at its deletion [F28]",
    ],
    note: contract,
  },
  {
    behaviour: "UID change in one key",
    provedBy: [
      "a Service that is recreated within a second gets a new load balancer, and the old one is deleted [F26]",
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
    provedBy: [
      "isRelevantChange accepts a new Service",
      "ignores a new Service of another type",
      "accepts a new Service of another type with our finalizer",
    ],
  },
  {
    behaviour: "handlers: filter of updates",
    provedBy: ["accepts every change that upstream accepts, except foreign annotations"],
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
    provedBy: [
      "a Node that joins counts as one node sync and one host update per load balancer, and a new Service as neither",
    ],
    note: "D91",
  },
  {
    behaviour: "node add and delete",
    provedBy: [
      "isRelevantNodeChange accepts a new Node",
      "isRelevantNodeChange accepts a removed Node",
      "a burst of Nodes changes each load balancer once",
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
      "excludes with an empty label value",
      "excludes with any label value",
      "excludes with a true label value",
      "includes with a false label value",
      "includes with a zero label value",
    ],
  },
];
