// Routes to pod networks in the route table of the cluster, each to an instance.

import {
  type Call,
  CloudError,
  type DesiredRoute,
  deleted,
  done,
  type ObservedRoute,
  parseCidr,
  type RoutePage,
  type RoutesOneByOne,
  seconds,
} from "#ccm";
import type { Ec2Api } from "./api/ec2.ts";
import type { ApiRoute, ApiRouteTable } from "./api/resources.ts";
import { type Cluster, clusterFilters } from "./cluster.ts";
import type { Settings } from "./settings.ts";

function destination(cidr: string) {
  const isIPv6 = cidr.includes(":");
  return isIPv6 ? { DestinationIpv6CidrBlock: cidr } : { DestinationCidrBlock: cidr };
}

/** Undefined for routes that EC2 creates itself, and for routes to prefix lists. */
function toObserved(route: ApiRoute): ObservedRoute | undefined {
  const { destinationCidrBlock, destinationIpv6CidrBlock, instanceId, state } = route;
  const handle = destinationCidrBlock ?? destinationIpv6CidrBlock ?? "";
  const parsed = parseCidr(handle);
  if (parsed === undefined) return undefined;
  // A route to a stopped instance is a blackhole until the instance starts again, and is still correct.
  const isBlackhole = state === "blackhole" && !instanceId;
  return {
    handle,
    destination: parsed,
    ...(instanceId && { targetKey: instanceId }),
    ...(isBlackhole && { leadsNowhere: true }),
    // Routes to gateways, to other VPCs and within the VPC do not lead to Nodes of the cluster.
    ownership: instanceId || isBlackhole ? "unmarked" : "foreign",
  };
}

export class ClusterRoutes implements RoutesOneByOne {
  readonly style = "one-by-one";
  readonly families = ["IPv4", "IPv6"] as const;
  /** EC2 becomes consistent after some seconds. */
  readonly readsLag = seconds(10);
  readonly #ec2: Ec2Api;
  readonly #id: string | undefined;
  readonly #cluster: Cluster;
  /** The route table that the last listing found. */
  #found: string | undefined;

  constructor(ec2: Ec2Api, settings: Settings, cluster: Cluster) {
    this.#ec2 = ec2;
    this.#id = settings["route-table-id"];
    this.#cluster = cluster;
  }

  async #table(call: Call): Promise<ApiRouteTable> {
    const operation = "DescribeRouteTables";
    const tag = this.#id === undefined ? await this.#cluster.tag(call) : undefined;
    const filters =
      tag === undefined ? [{ Name: "route-table-id", Value: [this.#id ?? ""] }] : clusterFilters(tag);
    const tables = new Map<string, ApiRouteTable>();
    for (const filter of filters)
      for (const table of await this.#ec2.describeRouteTables({ Filter: [filter] }, call))
        tables.set(table.routeTableId, table);
    const [table, ...others] = tables.values();
    if (table !== undefined && others.length === 0) return table;
    const which =
      tag === undefined
        ? `RouteTableID is ${this.#id}, which`
        : `The tag ${tag.key} must be on one route table, and`;
    const found =
      table === undefined ? "does not exist" : `${tables.size} have it (${[...tables.keys()].join(", ")})`;
    const what = tag === undefined || table !== undefined ? `${which} ${found}` : `${which} none has it`;
    throw new CloudError(
      "invalid",
      `${what}. No route is created or removed until this is corrected. Set RouteTableID in the file of --cloud-config.`,
      { operation },
    );
  }

  async *list(call: Call): AsyncGenerator<RoutePage, void, undefined> {
    const { routeTableId, routeSet } = await this.#table(call);
    this.#found = routeTableId;
    yield { routes: (routeSet ?? []).flatMap((route) => toObserved(route) ?? []) };
  }

  async #tableID(call: Call): Promise<string> {
    return this.#found ?? (await this.#table(call)).routeTableId;
  }

  async create({ destination: cidr, target }: DesiredRoute, call: Call) {
    const { key = "", handles } = target.machine ?? {};
    if (key === "")
      throw new CloudError("invalid", `The Node ${target.node} has no instance, so ${cidr} gets no route.`, {
        operation: "CreateRoute",
      });
    const RouteTableId = await this.#tableID(call);
    // Otherwise EC2 drops pod packets, because their addresses differ from the instance's.
    const unchecked = { InstanceId: key, SourceDestCheck: { Value: false } };
    if (handles?.["forwards"] === undefined)
      await this.#ec2.change("ModifyInstanceAttribute", unchecked, call);
    const route = { RouteTableId, ...destination(cidr), InstanceId: key };
    await this.#ec2.change("CreateRoute", route, call);
    return done();
  }

  async remove({ handle }: ObservedRoute, call: Call) {
    const RouteTableId = await this.#tableID(call);
    return deleted(this.#ec2.change("DeleteRoute", { RouteTableId, ...destination(handle) }, call));
  }
}
