// Every reason that the manager writes on events and conditions, or in the log if it does not concern a single
// object. This is the source of docs/events.md and of the runbooks. A test compares it with the code in both
// directions. Providers may add their own reasons.

import { onNodes } from "./nodes.ts";
import { onlyIfItLasts, type Reasons, seeAnswer } from "./reason.ts";
import { inNetworkConditions, inRouteLog, onRouteLease, onRoutes } from "./routes.ts";
import { onServiceLease, onServices } from "./services.ts";
import { inVolumeLog, onVolumeLease, onVolumes } from "./volumes.ts";

/** The cloud's response, by kind of error: events on Nodes that join, and reasons of conditions. */
export const ofTheCloud: Reasons = {
  CloudObjectNotFound: {
    type: "Warning",
    when: "An object that existed a moment ago is gone",
    whatToDo: onlyIfItLasts,
  },
  CloudConflict: { type: "Warning", when: "Another client changed the same object", whatToDo: onlyIfItLasts },
  CloudObjectBusy: {
    type: "Warning",
    when: "The cloud is still applying another change to the object",
    whatToDo: onlyIfItLasts,
  },
  RefusedByCloud: {
    type: "Warning",
    when: "The cloud rejected the request as invalid, or an object that a setting names does not exist",
    whatToDo: seeAnswer,
  },
  QuotaExceeded: {
    type: "Warning",
    when: "A quota is exhausted",
    whatToDo: "raise the quota, or delete unused objects",
  },
  CloudAuthFailed: {
    type: "Warning",
    when: "The cloud rejected the credentials",
    whatToDo:
      "renew the credentials. A changed file is reloaded; a changed environment variable needs a restart",
  },
  CloudPermissionMissing: {
    type: "Warning",
    when: "The credentials lack a permission",
    whatToDo: "grant the operation that the message names",
  },
  CloudThrottled: {
    type: "Warning",
    when: "The cloud limits the request rate",
    whatToDo: onlyIfItLasts,
  },
  CloudUnavailable: {
    type: "Warning",
    when: "The cloud is unreachable or returns server errors. No Node is deleted until it responds",
    whatToDo: "if it lasts, check the endpoint and the network",
  },
};

export const onLeases: Reasons = {
  LeaderElection: {
    type: "Normal",
    when: "A replica became leader or stopped leading; the message names it",
    upstream: true,
  },
  ClusterNameChanged: {
    type: "Warning",
    when: "The leader's `--cluster-name` differs from the last leader's; the message gives both names. Objects marked with the former name now belong to another cluster. The event is Normal in clouds whose marks do not contain the name",
    whatToDo:
      "if the new name is a mistake, restart all replicas with the former name. If the cluster was renamed and the event is a warning, move the marks with the command `marks`",
  },
  DeprecationAnnounced: {
    type: "Warning",
    when: "In the last day, the cloud or the API server announced that an operation, type or image in use is deprecated, warned about a request, or returned a value that this version does not know. The message lists all announcements. Nothing changes because of them",
    whatToDo:
      "replace deprecated types and images. For requests and unknown values, upgrade Fairlead if a newer version handles them; otherwise report them",
  },
  LeaseDeleted: {
    type: "Warning",
    when: "The Lease was deleted. The leader recreated it, with the memory of the mass limits, and keeps leading",
    whatToDo: "nothing; the API server's audit log shows who deleted the Lease",
  },
  HoldReleased: {
    type: "Normal",
    when: "The annotation `fairlead.dev/release-hold` released held objects, which the message names",
  },
  HoldReleaseIgnored: {
    type: "Warning",
    when: "The annotation `fairlead.dev/release-hold` is invalid, or nothing was held. Nothing was released",
    whatToDo: "set the annotation as the message of the hold describes",
  },
};

export const allReasons: Reasons = {
  ...onNodes,
  ...ofTheCloud,
  ...onServices,
  ...onServiceLease,
  ...onRoutes,
  ...inNetworkConditions,
  ...onRouteLease,
  ...inRouteLog,
  ...onVolumes,
  ...onVolumeLease,
  ...inVolumeLog,
  ...onLeases,
};
