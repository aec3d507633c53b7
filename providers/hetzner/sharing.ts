// A load balancer as seen by a Service that shares it with other Services, or with another program: which ports and targets the
// Service may change, and which settings it cannot change independently. Pure.

import type { RefusedTarget, ServiceUID } from "#ccm";
import { type Desired, withDefaults } from "./balancer.ts";
import { isOfServices, isShared, ownerLabel, partOf, targetLabelsOf } from "./marks.ts";
import type { ApiLoadBalancer } from "./resources.ts";
import { hasRobotAccess, type Settings as OperatorSettings } from "./settings.ts";
import { changedLabels } from "./shared-labels.ts";
import { choosePorts, type Parts, partsOf, type Request } from "./shared-parts.ts";
import { type Dispute, sharingProblems, targetsKept } from "./sharing-problems.ts";
import { type WantedTargets, wantedTargets } from "./targets.ts";

export interface SharingContext {
  /** The uid of the cluster; undefined while it cannot be read. */
  readonly cluster: string | undefined;
  readonly operator: OperatorSettings;
}

/** The requests of the other Services, by uid. Undefined: it is not known. */
type Others = ReadonlyMap<string, Desired | undefined>;
type Needed = ReadonlyMap<string, ReadonlySet<string> | undefined>;
type Settings = Readonly<Record<string, unknown>>;

const perTarget = "use-private-ip";

/** Services reach all their targets in the same way. Undefined: they have none. */
const reachesPrivately = ({ targets, labels }: ApiLoadBalancer): boolean | undefined =>
  targets.filter(isOfServices(labels)).find(({ type }) => type === "server")?.use_private_ip;

/** The settings that all Services of a load balancer have in common, with their current values. */
const settingsOfAll = (balancer: ApiLoadBalancer): Settings => ({
  name: balancer.name,
  type: balancer.load_balancer_type.name,
  "algorithm-type": balancer.algorithm.type,
  "private-ipv4": balancer.private_net[0]?.ip,
  "disable-public-network": !balancer.public_net.enabled,
  "ipv4-rdns": balancer.public_net.ipv4.dns_ptr ?? undefined,
  "ipv6-rdns": balancer.public_net.ipv6.dns_ptr ?? undefined,
  [perTarget]: reachesPrivately(balancer),
});

/** The settings that not all Services request as this one does. Without such Services, another program uses the load balancer. */
function disputesOf(
  { settings }: Request,
  balancer: ApiLoadBalancer,
  others: Others,
  hasStrangers: boolean,
): readonly Dispute[] {
  const requests = (one: object | undefined): Settings => ({ ...one });
  return Object.entries(settingsOfAll(balancer)).flatMap(([name, current]) => {
    const wanted = requests(settings)[name];
    if (wanted === undefined || current === undefined || wanted === current) return [];
    const whose = [...others].flatMap(([uid, one]) => (requests(one?.settings)[name] === wanted ? [] : uid));
    const stays = whose.length > 0 || (hasStrangers && name !== perTarget);
    return stays ? [{ name, wanted, current, whose }] : [];
  });
}

const othersOf = ({ sharers }: Request, { view }: Parts, operator: OperatorSettings): Others =>
  new Map(
    view.others.map((uid) => {
      const desired = sharers?.get(uid as ServiceUID);
      return [uid, desired && withDefaults(desired, operator)] as const;
    }),
  );

/** The targets that each other Service needs, by uid. Undefined: it is not known, so all targets stay. */
function neededBy(others: Others, balancer: ApiLoadBalancer, operator: OperatorSettings): Needed {
  const usesNetwork = reachesPrivately(balancer);
  return new Map(
    [...others].map(([uid, desired]) => {
      // A dedicated server has a different address then.
      const isReachedSo = usesNetwork === undefined || desired?.settings[perTarget] === usesNetwork;
      if (desired === undefined || !isReachedSo) return [uid, undefined];
      const { specs, unknown } = wantedTargets(desired, hasRobotAccess(operator));
      return [uid, unknown.length > 0 ? undefined : new Set(specs.map(({ target }) => partOf(target)))];
    }),
  );
}

/**
 * A Service's share of a load balancer that others use too: `desired` without the ports that it cannot have, and with the settings that
 * it cannot change as they are; `view` with only the parts that it may change. Undefined if the whole load balancer belongs to the
 * Service, as with the Go manager.
 */
