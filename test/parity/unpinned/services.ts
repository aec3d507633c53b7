// Behavior of the service controller that upstream's tests do not cover, and the tests here that do. Data only.

import type { Unpinned } from "./unpinned.ts";

const contract = "0001-provider-contract";

/** Behavior of the service controller. */
export const serviceBehaviors: readonly Unpinned[] = [
  {
    behavior: "order of finalizer, cloud call and status patch",
    provedBy: [
      "writes the finalizer before the first change in the cloud, and the status afterwards [F26 F27]",
      "removes the finalizer only when nothing is left in the cloud [F27]",
    ],
  },
  {
    behavior: "ImplementedElsewhere in all three places",
    provedBy: [
      "never writes an address that another program announces, not even when the Service is deleted",
      "a Service with a class gets no event, write or request, not even at its deletion [F28]",
    ],
    note: contract,
  },
  {
    behavior: "UID change in one key",
    provedBy: [
      "a Service that is recreated within a second gets a new load balancer, and the old load balancer is deleted [F26]",
    ],
    note: "D48",
  },
  {
    behavior: "ensure failing after the finalizer was added",
    provedBy: ["a failed ensure keeps the new finalizer and is retried"],
  },
  {
    behavior: "delete when the balancer does not exist",
    provedBy: ["a load balancer that no longer exists does not block the Service's deletion"],
  },
  {
    behavior: "NotFound on finalizer removal",
    provedBy: ["a missing Service during the finalizer's removal is not an error"],
  },
  {
    behavior: "handlers: filter of additions",
    provedBy: [
      "isRelevantChange accepts a new Service",
      "ignores a new Service of a different type",
      "accepts a new Service of a different type with Fairlead's finalizer",
    ],
  },
  {
    behavior: "handlers: filter of updates",
    provedBy: ["accepts every change that upstream accepts, except foreign annotations"],
    note: "D39",
  },
  {
    behavior: "handlers: retry by resync",
    provedBy: ["a failed cleanup is retried without a change of the Service"],
  },
  {
    behavior: "annotation changes in needsUpdate",
    provedBy: [
      "needsUpdate row 9: accepts a provider annotation",
      "needsUpdate row 9, a foreign annotation: upstream's result",
      "needsUpdate row 9, a foreign annotation: the opposite result in Fairlead",
    ],
    note: "D39",
  },
  {
    behavior: "sourceRanges changes in needsUpdate",
    provedBy: ["needsUpdate row 3: accepts new source ranges"],
  },
  {
    behavior: "sessionAffinity changes in needsUpdate",
    provedBy: [
      "needsUpdate row 5: accepts another session affinity",
      "needsUpdate row 6: accepts another session affinity timeout",
    ],
  },
  {
    behavior: "loadBalancerIP changes in needsUpdate",
    provedBy: ["needsUpdate row 7: accepts another loadBalancerIP"],
  },
  {
    behavior: "class changes in needsUpdate",
    provedBy: [
      "needsUpdate row 2: accepts a new class",
      "needsUpdate row 2: accepts a removed class",
      "Kubernetes rejects a class on a Service with a load balancer, and nothing changes",
    ],
    note: "D40",
  },
  {
    behavior: "RetryError from update",
    provedBy: ["a slow target update is not an error"],
  },
  {
    behavior: "RetryError from delete",
    provedBy: ["a deletion that waits for the cloud is not an error"],
  },
  {
    behavior: "events except one",
    provedBy: [
      "events of a Service have upstream's messages and order, each once",
      "reports failed target changes as a failed update, then as a failed sync, and then the successful update",
      "a Service without any Node gets a load balancer and a warning that there are no Nodes",
      "TestProcessServiceDeletion 1 2: deleting nothing is not an error, and a refused deletion is reported with the cloud's message",
    ],
  },
  {
    behavior: "metrics",
    provedBy: [
      "counts a joining Node as one node sync and one host update per load balancer, and a new Service as neither",
    ],
    note: "D91",
  },
  {
    behavior: "node add and delete",
    provedBy: [
      "isRelevantNodeChange accepts a new Node",
      "isRelevantNodeChange accepts a removed Node",
      "a burst of Nodes changes each load balancer once",
    ],
  },
  {
    behavior: "hosts empty",
    provedBy: ["a load balancer stays without targets and with a warning when the last Node is deleted"],
  },
  {
    behavior: "failed host update leading to ensure",
    provedBy: [
      "reports failed target changes as a failed update, then as a failed sync, and then the successful update",
      "TestNodeChangesForStableNodeSetEnabled 3: a failed call is repeated until every load balancer has the Node",
    ],
  },
  {
    behavior: "label value variants other than four",
    provedBy: [
      "excludes with an empty label value",
      "excludes with any label value",
      "excludes with a true label value",
      "includes with a false label value",
      "includes with a zero label value",
    ],
  },
];
