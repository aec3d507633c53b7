// What no test of upstream's pins of the process as a whole, and the tests of ours that do. Data only.

import type { Unpinned } from "./unpinned.ts";

/** 9.15.5, manager. */
export const ofTheManager: readonly Unpinned[] = [
  {
    behaviour: "start-up order",
    provedBy: [
      "9.15.5: first the caches are full, then the Lease is ours, and only then the cloud is asked",
      "9.15.5: wrong flags end it with 2, all of them told and nobody asked, as we do",
    ],
  },
  {
    behaviour: "skipped controllers",
    provedBy: [
      "9.15.5: what the cloud cannot do has no controller, and the others run",
      "a controller that is disabled by upstream's name does nothing",
    ],
  },
  {
    behaviour: "failing init",
    provedBy: [
      "9.15.5: a cloud without machines, and a cloud that cannot be set up, end the process with 2, as we do",
      "a failing controller releases the Lease, and its error is reported after that",
    ],
    note: "D93",
  },
  {
    behaviour: "leader election wiring",
    provedBy: [
      "two managers for two accounts of one cloud both lead, and each changes only its own Nodes [N15 F12]",
      "test/cluster/leadership.cluster.ts: a leader that is killed is followed once its Lease has expired [F67]",
      "test/cluster/leadership.cluster.ts: a replica that waits asks the cloud nothing, however many nodes join [F67]",
    ],
  },
  {
    behaviour: "leader migration wiring",
    provedBy: [
      "leader migration runs migrated controllers under the shared Lease and the others under the main one [F68]",
    ],
    note: "D73",
  },
  {
    behaviour: "health endpoint routing",
    provedBy: [
      "readyz fails while the cloud has not answered, healthz and livez pass [F90]",
      "TestMutableHealthzHandler: answers one of two checks by its path when it passes",
    ],
    note: "D80",
  },
  {
    behaviour: "authentication and authorization on each path",
    provedBy: [
      "reaches only the open paths and causes no TokenReview [F84]",
      "gives access when it is valid and the API server authorizes its user [F84]",
      "test/cluster/serving.cluster.ts: every page answers to no, wrong, low and right credentials as it should",
    ],
  },
  {
    behaviour: "flag help",
    provedBy: ["9.15.5: every flag is in it with its text, in groups, but for those that are deprecated"],
  },
  {
    behaviour: "deprecated flags",
    provedBy: ["9.15.5: a deprecated flag is taken, and said to be deprecated with what to use"],
  },
  {
    behaviour: "webhooks over HTTP",
    provedBy: [
      "is answered with its uid and counted, also when it is allowed [F48]",
      "admission endpoint refuses and counts a request with another content type",
      "test/cluster/serving.cluster.ts: the admission webhook behind the real API server",
    ],
    note: "D86",
  },
  { behaviour: "configz content", provedBy: ["configz has upstream's shape and Go's durations"] },
  {
    behaviour: "exit codes",
    provedBy: [
      "9.15.5: wrong flags end it with 2, all of them told and nobody asked, as we do",
      "ends the process with --exit-on-lost-lease, as upstream does [F67]",
      "test/cluster/leadership.cluster.ts: SIGTERM ends a leader with 0 in less than 2 s, and nobody holds the Lease then",
    ],
    note: "D68",
  },
];
