// The inputs of load balancer plans: desired and observed state, marks, cloud capabilities, and single steps. Pure.

import {
  type BalancerView,
  type DesiredLoadBalancer,
  type Facts,
  type JsonRequest,
  type MarkingService,
  type ObservedLoadBalancer,
  observedValues,
  type ServiceUID,
  type Step,
  type TargetCheck,
  type Values,
  viewOf,
} from "#ccm";
import { type Annotations, annotations, keyOf } from "./annotations.ts";
import {
  floatingDescription,
  isMark,
  isPartName,
  isSameService,
  markOf,
  readMark,
  renamedKey,
} from "./names.ts";
import type {
  ApiBalancer,
  ApiExternalNetwork,
  ApiFloatingIP,
  ApiListener,
  ApiMember,
  ApiMonitor,
  ApiPool,
  ApiSecurityGroup,
  ApiSubnet,
} from "./resources.ts";

export type { Annotations } from "./annotations.ts";
export type Desired = DesiredLoadBalancer<Annotations>;

/** A load balancer as one of the Services that share it sees it. */
export interface Observed extends ObservedLoadBalancer {
  readonly balancer: ApiBalancer;
  /** The mark of the Service; empty while a Service may join the load balancer. */
  readonly mark: string;
  /** All listeners of the load balancer, including those of other Services. */
  readonly listeners: readonly ApiListener[];
  readonly pools: readonly ApiPool[];
  readonly monitors: readonly ApiMonitor[];
  readonly floatingIP?: ApiFloatingIP | undefined;
  /** A floating IP that was created for this Service and whose load balancer is gone. */
  readonly freeFloatingIP?: ApiFloatingIP | undefined;
  /** The members by id of the pool; absent in listings. */
  readonly members?: Readonly<Record<string, readonly ApiMember[]>> | undefined;
  /** The security groups of Services with this name, including earlier Services. */
  readonly securityGroups: readonly ApiSecurityGroup[];
  /** The security group of the Service; absent in listings. */
  readonly securityGroup?: ApiSecurityGroup | undefined;
  /** The ids of the ports that have the security group. */
  readonly groupPorts?: readonly string[] | undefined;
}

/** Cloud facts that plans need. */
export interface Prefetched {
  /** The minor version of the Octavia API. */
  readonly octavia: number;
  readonly externalNetworks: readonly ApiExternalNetwork[];
  readonly subnets: readonly ApiSubnet[];
}

/** The network and subnets from which the floating IP of a load balancer comes. */
export interface Floating {
  readonly network: string;
  /** The subnets in the order in which they are tried. Empty if any subnet is allowed. */
  readonly subnets: readonly string[];
  readonly address: string | undefined;
  readonly port: string;
  readonly description: string;
}

/** The parts that are read again after a step: the floating IP, or the members with the status of the load balancer. */
export const floatingPart = "floating IP";
export const membersPart = "members";

/** A request, or a change of a port that is read first. */
export interface OpenStackStep extends Step {
  readonly service: "balancing" | "network";
  readonly request?: JsonRequest | undefined;
  /**
   * The load balancer. The step is done when the load balancer is ACTIVE again, or gone. If unset, the step is completed
   * immediately.
   */
  readonly waitsFor?: Pick<ApiBalancer, "id" | "name"> | undefined;
  /**
   * The step is applied only while this load balancer has these tags, and no listener besides `listeners` if set: Services may have
   * joined or left since the plan, and other programs may have added listeners.
   */
  readonly whileTagged?:
    | { readonly id: string; readonly tags: readonly string[]; readonly listeners?: readonly string[] }
    | undefined;
  /** The facts that are stored on the Service when the step is done. */
  readonly remember?: Facts | undefined;
  readonly floating?: Floating | undefined;
  /** The step is applied only while this floating IP has this port, and if `isOwn`, while it still belongs to a Service. */
  readonly whileFloating?:
    | { readonly id: string; readonly port: string | null | undefined; readonly isOwn: boolean }
    | undefined;
  /** The security group to add to this port, or to remove from it. */
  readonly port?: { readonly id: string; readonly group: string; readonly isAdded: boolean } | undefined;
}

/**
 * The annotations in which the Go manager stores facts. Only Fairlead has `creating`: the id of its new load balancer until
 * the load balancer serves.
 */
