// Every reason that the manager writes on events and conditions, or in the log if it does not concern a single
// object: the source of docs/events.md. A test compares it with the code in both directions. Providers may add their
// own reasons.

import { onNodes } from "./nodes.ts";
import { onlyIfItLasts, type Reasons, seeAnswer } from "./reason.ts";
import { onServices } from "./services.ts";
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
  ...onVolumeLease,
  LeaderElection: {
    type: "Normal",
    when: "A replica became leader or stopped leading; the message names it",
    upstream: true,
  },
  MassRouteChangeHeld: {
    type: "Warning",
    when: "More than `--removal-limit` allows would be removed, because Nodes vanished without a deletion, or created again, because the cloud no longer lists them. None of these routes is changed",
    whatToDo:
      "check the API server and the cloud; to change the routes anyway, annotate the Lease with `fairlead.dev/release-hold=routes`",
  },
  FirewallChangeHeld: {
    type: "Warning",
    when: "More ports of the Nodes would be closed than `--removal-limit` allows, and too few Services were seen to be deleted or changed. No port is closed; ports of new Services are opened",
    whatToDo:
      "check which cluster the kubeconfig names, and whether etcd was restored; to close the ports anyway, set `--removal-limit=off` until they are closed",
  },
  ClusterNameChanged: {
    type: "Warning",
    when: "The leader has another `--cluster-name` than the last leader; the message names both. What has the former name in its mark counts as that of another cluster. Where marks do not have this name, the event is Normal",
    whatToDo:
      "if the new name is a mistake, restart all replicas with the former one. If the cluster was renamed, and the event is a warning, move the marks with the command `marks`, as its page says",
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

/** The reasons of the condition `NetworkUnavailable`, where routes are managed. */
export const ofNetworks: Reasons = {
  RouteCreated: {
    type: "Normal",
    when: "`False`: every pod range of the Node has its route",
    upstream: true,
  },
  NoRouteCreated: {
    type: "Warning",
    when: "`True`: a route is missing",
    whatToDo: "check the events of the Node",
    upstream: true,
  },
};

/** Reasons that concern no single Node. */
export const inTheLog: Reasons = {
  ...inVolumeLog,
  RoutesSkipped: {
    type: "Warning",
    when: "`--cluster-cidr` is missing or invalid. No route is created or removed",
    whatToDo: "correct the flag",
  },
  RoutesUnknown: {
    type: "Warning",
    when: "The routes of the cloud could not be listed. No route is created or removed: Nodes with routes keep them, and new Nodes wait. `explain` and `/status` show it for the route table and for each Node without a route",
    whatToDo:
      "see the message for the cloud's answer: an outage ends without you; for a refusal, check the credentials, their permissions, and the network or router of the cloud configuration",
  },
  RoutesUnfinished: {
    type: "Warning",
    when: "A reconcile of the routes failed and will be retried",
    whatToDo: onlyIfItLasts,
  },
  RouteFamilyUnsupported: {
    type: "Warning",
    when: "The cloud does not support routes for an address family. Its pod ranges get no route",
    whatToDo: "route that family by other means",
  },
  RouteTableNearLimit: {
    type: "Warning",
    when: "The route table is at least 80 % full",
    whatToDo: "remove unused routes, or raise the limit",
  },
  FailedToRemoveRoute: {
    type: "Warning",
    when: "A route that no Node needs could not be removed",
    whatToDo: seeAnswer,
  },
};

export const allReasons: Reasons = {
  ...onNodes,
  ...ofTheCloud,
  ...onServices,
  ...onVolumes,
  ...onLeases,
  ...ofNetworks,
  ...inTheLog,
};
