// Plans the steps from the observed to the desired load balancer, ordered so that a rejected step blocks as few others as possible.
// Pure.

import { applicable, hasErrors, type Plan, requestTo, waitFor } from "#ccm";
import { type Desired, type HetznerStep, type Observed, type Prefetched, withDefaults } from "./balancer.ts";
import { chooseCertificates } from "./certificates.ts";
import { ownerLabel } from "./marks.ts";
import { placeProblems, possible } from "./placement.ts";
import { planEnd } from "./plan-end.ts";
import type { ApiLoadBalancer, ApiService, ApiTarget } from "./resources.ts";
import {
  completeService,
  isSameService,
  portsOf,
  type ServiceSpec,
  serviceProblems,
  serviceSpecs,
} from "./services.ts";
import { hasRobotAccess, type Settings } from "./settings.ts";
import { newLabels } from "./shared-labels.ts";
import { type Share, type SharingContext, shareOf } from "./sharing.ts";
import { withoutIdentity } from "./sharing-problems.ts";
import { act, change, changeTarget, deleteService, removeTarget, whileMarked } from "./steps.ts";
import {
  diffTargets,
  type TargetSpec,
  targetProblems,
  type WantedTargets,
  wantedTargets,
} from "./targets.ts";

/** A Service with all inputs of its plan. */
interface Wanted {
  readonly desired: Desired;
  /** The step that creates the managed certificate. */
  readonly certificate: HetznerStep | undefined;
  /** Empty while the certificate of the ports is not usable. */
  readonly services: readonly ServiceSpec[];
  readonly targets: WantedTargets;
  readonly networkID: number | undefined;
}

export const creation = "the load balancer to be created";

/** No address can be published before the load balancer has one. */
export const hasAddresses = ({ public_net: { enabled, ipv4 } }: ApiLoadBalancer): boolean =>
  !enabled || Boolean(ipv4.ip);

export function planLoadBalancer(
  member: Desired | undefined,
  observed: Observed | undefined,
  { networkID, certificates: known }: Prefetched,
  operator: Settings,
  sharing: SharingContext,
): Plan<HetznerStep> {
  if (member === undefined || member.ending !== undefined)
    return observed === undefined ? { steps: [] } : planEnd(member, observed, sharing);
  const balancer = observed?.balancer;
  const requested = withDefaults(member, operator);
  const share = balancer && shareOf(requested, balancer, sharing);
  const agreed = share?.desired ?? requested;
  const desired = possible(agreed, balancer);
  const certificates = chooseCertificates(desired, known);
  const services = certificates.isMissing ? [] : serviceSpecs(desired, certificates.ids);
  const readsRobot = hasRobotAccess(operator);
  const targets = wantedTargets(desired, readsRobot);
  const labels = balancer === undefined ? newLabels(desired, sharing.cluster) : undefined;
  const isUnknown = balancer === undefined && labels === undefined;
  const problems = [
    ...(share?.problems ?? (isUnknown ? [withoutIdentity] : [])),
    ...certificates.problems,
    ...serviceProblems(desired),
    ...targetProblems(desired, targets, readsRobot),
    ...placeProblems(agreed, balancer, networkID),
  ];
  if (hasErrors(problems)) return { steps: [], problems };
  const wanted = { desired, certificate: certificates.create, services, targets, networkID };
  const { steps, refused, ...plan }: Plan<HetznerStep> =
    balancer === undefined
      ? { steps: [planCreation(wanted, labels)] }
      : share === undefined
        ? { steps: [...labelChanges(wanted, balancer), ...planChanges(wanted, balancer)] }
        : planShare(wanted, balancer, share);
  if (refused !== undefined) return { steps: [], problems, refused };
  problems.push(...(plan.problems ?? []));
  const isCreated = balancer === undefined || hasAddresses(balancer);
  const waitingFor = isCreated ? certificates.waitingFor : creation;
  if (steps.length > 0 || waitingFor === undefined) return { steps, problems };
  const { wait } = waitFor(waitingFor);
  return { steps, wait: { ...wait, isPrefetched: isCreated || undefined }, problems };
}

