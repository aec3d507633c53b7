// The load balancer as seen by a Service that shares it with other Services, or with another tool: which ports and targets it may
// change, which settings it cannot change alone, and the labels that it needs. Pure.

import {
  applicable,
  contradictionsIn,
  isRemovable,
  type ProviderProblem,
  type RefusedTarget,
  type ServiceUID,
} from "#ccm";
import { type Desired, withDefaults } from "./balancer.ts";
import {
  isOfServices,
  isShared,
  kept,
  labelOf,
  labelOfTarget,
  noPort,
  ownerLabel,
  partOf,
  portMarksOf,
  targetLabelsOf,
} from "./marks.ts";
import type { ApiLoadBalancer, ApiTarget } from "./resources.ts";
import { hasRobotAccess, type Settings as OperatorSettings } from "./settings.ts";
import { choosePorts, needs, type Parts, partsOf, type Request } from "./shared-parts.ts";
import {
  contradictionProblem,
  portProblems,
  refusalOf,
  stillShared,
  withoutIdentity,
} from "./sharing-problems.ts";
import { type WantedTargets, wantedTargets } from "./targets.ts";

type Settings = Readonly<Record<string, unknown>>;

export interface SharingContext {
  /** The uid of the cluster; undefined while it cannot be read. */
  readonly cluster: string | undefined;
  readonly operator: OperatorSettings;
}

type Labels = ApiLoadBalancer["labels"];

/** The parts of a load balancer that a Service may change, and the parts of its request that it gets. */
export interface Share<D extends Request> {
  /** Without the ports that it cannot have, and with the settings that it cannot change as they are. */
  readonly desired: D;
  readonly problems: readonly ProviderProblem[];
  readonly isMember: boolean;
  /** `usesNetwork`: how all targets are reached. */
  readonly view: (targets: WantedTargets, usesNetwork: boolean | undefined) => ShareView;
}

interface ShareView {
  /** The settings that the Service needs, if they differ. They are written before anything else is changed. */
  readonly labels: Labels | undefined;
  /** Only with what the Service may change. */
  readonly balancer: ApiLoadBalancer;
  /** Excludes listeners of other programs. */
  readonly targets: WantedTargets;
  /** Targets for which it has no room. */
  readonly refused: readonly RefusedTarget[];
}

const ofAll = ["name", "type", "algorithm-type", "private-ipv4", "disable-public-network"] as const;
const pointers = ["ipv4-rdns", "ipv6-rdns"] as const;
const perTarget = "use-private-ip";

/** The settings of the whole load balancer that a Service has. */
function wantedSettings({ settings }: Pick<Request, "settings">): Settings {
  return {
    ...Object.fromEntries([...ofAll, ...pointers].map((name) => [name, settings[name]])),
    [perTarget]: settings[perTarget] ?? false,
  };
}

/** Each target has it. Listeners of other programs may have a different value. */
const reachesPrivately = ({ targets, labels }: ApiLoadBalancer): boolean | undefined =>
  targets.filter(isOfServices(labels)).find(({ type }) => type === "server")?.use_private_ip;

function currentSettings(balancer: ApiLoadBalancer, hasOthers: boolean): Settings {
  const { name, load_balancer_type: type, algorithm, public_net, private_net } = balancer;
  return {
    name,
    type: type.name,
    "algorithm-type": algorithm.type,
    "private-ipv4": private_net[0]?.ip,
    "disable-public-network": !public_net.enabled,
    "ipv4-rdns": public_net.ipv4.dns_ptr ?? undefined,
    "ipv6-rdns": public_net.ipv6.dns_ptr ?? undefined,
    [perTarget]: hasOthers ? reachesPrivately(balancer) : undefined,
  };
}

/**
 * The requests of the other Services, by uid. Undefined: it is not known. The listeners of a released load balancer keep their
 * targets.
 */
function othersOf(
  { sharers }: Pick<Request, "sharers">,
  uids: readonly string[],
  operator: OperatorSettings,
): ReadonlyMap<string, Desired | undefined> {
  return new Map(
    uids.map((uid) => {
      const desired = sharers?.get(uid as ServiceUID);
      const isKnown = desired !== undefined && desired.ending !== "release";
      return [uid, isKnown ? withDefaults(desired, operator) : undefined] as const;
    }),
  );
}

/** The targets that another Service needs. Undefined: they are not known. `usesNetwork`: how all targets are reached. */
function neededTargets(
  desired: Desired | undefined,
  usesNetwork: boolean | undefined,
  operator: OperatorSettings,
): ReadonlySet<string> | undefined {
  if (desired === undefined) return undefined;
  const { settings } = desired;
  const agreed = { ...desired, settings: { ...settings, [perTarget]: usesNetwork ?? settings[perTarget] } };
  const { specs, unknown } = wantedTargets(agreed, hasRobotAccess(operator));
  return unknown.length > 0 ? undefined : new Set(specs.map(({ target }) => partOf(target)));
}

