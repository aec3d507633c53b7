// Every reason that the manager writes on events and conditions, or in the log if it does not concern a single
// object: the source of docs/events.md and of the runbooks. A test compares it with the code in both directions. Providers may add their
// own reasons.

import { onNodes } from "./nodes.ts";
import { onlyIfItLasts, type Reasons, seeAnswer } from "./reason.ts";
import { inNetworkConditions, inRouteLog, onRouteLease, onRoutes } from "./routes.ts";
import { onServiceLease, onServices } from "./services.ts";
import { inVolumeLog, onVolumeLease, onVolumes } from "./volumes.ts";

/** The answer of the cloud, by kind of error: events on Nodes that join, and reasons of conditions. */
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
    when: "The cloud refused the request as invalid, or does not have what a setting names",
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
    whatToDo: "renew them; a changed file is read without a restart, a variable needs one",
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
    when: "The cloud cannot be reached, or answers with a server error. No Node is deleted until it responds",
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
    when: "The leader has another `--cluster-name` than the last leader; the message names both. What has the former name in its mark counts as that of another cluster. Where marks do not have this name, the event is Normal",
    whatToDo:
      "if the new name is a mistake, restart all replicas with the former one. If the cluster was renamed, and the event is a warning, move the marks with the command `marks`, as its page says",
  },
  DeprecationAnnounced: {
    type: "Warning",
    when: "The cloud or the API server has announced, within a day, that an operation, a type or an image in use is deprecated; has warned about a request; or has returned a value that this version does not know. The message has all of them. Nothing is changed because of it",
    whatToDo:
      "replace deprecated types and images that are in use. For requests and unknown values, check whether a newer version of Fairlead knows them, and report it otherwise",
  },
  LeaseDeleted: {
    type: "Warning",
    when: "The Lease was deleted. The leader created it again, with what the mass limits remember, and keeps leading",
    whatToDo: "nothing; the audit log of the API server shows who deleted it",
  },
  HoldReleased: {
    type: "Normal",
    when: "The annotation `fairlead.dev/release-hold` released what a mass limit held; the message names it",
  },
  HoldReleaseIgnored: {
    type: "Warning",
    when: "The annotation `fairlead.dev/release-hold` has an invalid value, or nothing was held. Nothing was released",
    whatToDo: "annotate the Lease as the message of the hold says",
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