export function shareOf<D extends Request>(
  requested: D,
  balancer: ApiLoadBalancer,
  { cluster, operator }: SharingContext,
) {
  const { owner, settings } = requested;
  const isAlone = settings.shared === undefined && !isShared(balancer);
  if (isAlone && balancer.labels[ownerLabel] === owner.uid) return undefined;
  const parts = partsOf(requested, balancer, cluster);
  const hasStrangers = parts.strangers.length > 0;
  if (isAlone && !hasStrangers) return undefined;
  const others = othersOf(requested, parts, operator);
  const disputes = disputesOf(requested, balancer, others, hasStrangers);
  const held = Object.fromEntries(disputes.map(({ name, current }) => [name, current]));
  const ports = choosePorts(requested, parts, balancer.load_balancer_type.max_services);
  const home = cluster ?? parts.mine[0]?.cluster;
  const isServed = ({ protocol, port }: Request["ports"][number]): boolean =>
    protocol !== "TCP" || ports.served.includes(port);
  return {
    desired: { ...requested, settings: { ...settings, ...held }, ports: requested.ports.filter(isServed) },
    isMember: parts.isMember,
    problems: sharingProblems(requested, balancer, parts, { home, disputes, ports }),
    /** The labels that the Service needs, if they differ, are written before anything else is changed. */
    view: (targets: WantedTargets) => {
      const needed = neededBy(others, balancer, operator);
      const { isUnwanted, held: count, ...seen } = viewWith(balancer, parts, targets, needed);
      const needs = { home, ports: ports.served, specs: targets.specs, isUnwanted };
      const labels = changedLabels(requested, balancer, parts, needs);
      return { ...seen, labels, problems: targetsKept(count, needed, balancer, parts) };
    },
  };
}

export type Share = NonNullable<ReturnType<typeof shareOf>>;

/**
 * `targets`: without other programs' targets. `refused`: targets for which it has no room. `held`: the number of targets that stay,
 * although no Service is known to need them.
 */
function viewWith(
  balancer: ApiLoadBalancer,
  { view, occupied, strangers }: Parts,
  { specs, unknown }: WantedTargets,
  needed: Needed,
) {
  const { labels, targets: all, load_balancer_type: type } = balancer;
  const isMarked = isOfServices(labels);
  const areMarked = strangers.length === 0 || targetLabelsOf(labels).size > 0;
  const own = all.filter((target) => areMarked && target.type !== "label_selector" && isMarked(target));
  const [has, ofServices] = [new Set(all.map(partOf)), new Set(own.map(partOf))];
  const wanted = new Set(specs.map(({ target }) => partOf(target)));
  const areKnown = needed.values().every((one) => one !== undefined);
  const isUnwanted = (part: string): boolean => needed.values().every((one) => one?.has(part) !== true);
  const unused = own.filter((target) => !wanted.has(partOf(target)) && isUnwanted(partOf(target)));
  const leaving = areKnown ? unused : [];
  const added = specs.filter(({ target }) => !has.has(partOf(target)));
  const room = Math.max(0, type.max_targets - all.length + leaving.length);
  const text = `The load balancer ${balancer.name} has ${all.length} targets of its Services, and its type ${type.name} accepts ${type.max_targets}.`;
  const isReachable = (part: string): boolean => !has.has(part) || ofServices.has(part);
  return {
    balancer: {
      ...balancer,
      services: view.own,
      targets: [...own.filter((target) => wanted.has(partOf(target))), ...leaving],
      load_balancer_type: { ...type, max_services: type.max_services - occupied },
    },
    targets: { specs: specs.filter(({ target }) => isReachable(partOf(target))), unknown },
    refused: added.slice(room).map(({ node }): RefusedTarget => ({ node, text })),
    isUnwanted: (part: string): boolean => areKnown && isUnwanted(part),
    held: unused.length - leaving.length,
  };
}

/** The parts that a Service removes when it leaves. Undefined: nothing else uses the load balancer, and it is deleted. */
export function leaveOf(
  balancer: ApiLoadBalancer,
  uid: ServiceUID,
  sharers: Request["sharers"],
  { operator }: SharingContext,
): Pick<ApiLoadBalancer, "services" | "targets"> | undefined {
  const leaving = { owner: { uid, namespace: "", name: "" }, ports: [], settings: {}, sharers };
  const parts = partsOf(leaving, balancer, undefined);
  // Another program may have targets although its listener is being replaced.
  if (parts.view.isLast && balancer.targets.every(isOfServices(balancer.labels))) return undefined;
  const needed = neededBy(othersOf(leaving, parts, operator), balancer, operator);
  return viewWith(balancer, parts, { specs: [], unknown: [] }, needed).balancer;
}
