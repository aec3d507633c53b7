// Operations on zones, VPCs, subnets and route tables.

import { Refused } from "#ccm/testing";
import { type SentParameters, textIn } from "../query.ts";
import { type Account, zones } from "../state/account.ts";
import type { Route, RouteTable } from "../state/resources.ts";
import { known, pageOf, type QueryOperations, selected, tagSet } from "./operations.ts";

/** Routes to other targets begin with the kind of the target: instances with `i-`, gateways with `igw-`. */
function routeView({ instances }: Account, { destination, target }: Route) {
  const isInstance = target.startsWith("i-");
  const state = instances.get(target)?.state;
  // The network interface of a stopped instance stays, and with it the name of the instance.
  const isGone = isInstance && state !== "running" && state !== "stopped";
  const cidr = destination.includes(":")
    ? { destinationIpv6CidrBlock: destination }
    : { destinationCidrBlock: destination };
  const instance = isGone ? {} : { instanceId: target, instanceOwnerId: "123456789012" };
  const name = isInstance
    ? { networkInterfaceId: `eni-${target.slice(2)}`, ...instance }
    : { gatewayId: target };
  return {
    ...cidr,
    ...name,
    state: isInstance && state !== "running" ? "blackhole" : "active",
    origin: target === "local" ? "CreateRouteTable" : "CreateRoute",
  };
}

function tableView(account: Account, table: RouteTable) {
  const routeTableId = table.id;
  return {
    routeTableId,
    vpcId: table.vpc,
    routeSet: table.routes.map((route) => routeView(account, route)),
    associationSet: [
      ...(table.isMain ? [{ routeTableAssociationId: "rtbassoc-main", routeTableId, main: true }] : []),
      ...table.subnets.map((subnetId) => ({
        routeTableAssociationId: `rtbassoc-${subnetId}`,
        routeTableId,
        subnetId,
        main: false,
      })),
    ],
    tagSet: tagSet(table),
  };
}

const destinationIn = (parameters: SentParameters): string =>
  textIn(parameters["DestinationCidrBlock"]) ?? textIn(parameters["DestinationIpv6CidrBlock"]) ?? "";

/** AWS's default quota. */
const maxRoutes = 50;

function createRoute({ tables, instances }: Account, parameters: SentParameters): undefined {
  const table = tables.withID(textIn(parameters["RouteTableId"]) ?? "");
  const destination = destinationIn(parameters);
  const target = String(instances.withID(textIn(parameters["InstanceId"]) ?? "").id);
  if (table.routes.some((route) => route.destination === destination))
    throw new Refused(400, `The route identified by ${destination} already exists.`, "RouteAlreadyExists");
  if (table.routes.length >= maxRoutes)
    throw new Refused(400, "The maximum number of routes has been reached.", "RouteLimitExceeded");
  tables.change(table.id, { routes: [...table.routes, { destination, target }] });
  return undefined;
}

function deleteRoute({ tables }: Account, parameters: SentParameters): undefined {
  const table = tables.withID(textIn(parameters["RouteTableId"]) ?? "");
  const destination = destinationIn(parameters);
  const routes = table.routes.filter((route) => route.destination !== destination);
  if (routes.length === table.routes.length)
    throw new Refused(
      400,
      `no route with destination-cidr-block ${destination} in route table ${table.id}`,
      "InvalidRoute.NotFound",
    );
  tables.change(table.id, { routes });
  return undefined;
}

export function networkOperations(account: Account): QueryOperations {
  const { subnets, tables, vpc } = account;
  return {
    "ec2:DescribeAvailabilityZones": () => ({
      availabilityZoneInfo: zones.map(({ name, id }) => ({
        zoneName: name,
        zoneId: id,
        zoneState: "available",
        regionName: "us-west-2",
        zoneType: "availability-zone",
      })),
    }),
    "ec2:DescribeVpcs": (parameters) => {
      const all = [{ id: vpc, name: "", tags: {}, cidr: "10.0.0.0/16" }];
      const found = selected({ shown: all }, parameters, "VpcId", ({ id }) => ({ "vpc-id": [id] }));
      return { vpcSet: found.map(({ id, cidr }) => ({ vpcId: id, cidrBlock: cidr, state: "available" })) };
    },
    "ec2:DescribeSubnets": (parameters) => {
      const found = selected(known(subnets), parameters, "SubnetId", (one) => ({
        "vpc-id": [one.vpc],
        "subnet-id": [String(one.id)],
        "availability-zone": [one.zone],
      }));
      const { entries, nextToken } = pageOf(found, parameters, "SubnetId");
      const subnetSet = entries.map((one) => ({
        subnetId: one.id,
        vpcId: one.vpc,
        cidrBlock: one.cidr,
        ipv6CidrBlockAssociationSet: one.ipv6 === undefined ? [] : [{ ipv6CidrBlock: one.ipv6 }],
        availabilityZone: one.zone,
        state: "available",
        tagSet: tagSet(one),
      }));
      return { subnetSet, nextToken };
    },
    "ec2:DescribeRouteTables": (parameters) => {
      const found = selected(known(tables), parameters, "RouteTableId", (one) => ({
        "vpc-id": [one.vpc],
        "route-table-id": [String(one.id)],
        "association.subnet-id": one.subnets,
        "association.main": [String(one.isMain)],
      }));
      const { entries, nextToken } = pageOf(found, parameters, "RouteTableId");
      return { routeTableSet: entries.map((one) => tableView(account, one)), nextToken };
    },
    "ec2:CreateRoute": (parameters) => createRoute(account, parameters),
    "ec2:DeleteRoute": (parameters) => deleteRoute(account, parameters),
  };
}
