// Every reason that the manager writes on events and conditions, or in the log where it is about no single object: the list
// behind docs/events.md. A test compares it with the code, both ways; providers may add reasons of their own.

import { onNodes } from "./nodes.ts";
import { onlyIfItLasts, type Reasons } from "./reason.ts";
import { onServices } from "./services.ts";

/** What a cloud answered, by kind of error: events on Nodes that join, and reasons of conditions everywhere. */
export const ofTheCloud: Reasons = {
  CloudObjectNotFound: {
    type: "Warning",
    when: "something that was there a moment ago is gone",
    whatToDo: onlyIfItLasts,
  },
  CloudConflict: { type: "Warning", when: "somebody else changed the same thing", whatToDo: onlyIfItLasts },
  CloudObjectBusy: { type: "Warning", when: "the cloud is still at something else", whatToDo: onlyIfItLasts },
  RefusedByCloud: {
    type: "Warning",
    when: "the cloud does not take what is asked for",
    whatToDo: "read its words",
  },
  QuotaExceeded: {
    type: "Warning",
    when: "a quota is full",
    whatToDo: "have it raised, or remove something",
  },
  CloudAuthFailed: {
    type: "Warning",
    when: "the cloud does not accept our credentials",
    whatToDo: "renew them; a changed file is read without a restart",
  },
  CloudPermissionMissing: {
    type: "Warning",
    when: "our credentials may not do this",
    whatToDo: "grant the operation that the message names",
  },
  CloudThrottled: { type: "Warning", when: "the cloud wants fewer calls", whatToDo: onlyIfItLasts },
  CloudUnavailable: {
    type: "Warning",
    when: "the cloud cannot be reached, or answers with a fault of its own",
    whatToDo: "nothing is deleted meanwhile; check the way to it when it lasts",
  },
};

export const onLeases: Reasons = {
  LeaderElection: {
    type: "Normal",
    when: "a replica became leader, or stopped leading; the message names it",
    upstream: true,
  },
};

/** Of `NetworkUnavailable`, where routes are managed. */
export const ofNetworks: Reasons = {
  RouteCreated: {
    type: "Normal",
    when: "`False`: every pod range of the Node has its route",
    upstream: true,
  },
  NoRouteCreated: {
    type: "Warning",
    when: "`True`: a route is missing",
    whatToDo: "look at the Node's events",
    upstream: true,
  },
};

/** About no single Node. */
export const inTheLog: Reasons = {
  RoutesSkipped: {
    type: "Warning",
    when: "`--cluster-cidr` is missing or wrong: no route is made or removed",
    whatToDo: "correct it",
  },
  RoutesUnknown: {
    type: "Warning",
    when: "the cloud's routes could not be listed: none is made or removed",
    whatToDo: onlyIfItLasts,
  },
  RoutesUnfinished: {
    type: "Warning",
    when: "a pass over the routes broke off; it is made again",
    whatToDo: onlyIfItLasts,
  },
  RouteFamilyUnsupported: {
    type: "Warning",
    when: "the cloud has no routes for a family: pod ranges of it get none",
    whatToDo: "route that family by other means",
  },
  RouteTableNearLimit: {
    type: "Warning",
    when: "the table of routes is at least four fifths full",
    whatToDo: "remove routes that nobody needs, or have the limit raised",
  },
  FailedToRemoveRoute: {
    type: "Warning",
    when: "a route of ours that no Node asks for could not be removed",
    whatToDo: "read the cloud's words",
  },
};

/** Of whatever the manager writes. */
export const allReasons: Reasons = {
  ...onNodes,
  ...ofTheCloud,
  ...onServices,
  ...onLeases,
  ...ofNetworks,
  ...inTheLog,
};
