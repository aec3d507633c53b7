// Reasons about routes: on Nodes, in the condition `NetworkUnavailable`, on the Lease, and in the log. Data only.

import { onlyIfItLasts, type Reasons, seeAnswer } from "./reason.ts";

export const onRoutes: Reasons = {
  MassRouteRecreationHeld: {
    type: "Warning",
    when: "The cloud no longer lists the route of the Node, nor those of too many others. The route is not created again, and `NetworkUnavailable` stays as it is",
    whatToDo: "see `MassRouteChangeHeld`",
  },
  RouteCreatedButNotListed: {
    type: "Warning",
    when: "Fairlead created a route of the Node twice, and no listing ever showed it. It is not created again until a listing does, and `NetworkUnavailable` stays as it is",
    whatToDo:
      "check the credential, project, network and filter of the cloud configuration; to create the route once more, annotate the Lease with `fairlead.dev/release-hold=routes`",
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
    when: "The cloud has no instance for the Node yet, so its pod ranges get no route. A Node that has its routes keeps them, and is not reported",
    whatToDo: "if it lasts, compare its name and provider id with the cloud",
  },
  RouteUnknown: {
    type: "Warning",
    when: "A route change is running in the cloud, and its result could not be read for several attempts",
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
    whatToDo: "extend the flag if the range is right",
  },
  NoRouteTable: {
    type: "Warning",
    when: "The cloud has several route tables, and none serves the instance of the Node, so its pod ranges get no route",
    whatToDo: "configure the route table of its network, or attach the instance to a network that has one",
  },
  PodCIDRTaken: {
    type: "Warning",
    when: "Another Node has the same pod range",
    whatToDo: "find the second allocator of pod ranges and disable one",
  },
  RouteTaken: {
    type: "Warning",
    when: "A route that Fairlead does not own has this pod range and leads elsewhere",
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
    when: "More than `--removal-limit` allows would be removed, because Nodes vanished without a deletion, or created again, because the cloud no longer lists them. None of these routes is changed",
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