/** The labels come first, in their own step, because the following steps depend on them. */
function planShare(
  wanted: Wanted,
  balancer: ApiLoadBalancer,
  { isMember, view }: Pick<Share, "isMember" | "view">,
): Plan<HetznerStep> {
  const rest = whileMarked(balancer);
  const title = isMember ? "change marks" : "join load balancer";
  const { labels, refused, problems, ...seen } = view(wanted.targets);
  if (refused.length > 0) return { steps: [], refused };
  if (labels !== undefined) return { steps: [rest(change(balancer, { labels }, title))], problems };
  // Other Services may need its network.
  const networkID = balancer.private_net[0]?.network ?? wanted.networkID;
  const steps = planChanges({ ...wanted, networkID, targets: seen.targets }, seen.balancer).map(rest);
  return { steps, problems };
}

/**
 * Sends everything in one request, except the parts that the API accepts only later: an address in the
 * network, and targets by address.
 */
function planCreation(
  { desired, services, targets, networkID }: Wanted,
  labels: ApiLoadBalancer["labels"] | undefined,
): HetznerStep {
  const {
    name = desired.defaultName,
    type = "lb11",
    location,
    "network-zone": network_zone,
    "algorithm-type": algorithm,
    "disable-public-network": isPrivate,
    "use-private-ip": usesPrivateIP,
    "private-ipv4": privateIP,
    "private-subnet-ip-range": subnet,
  } = desired.settings;
  const canAttach = networkID !== undefined && privateIP === undefined && subnet === undefined;
  // Targets over the private network are added only once the load balancer is attached.
  const hasTargets = usesPrivateIP !== true || canAttach;
  const body = {
    name,
    load_balancer_type: type,
    ...(location === undefined ? { network_zone } : { location }),
    labels,
    algorithm: algorithm && { type: algorithm },
    public_interface: isPrivate === undefined ? undefined : !isPrivate,
    network: canAttach ? networkID : undefined,
    services: services.map(completeService),
    targets: targets.specs.flatMap(({ target }) => (hasTargets && target.type === "server" ? target : [])),
  };
  const request = requestTo("POST /load_balancers", {}, body);
  const step = { do: "create load balancer", on: name, request };
  return desired.settings.shared === undefined ? step : { ...step, whileMarked: { name } };
}

/** Adds the Go manager's label to a load balancer that is adopted. */
function labelChanges({ desired: { owner } }: Wanted, balancer: ApiLoadBalancer): readonly HetznerStep[] {
  const { labels } = balancer;
  if (labels[ownerLabel] === owner.uid) return [];
  return [change(balancer, { labels: { ...labels, [ownerLabel]: owner.uid } })];
}

/**
 * The order matters, because the framework stops at a step that fails. The label comes first, because it identifies the load balancer.
 * Targets follow; they depend on the network only if they are reached over it. Then come ports, and last what forwards no traffic. A
 * certificate can take minutes and may need the address in DNS, so it follows the creation. A change of the network removes targets; a
 * later plan adds them again.
 */
function planChanges(wanted: Wanted, balancer: ApiLoadBalancer): readonly HetznerStep[] {
  const { settings } = wanted.desired;
  const { public_net } = balancer;
  const isPublic = !(settings["disable-public-network"] ?? !public_net.enabled);
  const action = isPublic ? "enable_public_interface" : "disable_public_interface";
  const switched = isPublic === public_net.enabled ? [] : [act(balancer, action)];
  const network = networkChanges(wanted, balancer);
  const usesNetwork = settings["use-private-ip"] === true;
  return [
    ...(usesNetwork ? network : []),
    ...(isPublic ? switched : []),
    ...targetChanges(wanted, balancer),
    ...serviceChanges(wanted, balancer),
    ...applicable(wanted.certificate),
    ...(usesNetwork ? [] : network),
    ...(isPublic ? [] : switched),
    ...cosmeticChanges(wanted, balancer),
  ];
}

