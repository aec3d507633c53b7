// EC2 instances: one listing of the instances with the cluster tag, and batched lookups by id and name.

import {
  type Call,
  collect,
  errorProblem,
  type Instance,
  type InstanceAddress,
  type InstanceLookup,
  type InstanceSource,
  type IpAddress,
  parseIp,
  providerID,
  type UnreadableSource,
} from "#ccm";
import type { Ec2Api, Filter } from "./api/ec2.ts";
import type { ApiInstance, ApiInterface } from "./api/resources.ts";
import { type Cluster, clusterFilters, hasClusterTag } from "./cluster.ts";
import type { Settings } from "./settings.ts";
import { type Topology, topologiesOf, type Zones, zoneLabels } from "./topology.ts";

/** The last part of the path decides, as in the Go manager. Without a scheme, the whole id is the path. */
function lastPart(id: string): string {
  const [, scheme = "aws", path = ""] = /^(?:([^:]*):\/\/[^/]*)?(.*)$/.exec(id) ?? [];
  return scheme === "aws"
    ? (path
        .replaceAll(/^\/+|\/+$/g, "")
        .split("/")
        .at(-1) ?? "")
    : "";
}

const isInstanceID = (text: string): boolean => /^i-[^/.]+$/.test(text);

export function instanceIDOf(id: string): string | undefined {
  const last = lastPart(id);
  return isInstanceID(last) ? last : undefined;
}

/** Fargate pods, which are not instances. Another manager owns their Nodes. */
export const fargate: UnreadableSource = {
  name: "fargate",
  because: "whose Nodes are not instances",
  keyOf: (id) => {
    const last = lastPart(id);
    return id.startsWith("aws://") && last.startsWith("fargate-") ? last : undefined;
  },
};

const inUse = ({ networkInterfaceSet }: ApiInstance): readonly ApiInterface[] =>
  (networkInterfaceSet ?? []).filter(({ status }) => status === "in-use");

const deviceOf = ({ attachment }: ApiInterface): number =>
  attachment ? Number(attachment.deviceIndex ?? 0) : Number.POSITIVE_INFINITY;

function normal(text: string | null | undefined): readonly IpAddress[] {
  const ip = parseIp(text ?? "", "sloppy");
  return ip === undefined ? [] : [ip];
}

/** Addresses in the Go manager's order: family by family, and the interfaces of IPv6 as EC2 lists them. */
export function addressesOf(instance: ApiInstance, families: readonly string[]): readonly InstanceAddress[] {
  const { ipAddress, privateDnsName, dnsName } = instance;
  const named = (kind: InstanceAddress["kind"], value: string | null | undefined) =>
    value ? [{ kind, value }] : [];
  const internal = (ip: IpAddress) => ({ kind: "InternalIP", value: ip }) as const;
  return families.flatMap((family): readonly InstanceAddress[] => {
    if (family === "ipv6")
      return inUse(instance)
        .flatMap(({ ipv6AddressesSet }) => normal(ipv6AddressesSet?.[0]?.ipv6Address))
        .map(internal);
    const interfaces = inUse(instance).toSorted((one, other) => {
      const [first, second] = [deviceOf(one), deviceOf(other)];
      return first === second ? 0 : first - second;
    });
    return [
      ...interfaces
        .flatMap(({ privateIpAddressesSet }) => privateIpAddressesSet ?? [])
        .flatMap(({ privateIpAddress }) => normal(privateIpAddress))
        .map(internal),
      ...normal(ipAddress).map((value) => ({ kind: "ExternalIP", value }) as const),
      ...named("InternalDNS", privateDnsName),
      ...named("Hostname", privateDnsName),
      ...named("ExternalDNS", dnsName),
    ];
  });
}

/** Undefined for a terminated instance, which EC2 still shows for an hour. */
function stateOf({ instanceState, stateReason }: ApiInstance): Instance["state"] | "gone" {
  switch (instanceState?.name) {
    case "terminated":
      return "gone";
    case "shutting-down":
      return "terminating";
    case "stopped":
      // The memory of a hibernated instance is on its volume, and its processes continue with the next start.
      return stateReason?.code === "Client.UserInitiatedHibernate" ? "suspended" : "stopped";
    default:
      return "running";
  }
}

/** The instance data that load balancers and routes need. */
function handlesOf({
  vpcId,
  subnetId,
  groupSet,
  sourceDestCheck,
}: ApiInstance): Readonly<Record<string, string>> {
  return {
    ...(vpcId && { vpc: vpcId }),
    ...(subnetId && { subnet: subnetId }),
    groups: (groupSet ?? []).map(({ groupId }) => groupId).join(" "),
    ...(sourceDestCheck === "false" && { forwards: "true" }),
  };
}

interface Known {
  readonly region: string;
  readonly families: readonly string[];
  readonly zones: Awaited<ReturnType<Zones["with"]>>;
  readonly topologies: ReadonlyMap<string, Topology>;
}