export const facts = {
  id: { annotation: keyOf("load-balancer-id"), isSetting: true },
  address: { annotation: "loadbalancer.openstack.org/load-balancer-address" },
} as const;

/** The load balancer that the Service names: Fairlead or the Go manager has stored it, or a user has set it. */
export const idOf = ({ settings, facts }: Pick<Desired, "settings" | "facts">): string | undefined =>
  settings["load-balancer-id"] ?? facts["id"];

export const ownKeys =
  (cluster: string) =>
  ({ owner, defaultName, facts }: MarkingService): readonly string[] => {
    const [mark, id] = [markOf(cluster, owner), facts["id"]];
    return [mark, defaultName, ...(id === undefined ? [] : [renamedKey(mark, id)])];
  };

type By<T> = ReadonlyMap<string, readonly T[]>;

/** Data that is listed for all load balancers. */
export interface Parts {
  /** Listeners by load balancer. */
  readonly listeners: By<ApiListener>;
  readonly pools: By<ApiPool>;
  /** Health monitors by id. */
  readonly monitors: By<ApiMonitor>;
  /** Floating IPs by port. */
  readonly floatingIPs: By<ApiFloatingIP>;
  /** Floating IPs without a port, by description. */
  readonly freeFloatingIPs: By<ApiFloatingIP>;
  /** Security groups by Service. */
  readonly groups: By<ApiSecurityGroup>;
}

const states: Readonly<Record<string, Observed["state"]>> = { ACTIVE: "ready", ERROR: "failed" };
export const stateOf = ({ provisioning_status: status }: ApiBalancer): Observed["state"] =>
  states[status] ?? "changing";
const isNamed = ({ name }: Pick<ApiBalancer, "name">): boolean =>
  isMark(name) || /^a[0-9a-f]{31}$/.test(name);

/**
 * The marks of the Services on a load balancer: its tags, or its name if it was created without tags, and the tags of its listeners,
 * which show Services whose tag a user has removed. A sharing Service may outlive the owner.
 */
export function marksOf(
  { name, tags = [] }: Pick<ApiBalancer, "name" | "tags">,
  listeners: readonly ApiListener[],
): readonly string[] {
  const own = tags.filter(isMark);
  const marks = own.length > 0 || !isNamed({ name }) ? own : [name];
  const others = listeners.flatMap((one) => (one.tags ?? []).filter(isMark));
  return [...new Set([...marks, ...others.filter((mark) => !marks.some((one) => isSameService(one, mark)))])];
}

/** One view for each Service that uses the load balancer, or a single unmarked view. */
export function toObserved(balancer: ApiBalancer, parts: Parts, cluster: string): readonly Observed[] {
  const { id, name, vip_port_id: vip } = balancer;
  const pools = parts.pools.get(id) ?? [];
  const common = {
    name: `${name} (${id})`,
    balancer,
    pools,
    listeners: parts.listeners.get(id) ?? [],
    monitors: pools.flatMap(({ healthmonitor_id: monitor }) => parts.monitors.get(monitor ?? "") ?? []),
    floatingIP: typeof vip === "string" ? parts.floatingIPs.get(vip)?.[0] : undefined,
    state: stateOf(balancer),
    shallow: true as const,
  };
  const views = marksOf(balancer, common.listeners).map((mark): Observed => {
    const read = readMark(mark);
    const isForeign = read !== undefined && read.cluster !== cluster;
    const key = read === undefined ? mark : markOf(cluster, read);
    const securityGroups = (read && parts.groups.get(`${read.namespace}-${read.name}`)) ?? [];
    // The mark does not contain the uid of the Service: the framework finds the Service by the key.
    const owners = [(read === undefined ? mark : `${read.namespace}/${read.name}`) as ServiceUID];
    return {
      ...common,
      mark,
      owners,
      securityGroups,
      keys: [isForeign ? renamedKey(key, id) : key],
      freeFloatingIP: read && parts.freeFloatingIPs.get(floatingDescription(cluster, read))?.[0],
      ...(isForeign ? { ownership: "foreign", cluster: read.cluster } : { ownership: "ours" }),
    };
  });
  if (views.length > 0) return views;
  const unused = { mark: "", owners: [], keys: [], securityGroups: [] };
  return [{ ...common, ...unused, ownership: "unmarked" }];
}

