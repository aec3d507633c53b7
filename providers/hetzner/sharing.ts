// The load balancer as a Service sees it that shares it with other Services, or with what something else has put there: which ports and
// targets it may change, which settings it cannot change alone, and the labels that it needs. Pure.

import {
  applicable,
  contradictionsIn,
  isRemovable,
  type ProviderProblem,
  type RefusedTarget,
  type ServiceUID,
  type SharerMemory,
  type Sharers,
} from "#ccm";
import { isShared, labelOf, ownerLabel, portMarksOf } from "./marks.ts";
import { fitsType, portLimit } from "./placement.ts";
import type { ApiLoadBalancer, ApiTarget } from "./resources.ts";
import { portsOf } from "./services.ts";
import { choosePorts, needs, type Parts, partsOf, type Request } from "./shared-parts.ts";
import {
  contradictionProblem,
  portProblems,
  refusalOf,
  stillShared,
  withoutIdentity,
} from "./sharing-problems.ts";
import { keyOf, type WantedTargets } from "./targets.ts";

type Settings = Readonly<Record<string, unknown>>;

/** What a Service wants of the whole load balancer. */
export interface WantedOfBalancer {
  readonly settings: Settings;
  readonly targets: ReadonlySet<string>;
}

export interface SharingContext {
  /** The uid of the cluster; undefined while it cannot be read. */
  readonly cluster: string | undefined;
  readonly sharers: Pick<SharerMemory<WantedOfBalancer>, "of" | "wasWanted">;
}

type Labels = ApiLoadBalancer["labels"];

/** What of a load balancer a Service may change, and what it gets of its request. */
export interface Share<D extends Request> {
  /** Without the ports that it cannot have, and with the settings that it cannot change as they are. */
  readonly desired: D;
  readonly problems: readonly ProviderProblem[];
  readonly isMember: boolean;
  /** Those that it needs, if they differ. They are written before anything else is changed. */
  readonly labels: Labels | undefined;
  /** Only with what the Service may change. */
  readonly view: (targets: WantedTargets) => {
    readonly balancer: ApiLoadBalancer;
    /** Targets for which it has no room. */
    readonly refused: readonly RefusedTarget[];
  };
}

const ofAll = ["name", "type", "algorithm-type", "private-ipv4", "disable-public-network"] as const;
const pointers = ["ipv4-rdns", "ipv6-rdns"] as const;
const perTarget = "use-private-ip";

/** The settings of the whole load balancer that a Service has. */
export function wantedSettings({ settings }: Pick<Request, "settings">): Settings {
  return {
    ...Object.fromEntries([...ofAll, ...pointers].map((name) => [name, settings[name]])),
    [perTarget]: settings[perTarget] ?? false,
  };
}

function currentSettings(
  balancer: ApiLoadBalancer,
  others: readonly (Settings | undefined)[],
  hasStrangers: boolean,
): Settings {
  const { name, load_balancer_type: type, algorithm, public_net, private_net, targets } = balancer;
  const known = others.find((one) => one !== undefined);
  // Each target has it, also those of others than Services.
  const isPrivate = hasStrangers
    ? undefined
    : targets.find((target) => target.type === "server")?.use_private_ip;
  return {
    name,
    type: type.name,
    "algorithm-type": algorithm.type,
    "private-ipv4": private_net[0]?.ip,
    "disable-public-network": !public_net.enabled,
    "ipv4-rdns": public_net.ipv4.dns_ptr ?? undefined,
    "ipv6-rdns": public_net.ipv6.dns_ptr ?? undefined,
    [perTarget]: known?.[perTarget] ?? isPrivate,
  };
}

/** Undefined: all of the load balancer belongs to the Service, as the Go manager has it. */
export function shareOf<D extends Request>(
  requested: D,
  balancer: ApiLoadBalancer,
  { cluster, sharers }: SharingContext,
): Share<D> | undefined {
  const { owner, settings } = requested;
  const isAlone = settings.shared === undefined && !isShared(balancer);
  if (isAlone && balancer.labels[ownerLabel] === owner.uid) return undefined;
  const parts = partsOf(requested, balancer, cluster);
  const { strangers, view, isMember, mine } = parts;
  const hasStrangers = strangers.length > 0;
  if (isAlone && !hasStrangers) return undefined;
  const known = sharers.of(view.others);
  const others = new Map([...known].map(([mark, wanted]) => [mark, wanted?.settings]));
  const current = currentSettings(balancer, [...others.values()], hasStrangers);
  const held = contradictionsIn(wantedSettings(requested), current, others, hasStrangers).filter(
    ({ name, whose }) => name !== perTarget || whose.length > 0,
  );
  const kept = Object.fromEntries(held.map(({ name, current: value }) => [name, value]));
  const agreed = { ...requested, settings: { ...settings, ...kept } };
  const { type } = agreed.settings;
  const limit = Math.max(balancer.load_balancer_type.max_services, portLimit(type ?? "") ?? 0);
  const ports = choosePorts(requested, parts, limit);
  const isSmall = type !== undefined && !fitsType(type, parts.occupied + ports.served.length);
  const home = cluster ?? mine[0]?.cluster;
  const isServed = ({ protocol, port }: Request["ports"][number]): boolean =>
    protocol !== "TCP" || ports.served.includes(port);
  return {
    desired: {
      ...agreed,
      ports: requested.ports.filter(isServed),
      settings: { ...agreed.settings, ...(isSmall && { type: current["type"] }) },
    },
    isMember,
    problems: [
      ...applicable(
        home === undefined && withoutIdentity,
        isMember
          ? stillShared(requested, balancer, parts.others)
          : refusalOf(requested, balancer, parts.others, home),
      ),
      ...held.map((one) => contradictionProblem(one, balancer, parts)),
      ...portProblems(requested, balancer, parts, { ...ports, isSmall }),
    ],
    labels:
      home === undefined
        ? undefined
        : changedLabels(requested, balancer, parts, { home, ports: ports.served }),
    view: (targets) =>
      viewWith(balancer, parts, targets, freeTargets(balancer, known, sharers, hasStrangers)),
  };
}