function toInstance(found: ApiInstance, known: Known): readonly Instance[] {
  const { instanceId: key, instanceType, placement, privateDnsName, tagSet } = found;
  const state = stateOf(found);
  if (state === "gone") return [];
  const zone = placement?.availabilityZone ?? undefined;
  const addresses = addressesOf(found, known.families);
  const { labels, problem } = known.topologies.get(key) ?? {};
  const name = tagSet?.find((tag) => tag.key === "Name")?.value;
  const title = name ? `${key} (${name})` : key;
  const text = `The instance ${title} has no address of the families ${known.families.join(", ")} yet. A joining Node stays uninitialized until it has one.`;
  const problems = [
    ...(addresses.length === 0 ? [errorProblem("IncompleteInstance", text)] : []),
    ...(problem === undefined ? [] : [problem]),
  ];
  return [
    {
      key,
      id: providerID(`aws:///${zone ?? ""}/${key}`),
      names: [...(privateDnsName ? [privateDnsName] : []), key],
      // In a resource-based name, a domain follows the id.
      shortName: key,
      title,
      state,
      handles: handlesOf(found),
      addresses,
      type: instanceType ?? "",
      region: known.region,
      ...(zone !== undefined && { zone }),
      labels: { ...zoneLabels(known.zones.get(zone ?? "")?.zoneId), ...labels },
      cloudLabels: Object.fromEntries((tagSet ?? []).map((tag) => [tag.key, tag.value ?? ""])),
      ...(problems.length > 0 && { problems }),
    },
  ];
}

/** EC2 accepts at most this number of values in one filter. */
const maxValues = 200;

/** Terminated instances keep their name and their address. */
const alive: Filter = {
  Name: "instance-state-name",
  Value: ["pending", "running", "shutting-down", "stopping", "stopped"],
};

export function instanceSource(
  ec2: Ec2Api,
  settings: Settings,
  cluster: Cluster & { readonly region: (call: Call) => Promise<string>; readonly zones: Zones },
): InstanceSource {
  const pattern = new RegExp(settings["supported-topology-instance-type-pattern"]);
  const { "node-ip-families": chosen = [] } = settings;
  const families = chosen.length === 0 ? ["ipv4"] : chosen;
  const toInstances = async (found: readonly ApiInstance[], call: Call): Promise<readonly Instance[]> => {
    if (found.length === 0) return [];
    const names = found.flatMap(({ placement }) => placement?.availabilityZone ?? []);
    const [region, zones, topologies] = [
      await cluster.region(call),
      await cluster.zones.with(names, call),
      await topologiesOf(ec2, found, pattern, call),
    ];
    return found.flatMap((one) => toInstance(one, { region, families, zones, topologies }));
  };
  /** Uses filters, because a single unknown id in a request by ids fails the whole request. */
  const described = (filters: readonly Filter[], call: Call) =>
    collect(ec2.instancePages({ Filter: [alive, ...filters] }, call));
  const byID = async (ids: readonly string[], call: Call) =>
    ids.length === 0 ? [] : described([{ Name: "instance-id", Value: ids }], call);
  const byName = async (names: readonly string[], call: Call) => {
    if (names.length === 0) return [];
    const tag = await cluster.tag(call);
    const found = await described([{ Name: "private-dns-name", Value: names }], call);
    // Another cluster in another VPC may have the same addresses, and therefore the same names.
    return found.filter(({ tagSet }) => hasClusterTag(tag, tagSet));
  };
  const lookup = (
    find: (keys: readonly string[], call: Call) => Promise<readonly ApiInstance[]>,
    isKey: (instance: Instance, key: string) => boolean,
  ): InstanceLookup => ({
    limit: maxValues,
    find: async (keys, call) => {
      const found = new Map((await find(keys, call)).map((one) => [one.instanceId, one]));
      const all = await toInstances([...found.values()], call);
      return new Map(keys.map((key) => [key, all.filter((instance) => isKey(instance, key))]));
    },
  });
  return {
    name: "instances",
    keyOf: instanceIDOf,
    list: async function* (call) {
      const listed = new Set<string>();
      for (const filter of clusterFilters(await cluster.tag(call)))
        for await (const page of ec2.instancePages({ Filter: [alive, filter] }, call)) {
          const others = page.filter(({ instanceId }) => !listed.has(instanceId));
          for (const { instanceId } of others) listed.add(instanceId);
          yield await toInstances(others, call);
        }
    },
    lookups: {
      id: lookup(byID, ({ key }, id) => key === id),
      name: lookup(
        async (names, call) => [
          ...(await byID(names.filter(isInstanceID), call)),
          ...(await byName(
            names.filter((name) => !isInstanceID(name)),
            call,
          )),
        ],
        ({ names }, name) => names.includes(name),
      ),
      shortName: lookup(
        (names, call) => byID(names.filter(isInstanceID), call),
        ({ key }, name) => key === name,
      ),
    },
  };
}
