// Reasons about routes: on Nodes, in the condition `NetworkUnavailable`, on the Lease, and in the log. Data only.

import { onlyIfItLasts, type Reasons, seeAnswer } from "./reason.ts";

export const onRoutes: Reasons = {
  MassRouteRecreationHeld: {
    type: "Warning",
    when: "The cloud no longer lists the Node's route, nor the routes of too many other Nodes. The route is not recreated, and `NetworkUnavailable` does not change",
    whatToDo: "see `MassRouteChangeHeld`",
  },
  RouteCreatedButNotListed: {
    type: "Warning",
    when: "Fairlead sent two requests to create a route of the Node, and no listing ever showed it. Fairlead does not try a third time until a listing shows the route, and `NetworkUnavailable` does not change",
    whatToDo:
      "check the credential, project, network and filter in the cloud configuration; to try once more, annotate the Lease with `fairlead.dev/release-hold=routes`",
  },
  FailedToCreateRoute: {
    type: "Warning",
    when: "A route could not be created; reported at every attempt, as upstream does",
    whatToDo: seeAnswer,
    upstream: true,
  },
  RouteWaitsForMachine: {
    type: "Warning",
    uncounted: "once",
    when: "The cloud does not show the Node's instance yet, so its pod ranges get no route. A Node that already has its routes keeps them and is not reported",
    whatToDo: "if it lasts, compare the Node's name and provider id with the cloud",
  },
  RouteUnknown: {
    type: "Warning",
    when: "A route change is in progress in the cloud, and several attempts to read its result failed",
    whatToDo: onlyIfItLasts,
  },
  InvalidPodCIDR: {
    type: "Warning",
    when: "The pod range is not a valid CIDR",
    whatToDo: "correct `spec.podCIDRs`, which requires a new Node",
  },
  PodCIDROutsideCluster: {
    type: "Warning",
    when: "The pod range is outside `--cluster-cidr`, so it gets no route",
    whatToDo: "extend the flag if the range is correct",
  },
  NoRouteTable: {
    type: "Warning",
    when: "The cloud has several route tables, but none serves the Node's instance, so its pod ranges get no route",
    whatToDo: "configure the route table of its network, or attach the instance to a network that has one",
  },
  PodCIDRTaken: {
    type: "Warning",
    when: "Another Node has the same pod range",
    whatToDo: "find the two allocators of pod ranges and disable one of them",
  },
  RouteTaken: {
    type: "Warning",
    when: "A route that Fairlead does not own covers this pod range and leads to another target",
    whatToDo: "remove that route, or give the Node another range",
  },
};

/** The reasons of the condition `NetworkUnavailable`, where routes are managed. */
export const inNetworkConditions: Reasons = {
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

export const onRouteLease: Reasons = {
  MassRouteChangeHeld: {
    type: "Warning",
    when: "More routes than `--removal-limit` allows would be removed, because Nodes vanished without a deletion, or recreated, because the cloud no longer lists the routes. None of these routes is changed",
    whatToDo:
      "check the API server and the cloud; to change the routes anyway, annotate the Lease with `fairlead.dev/release-hold=routes`",
  },
};

/** Reasons that concern no single Node. */
export const inRouteLog: Reasons = {
  RoutesSkipped: {
    type: "Warning",
    when: "`--cluster-cidr` is missing or invalid. No route is created or removed",
    whatToDo: "correct the flag",
  },
  RoutesUnknown: {
    type: "Warning",
    when: "Listing the routes failed. No route is created or removed: Nodes with routes keep them, and new Nodes wait. `explain` and `/status` report it for the route table and for each Node without a route",
    whatToDo:
      "see the cloud's answer in the message: an outage needs no action; after a refusal, check the credentials, their permissions, and the network or router in the cloud configuration",
  },
  RoutesUnfinished: {
    type: "Warning",
    when: "A route reconcile failed and will be retried",
    whatToDo: onlyIfItLasts,
  },
  RouteFamilyUnsupported: {
    type: "Warning",
    when: "The cloud does not support routes for an address family. Pod ranges of this family get no route",
    whatToDo: "route that family by other means",
  },
  RouteTableNearLimit: {
    type: "Warning",
    when: "The route table is at least 80 % full",
    whatToDo: "remove unused routes, or raise the limit",
  },
  FailedToRemoveRoute: {
    type: "Warning",
    when: "Removing a route that no Node needs failed",
    whatToDo: seeAnswer,
  },
};