/** The Service whose name the load balancer has decides about its address and its deletion. */
export const isOwner = ({ balancer, mark }: Observed): boolean => balancer.name === mark;

/** Untagged listeners with the Go manager's naming belong to the owner; they were created before tags existed. */
export const viewFor = ({ balancer, mark, listeners }: Observed): BalancerView<ApiListener> =>
  viewOf({
    mark: mark || undefined,
    marks: marksOf(balancer, listeners),
    listeners,
    marksOf: ({ name, tags = [] }) => {
      const marks = tags.filter(isMark);
      const isOld = marks.length === 0 && isNamed(balancer) && name.startsWith("listener_");
      return isOld ? [balancer.name] : marks;
    },
    isSame: isSameService,
  });

export const poolOf = ({ pools }: Observed, listener: ApiListener): ApiPool | undefined =>
  pools.find(({ id }) => id === listener.default_pool_id) ??
  pools.find(({ listeners = [] }) => listeners.some(({ id }) => id === listener.id));

/** All pool members of a Service have the same subnet. */
export const subnetOfMembers = (observed: Observed | undefined): string | undefined =>
  Object.values(observed?.members ?? {}).flatMap((members) =>
    members.flatMap(({ subnet_id }) => subnet_id ?? []),
  )[0];

/** The Service's pools whose listener is gone, for example because it was deleted manually. */
export function detachedPools(observed: Observed): readonly ApiPool[] {
  const used = new Set(observed.listeners.map((listener) => poolOf(observed, listener)?.id));
  return observed.pools.filter(({ id, name }) => !used.has(id) && isPartName("pool", name, observed.mark));
}

export const monitorOf = ({ monitors }: Observed, pool: ApiPool | undefined): ApiMonitor | undefined =>
  monitors.find(({ id }) => id === pool?.healthmonitor_id);

/** The capabilities of an Octavia provider, by API version. */
export function featuresOf({ octavia }: Prefetched, provider: string) {
  const since = (minor: number) => octavia >= minor && provider !== "ovn";
  return {
    timeouts: since(1),
    flavors: since(6),
    ranges: since(12),
    zones: since(14),
    httpOnUDP: since(16),
    tags: octavia >= 5,
    additionalVIPs: since(26),
    http: provider !== "ovn",
  };
}

/** The annotation values of an existing load balancer: an invalid annotation keeps them. */
export function settingsOf(observed: Observed): Partial<Values<Annotations>> {
  const { balancer } = observed;
  const [listener] = viewFor(observed).own;
  const pool = listener && poolOf(observed, listener);
  const monitor = monitorOf(observed, pool);
  const proxy = pool?.protocol === "PROXYV2" ? "v2" : pool?.protocol === "PROXY" ? "v1" : "false";
  const found: Readonly<Record<string, unknown>> = {
    "flavor-id": balancer.flavor_id ?? "",
    "availability-zone": balancer.availability_zone ?? "",
    "port-id": balancer.vip_port_id,
    ...(pool && { "lb-method": pool.lb_algorithm, "proxy-protocol": proxy }),
    ...(pool && { "enable-health-monitor": monitor !== undefined }),
    ...(listener && { "x-forwarded-for": isForwarding(listener) }),
  };
  const ofMonitor = monitor as Readonly<Record<string, unknown>> | undefined;
  // The other annotations are named after a field of the listener or health monitor.
  return observedValues(annotations, (name) => {
    const member = name.replaceAll("-", "_");
    return found[name] ?? listener?.[member] ?? ofMonitor?.[member.replace(/^health_monitor_/, "")];
  });
}

/** The results of the Service's health monitors. A member has the name of its Node. */
export function healthOf(observed: Observed): readonly TargetCheck[] {
  return viewFor(observed).own.flatMap((listener) => {
    const members = observed.members?.[poolOf(observed, listener)?.id ?? ""] ?? [];
    return members.flatMap(({ name, address, protocol_port: port, operating_status: status }) =>
      status === "ONLINE" || status === "ERROR"
        ? { target: name || address, isHealthy: status === "ONLINE", text: `port ${port}` }
        : [],
    );
  });
}

export function isForwarding({ insert_headers: headers }: ApiListener): boolean {
  return (headers as Readonly<Record<string, string>> | null | undefined)?.["X-Forwarded-For"] === "true";
}