/** Targets whose network changes are replaced one at a time, so that the remaining targets get the traffic. */
function targetChanges({ targets }: Wanted, balancer: ApiLoadBalancer): readonly HetznerStep[] {
  const add = ({ node, target }: TargetSpec) =>
    changeTarget(balancer, "add_target", target, target, { adds: [node] });
  const remove = (target: ApiTarget) => removeTarget(balancer, target);
  const diff = diffTargets(targets, balancer.targets);
  return [
    ...diff.remove.map(remove),
    ...diff.create.map(add),
    ...diff.update.flatMap(({ desired, observed }) => [remove(observed), add(desired)]),
  ];
}

/**
 * Adds ports before it deletes old ports, unless the load balancer has no room or an old port is in the way. Changes the type first only
 * if it must, because the cloud may reject that.
 */
function serviceChanges({ desired, services }: Wanted, balancer: ApiLoadBalancer): readonly HetznerStep[] {
  const { name, max_services } = balancer.load_balancer_type;
  const { type = name } = desired.settings;
  const changed = applicable(type !== name && act(balancer, "change_type", { load_balancer_type: type }));
  const ports = new Set(desired.ports.flatMap(({ protocol, port }) => (protocol === "TCP" ? port : [])));
  const existing = new Map(balancer.services.map((service) => [service.listen_port, service]));
  const added = services
    .filter(({ listen_port }) => !existing.has(listen_port))
    .map((spec) => act(balancer, "add_service", completeService(spec)));
  const needed = new Set(services.flatMap(portsOf));
  const deleted = balancer.services.filter(({ listen_port }) => !ports.has(listen_port));
  const deletion = (service: ApiService) => deleteService(balancer, service);
  const updated = services.flatMap((spec) => {
    const service = existing.get(spec.listen_port);
    const isSame = service === undefined || isSameService(spec, service);
    return isSame ? [] : [act(balancer, "update_service", spec)];
  });
  const hasRoom = existing.size + added.length <= max_services;
  const isLast = (service: ApiService) => hasRoom && !portsOf(service).some((port) => needed.has(port));
  return [
    ...deleted.filter((service) => !isLast(service)).map(deletion),
    ...updated,
    ...(ports.size <= max_services ? [...added, ...changed] : [...changed, ...added]),
    ...deleted.filter(isLast).map(deletion),
  ];
}

/** DNS names have no case, and may end with a dot. */
const normalized = (name: string): string => name.toLowerCase().replace(/\.$/, "");

/** Changes that forward no traffic. The cloud may reject them for a long time. */
function cosmeticChanges({ desired }: Wanted, balancer: ApiLoadBalancer): readonly HetznerStep[] {
  const { name, "algorithm-type": type, "ipv4-rdns": ipv4, "ipv6-rdns": ipv6 } = desired.settings;
  const pointer = ({ ip, dns_ptr }: { ip?: string | null; dns_ptr?: string | null }, wanted?: string) =>
    wanted !== undefined &&
    Boolean(ip) &&
    normalized(wanted) !== normalized(dns_ptr ?? "") &&
    act(balancer, "change_dns_ptr", { ip, dns_ptr: wanted }, "change reverse DNS");
  return applicable(
    type !== undefined && type !== balancer.algorithm.type && act(balancer, "change_algorithm", { type }),
    pointer(balancer.public_net.ipv4, ipv4),
    pointer(balancer.public_net.ipv6, ipv6),
    name !== undefined && name !== balancer.name && change(balancer, { name }),
  );
}

function networkChanges({ desired, networkID }: Wanted, balancer: ApiLoadBalancer): readonly HetznerStep[] {
  const { "private-ipv4": privateIP, "private-subnet-ip-range": subnet } = desired.settings;
  const isWanted = ({ network, ip }: ApiLoadBalancer["private_net"][number]) =>
    network === networkID && (privateIP === undefined || privateIP === ip);
  const detached = balancer.private_net
    .filter((one) => !isWanted(one))
    .map(({ network }) => act(balancer, "detach_from_network", { network }));
  if (networkID === undefined || balancer.private_net.some(isWanted)) return detached;
  const place = { network: networkID, ip: privateIP, ip_range: subnet };
  return [...detached, act(balancer, "attach_to_network", place)];
}