/** Undefined if the whole load balancer belongs to the Service, as with the Go manager. */
export function shareOf<D extends Request>(
  requested: D,
  balancer: ApiLoadBalancer,
  { cluster, operator }: SharingContext,
): Share<D> | undefined {
  const { owner, settings } = requested;
  const isAlone = settings.shared === undefined && !isShared(balancer);
  if (isAlone && balancer.labels[ownerLabel] === owner.uid) return undefined;
  const parts = partsOf(requested, balancer, cluster);
  const { strangers, view, isMember, mine } = parts;
  const hasStrangers = strangers.length > 0;
  if (isAlone && !hasStrangers) return undefined;
  const others = othersOf(requested, view.others, operator);
  const wantedByOthers = new Map([...others].map(([uid, one]) => [uid, one && wantedSettings(one)]));
  const current = currentSettings(balancer, others.size > 0);
  const held = contradictionsIn(wantedSettings(requested), current, wantedByOthers, hasStrangers);
  const kept = Object.fromEntries(held.map(({ name, current: value }) => [name, value]));
  const agreed = { ...requested, settings: { ...settings, ...kept } };
  const ports = choosePorts(requested, parts, balancer.load_balancer_type.max_services);
  const home = cluster ?? mine[0]?.cluster;
  const isServed = ({ protocol, port }: Request["ports"][number]): boolean =>
    protocol !== "TCP" || ports.served.includes(port);
  return {
    desired: { ...agreed, ports: requested.ports.filter(isServed) },
    isMember,
    problems: [
      ...applicable(
        home === undefined && withoutIdentity,
        isMember
          ? stillShared(requested, balancer, parts.others)
          : refusalOf(requested, balancer, parts.others, home),
      ),
      ...held.map((one) => contradictionProblem(one, balancer, parts)),
      ...portProblems(requested, balancer, parts, ports),
    ],
    view: (targets, usesNetwork) => {
      const needed = [...others.values()].map((one) => neededTargets(one, usesNetwork, operator));
      const own = ownTargets(balancer, needed, hasStrangers);
      const { specs } = targets;
      const labels = changedLabels(requested, balancer, parts, { home, ports: ports.served, specs, own });
      return { labels, ...viewWith(balancer, parts, targets, own) };
    },
  };
}

interface OwnTargets {
  /** Whether no other Service needs it. */
  readonly isUnwanted: (part: string) => boolean;
  /** Another program created it. */
  readonly isForeign: (target: ApiTarget) => boolean;
  /** The Services' targets have labels, and all other targets stay. */
  readonly areMarked: boolean;
}

function ownTargets(
  { labels }: ApiLoadBalancer,
  others: readonly (ReadonlySet<string> | undefined)[],
  hasStrangers: boolean,
): OwnTargets {
  const { size } = targetLabelsOf(labels);
  const isOwn = isOfServices(labels);
  return {
    isUnwanted: (part) => isRemovable(part, others),
    isForeign: (target) => target.type === "label_selector" || !isOwn(target) || (hasStrangers && size === 0),
    // Something else may have targets although its listener is being replaced.
    areMarked: hasStrangers || size > 0,
  };
}

interface NeededLabels {
  readonly home: string | undefined;
  readonly ports: readonly number[];
  readonly specs: WantedTargets["specs"];
  readonly own: OwnTargets;
}

function changedLabels(
  requested: Request,
  { labels, targets: existing }: ApiLoadBalancer,
  { view, mine, others }: Parts,
  { home, ports, specs, own }: NeededLabels,
): Labels | undefined {
  if (home === undefined) return undefined;
  const { owner, settings } = requested;
  const needed = [
    ...ports.flatMap((port) => needs(requested, port)),
    ...view.own.map(({ listen_port }) => listen_port),
  ];
  const marked = needed.length > 0 || mine.length === 0 ? needed : [noPort];
  const has = new Set(existing.map(partOf));
  const marks = targetLabelsOf(labels);
  const gone = [...marks].filter(([part]) => !has.has(part) && own.isUnwanted(part));
  const dropped = new Set([...mine.map((mark) => labelOf(mark)[0]), ...gone.map(([, label]) => label)]);
  const uids = new Set<string>([owner.uid, ...others.map(({ uid }) => uid)]);
  const rest = Object.entries(labels).filter(([key, value]) =>
    key === ownerLabel ? !uids.has(value) : !dropped.has(key),
  );
  // While something else replaces its listener, only labels show that it has targets.
  const before = marks.size > 0 ? [] : existing.filter(({ type }) => type !== "label_selector");
  const labelFor = (target: ApiTarget) => {
    const part = partOf(target);
    const label = marks.get(part) ?? labelOfTarget(part, home);
    return [label, has.has(part) ? (labels[label] ?? kept) : ""] as const;
  };
  const next = Object.fromEntries([
    ...rest,
    ...[...new Set(marked)].map((port) => labelOf({ port, cluster: home, ...owner, scope: settings.shared })),
    ...(own.areMarked ? [...before, ...specs.map(({ target }) => target)].map(labelFor) : []),
  ]) as Labels;
  const isSame =
    Object.keys(next).length === Object.keys(labels).length &&
    Object.entries(next).every(([key, value]) => labels[key] === value);
  return isSame ? undefined : next;
}

