// Behavior of the whole process that upstream's tests do not cover, and the tests here that do. Data only.

import type { Unpinned } from "./unpinned.ts";

/** Behavior of the manager. */
export const managerBehaviors: readonly Unpinned[] = [
  {
    behavior: "start-up order",
    provedBy: [
      "the manager takes the Lease, then fills its caches, and only then asks the cloud [N23]",
      "exits with 2 for invalid flags, reports all of them and contacts no server, unlike upstream",
    ],
  },
  {
    behavior: "skipped controllers",
    provedBy: [
      "skips controllers of missing capabilities, and runs all other controllers",
      "a controller that is disabled by upstream's name does not run",
    ],
  },
  {
    behavior: "failing init",
    provedBy: [
      "exits with 2 for a cloud without machines or with invalid settings, unlike upstream",
      "a failing controller releases the Lease, and its error is reported afterwards",
    ],
    note: "D93",
  },
  {
    behavior: "leader election wiring",
    provedBy: [
      "two managers for two accounts of one cloud both lead, and each changes only its own Nodes [N15 F12]",
      "test/cluster/leadership.cluster.ts: another replica leads once the Lease of a killed leader has expired [F67]",
      "test/cluster/leadership.cluster.ts: a standby replica sends no cloud requests while Nodes join [F67]",
    ],
  },
  {
    behavior: "leader migration wiring",
    provedBy: [
      "leader migration runs migrated controllers under the shared Lease, and all other controllers under the main Lease [F68]",
    ],
    note: "D73",
  },
  {
    behavior: "health endpoint routing",
    provedBy: [
      "readyz fails while the cloud has not answered, and healthz and livez pass [F90]",
      "TestMutableHealthzHandler: answers one of two checks by its path when it passes",
    ],
    note: "D80",
  },
  {
    behavior: "authentication and authorization on each path",
    provedBy: [
      "a request without credentials reaches only the open paths and causes no TokenReview [F84]",
      "a bearer token gives access when it is valid and the API server authorizes its user [F84]",
      "test/cluster/serving.cluster.ts: every page returns the correct status for missing, invalid, insufficient and sufficient credentials",
    ],
  },
  {
    behavior: "flag help",
    provedBy: ["lists every flag with its text in groups, except for deprecated flags"],
  },
  {
    behavior: "deprecated flags",
    provedBy: ["a deprecated flag is accepted with a warning that names its replacement"],
  },
  {
    behavior: "webhooks over HTTP",
    provedBy: [
      "an admission review is answered with its uid and counted, even when it is allowed [F48]",
      "admission endpoint refuses and counts a request with another content type",
      "test/cluster/serving.cluster.ts: the admission webhook behind the real API server",
    ],
    note: "D86",
  },
  {
    behavior: "configz content",
    provedBy: [
      "configz has upstream's structure, and durations in Go's format",
      "configz contains the pod CIDR and sync settings, and no leader migration by default",
      "configz contains the effective leader migration",
    ],
  },
  {
    behavior: "exit codes",
    provedBy: [
      "exits with 2 for invalid flags, reports all of them and contacts no server, unlike upstream",
      "losing the Lease ends the process with --exit-on-lost-lease, as in upstream [F67]",
      "test/cluster/leadership.cluster.ts: exits with 0 after SIGTERM, and releases the Lease of the leader",
    ],
    note: "D68",
  },
];