function changedLabels(
  requested: Request,
  { labels }: ApiLoadBalancer,
  { view, mine, taken }: Parts,
  { home, ports }: { readonly home: string; readonly ports: readonly number[] },
): Labels | undefined {
  const { owner, settings } = requested;
  const needed = [...ports.flatMap((port) => needs(requested, port)), ...view.own.flatMap(portsOf)];
  // Without any port, the Service keeps its place.
  const marked = needed.length > 0 ? needed.filter((port) => !taken.has(port)) : mine.map(({ port }) => port);
  const own = new Set(mine.map((mark) => labelOf(mark)[0]));
  const rest = Object.entries(labels).filter(([key, value]) => {
    const isOwner = value === owner.uid || view.others.includes(value);
    return key === ownerLabel ? !isOwner : !own.has(key);
  });
  const next = Object.fromEntries([
    ...rest,
    ...[...new Set(marked)].map((port) => labelOf({ port, cluster: home, ...owner, scope: settings.shared })),
    ...applicable(settings.shared === undefined && view.others.length === 0 && [ownerLabel, owner.uid]),
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

/** Which targets the Service may remove if it does not want them. */
function freeTargets(
  { id }: ApiLoadBalancer,
  others: Sharers<WantedOfBalancer>,
  sharers: SharingContext["sharers"],
  hasStrangers: boolean,
): (target: ApiTarget) => boolean {
  const rule = {
    others: [...others.values()].map((wanted) => wanted?.targets),
    hasStrangers,
    wasWanted: (target: string) => sharers.wasWanted(String(id), target),
  };
  return (target) => target.type !== "label_selector" && isRemovable(keyOf(target), rule);
}

function viewWith(
  balancer: ApiLoadBalancer,
  { view, occupied }: Parts,
  { specs }: WantedTargets,
  isFree: (target: ApiTarget) => boolean,
): ReturnType<Share<Request>["view"]> {
  const { targets, load_balancer_type: type } = balancer;
  const wanted = new Set(specs.map(({ target }) => keyOf(target)));
  const seen = targets.filter((target) => wanted.has(keyOf(target)) || isFree(target));
  const has = new Set(targets.map(keyOf));
  const added = specs.filter(({ target }) => !has.has(keyOf(target)));
  const leaving = seen.filter((target) => !wanted.has(keyOf(target))).length;
  const room = Math.max(0, type.max_targets - targets.length + leaving);
  const text = `The load balancer ${balancer.name} has ${targets.length} targets of its Services, and its type ${type.name} accepts ${type.max_targets}.`;
  return {
    balancer: {
      ...balancer,
      services: view.own,
      targets: seen,
      load_balancer_type: { ...type, max_services: type.max_services - occupied },
    },
    refused: added.slice(room).map(({ node }) => ({ node, text })),
  };
}

/** What a Service removes when it leaves. Undefined: nothing else uses the load balancer, and it is deleted. */
export function leaveOf(
  balancer: ApiLoadBalancer,
  uid: ServiceUID,
  { sharers }: SharingContext,
): Pick<ApiLoadBalancer, "services" | "targets"> | undefined {
  const owner = { uid, namespace: "", name: "" };
  const { view, strangers } = partsOf({ owner, ports: [], settings: {} }, balancer, undefined);
  if (view.isLast) return undefined;
  const isFree = freeTargets(balancer, sharers.of(view.others), sharers, strangers.length > 0);
  return { services: view.own, targets: balancer.targets.filter(isFree) };
}

/** Without those of this Service. */
export function labelsWithout(balancer: ApiLoadBalancer, uid: string): Labels {
  const own = new Set(portMarksOf(balancer).flatMap((mark) => (mark.uid === uid ? labelOf(mark)[0] : [])));
  return Object.fromEntries(
    Object.entries(balancer.labels).filter(([key, value]) =>
      key === ownerLabel ? value !== uid : !own.has(key),
    ),
  );
}