/** The labels of a new load balancer. Undefined: the uid of the cluster is needed, and unknown. */
export function newLabels(requested: Request, cluster: string | undefined): Labels | undefined {
  const { owner, ports, settings } = requested;
  if (settings.shared === undefined) return { [ownerLabel]: owner.uid };
  if (cluster === undefined) return undefined;
  const tcp = ports.flatMap(({ protocol, port }) => (protocol === "TCP" ? needs(requested, port) : []));
  return Object.fromEntries(tcp.map((port) => labelOf({ port, cluster, ...owner, scope: settings.shared })));
}

function viewWith(
  balancer: ApiLoadBalancer,
  { view, occupied }: Parts,
  { specs, unknown }: WantedTargets,
  { isUnwanted, isForeign }: OwnTargets,
): Omit<ShareView, "labels"> {
  const { targets, load_balancer_type: type } = balancer;
  const wanted = new Set(specs.map(({ target }) => partOf(target)));
  const seen = targets.filter(
    (target) => !isForeign(target) && (wanted.has(partOf(target)) || isUnwanted(partOf(target))),
  );
  const has = new Set(targets.map(partOf));
  const foreign = new Set(targets.filter(isForeign).map(partOf));
  const added = specs.filter(({ target }) => !has.has(partOf(target)));
  const leaving = seen.filter((target) => !wanted.has(partOf(target))).length;
  const room = Math.max(0, type.max_targets - targets.length + leaving);
  const text = `The load balancer ${balancer.name} has ${targets.length} targets of its Services, and its type ${type.name} accepts ${type.max_targets}.`;
  return {
    balancer: {
      ...balancer,
      services: view.own,
      targets: seen,
      load_balancer_type: { ...type, max_services: type.max_services - occupied },
    },
    targets: { specs: specs.filter(({ target }) => !foreign.has(partOf(target))), unknown },
    refused: added.slice(room).map(({ node }) => ({ node, text })),
  };
}

/** The parts that a Service removes when it leaves. */
interface Leave extends Pick<ApiLoadBalancer, "services" | "targets"> {
  /** No Service has the load balancer then. */
  readonly isReleased: boolean;
}

/** Undefined: nothing else uses the load balancer, and it is deleted. */
export function leaveOf(
  balancer: ApiLoadBalancer,
  uid: ServiceUID,
  sharers: Request["sharers"],
  { operator }: SharingContext,
): Leave | undefined {
  const leaving = { owner: { uid, namespace: "", name: "" }, ports: [], settings: {}, sharers };
  const { view, others, strangers } = partsOf(leaving, balancer, undefined);
  const { targets, labels } = balancer;
  // Something else may have targets although its listener is being replaced.
  if (view.isLast && targets.every(isOfServices(labels))) return undefined;
  const needed = [...othersOf(leaving, view.others, operator).values()].map((one) =>
    neededTargets(one, reachesPrivately(balancer), operator),
  );
  const { isForeign, isUnwanted } = ownTargets(balancer, needed, strangers.length > 0);
  return {
    services: view.own,
    targets: targets.filter((target) => !isForeign(target) && isUnwanted(partOf(target))),
    isReleased: others.length === 0,
  };
}

/** The labels without this Service's ports, and without targets if it is the last Service. */
export function labelsWithout(balancer: ApiLoadBalancer, uid: string): Labels {
  const marks = portMarksOf(balancer);
  const isLast = marks.every((mark) => mark.uid === uid);
  const own = new Set([
    ...marks.flatMap((mark) => (mark.uid === uid ? labelOf(mark)[0] : [])),
    ...(isLast ? targetLabelsOf(balancer.labels).values() : []),
  ]);
  return Object.fromEntries(
    Object.entries(balancer.labels).filter(([key, value]) =>
      key === ownerLabel ? value !== uid : !own.has(key),
    ),
  );
}
