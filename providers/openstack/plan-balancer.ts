// Plans the steps from the observed to the desired load balancer. Pure.

import {
  errorProblem,
  hasErrors,
  minutes,
  type Plan,
  planError,
  seconds,
  waitFor,
  warningProblem,
} from "#ccm";
import { keyOf } from "./annotations.ts";
import { requestOf } from "./api.ts";
import {
  type Desired,
  featuresOf,
  floatingPart,
  idOf,
  isOwner,
  marksOf,
  type Observed,
  type OpenStackStep,
  type Prefetched,
  subnetOfMembers,
  viewFor,
} from "./balancer.ts";
import { conflictsOf, partSteps } from "./changes.ts";
import { classOf, familyOf, floatingOf, isInternal, isProblem, type Place, placeOf } from "./choices.ts";
import { keptPlaceProblems } from "./kept-place.ts";
import { descriptionOf, isMark, isOwnFloating, isSameService, markOf, readMark } from "./names.ts";
import type { ApiFloatingIP } from "./resources.ts";
import { groupRemoval, groupSteps } from "./security-group.ts";
import { reasons, type Settings } from "./settings.ts";
import { orDefault, type PortSpec, specOf } from "./spec.ts";
import { activation, collection, creationTitle, stepsFor } from "./steps.ts";

export interface PlanInput {
  readonly prefetched: Prefetched;
  readonly operator: Settings;
  readonly cluster: string;
}

type BalancerPlan = Plan<OpenStackStep>;

const isPending = ({ balancer }: Observed): boolean => balancer.provisioning_status.startsWith("PENDING_");

const isKept = (floatingIP: ApiFloatingIP, desired: Desired | undefined): boolean =>
  desired?.settings["keep-floatingip"] === true || !isOwnFloating(floatingIP);

/**
 * Deletes the security group first and the load balancer last, so that nothing remains that no
 * listing shows.
 */
function planEnd(
  desired: Desired | undefined,
  observed: Observed | undefined,
  { operator }: PlanInput,
): BalancerPlan {
  if (observed === undefined || observed.mark === "") return { steps: [] };
  const { balancer, floatingIP, mark } = observed;
  if (isPending(observed)) return waitFor(activation(balancer));
  const steps = stepsFor(balancer);
  const group = groupRemoval(observed, steps);
  const isErrored = balancer.provisioning_status === "ERROR";
  // A load balancer that a user created, or that other Services use, stays.
  const { isLast, others } = viewFor(observed);
  if (!isLast || (!isMark(balancer.name) && balancer.name !== mark)) {
    if (isErrored) return errored(balancer);
    const rest = (balancer.tags ?? []).filter((tag) => !isSameService(tag, mark) || !isMark(tag));
    // A user may have removed the tag of another Service.
    const tags = [...new Set([...rest, ...others])];
    // Without tags, the name would be a mark.
    const name = others.length === 0 && balancer.name === mark ? `former_${mark}`.slice(0, 255) : undefined;
    const releases: OpenStackStep["releases"] = others.length > 0 ? "shared" : true;
    const removal = { ...steps.balancer("remove tag", { tags, name }), releases };
    return { steps: [...group, ...partSteps(observed, [], steps), removal] };
  }
  const floating =
    floatingIP && !isKept(floatingIP, desired) ? [steps.floatingRemoval(floatingIP, observed.listeners)] : [];
  // In the status ERROR, a load balancer can only be deleted as a whole.
  const isCascading = operator["cascade-delete"] || isErrored;
  const parts = isCascading ? [] : partSteps(observed, [], steps);
  return { steps: [...group, ...floating, ...parts, steps.deletion(isCascading, observed.listeners)] };
}

const whichOf = ({ name, id }: Observed["balancer"]): string => `The load balancer ${name} (${id})`;

function errored(balancer: Observed["balancer"]): BalancerPlan {
  const text = `${whichOf(balancer)} has the status ERROR. It is not changed, and may still forward. Ask the operator of the cloud for a failover: openstack loadbalancer failover. Fairlead continues then.`;
  return {
    ...waitFor(activation(balancer), minutes(1)),
    problems: [errorProblem(reasons.LoadBalancerErrored, text)],
  };
}

const listing = "the servers of the Nodes to be listed";
/** A Node without a machine is not a target yet. */
const isUnlisted = ({ machine }: Desired["targets"][number]): boolean =>
  machine !== undefined && machine.handles === undefined;

/** Members that are created without a subnet never get one. */
const lacksMemberSubnet = ({ targets }: Desired, { network, memberSubnet }: Place): boolean =>
  network === undefined && memberSubnet === undefined && targets.some(isUnlisted);

/** A load balancer with all its parts in one request. */
function planCreation(
  desired: Desired,
  ports: readonly PortSpec[],
  place: Place,
  { prefetched, operator, cluster }: PlanInput,
): BalancerPlan {
  const { settings, facts, owner, requestedAddress } = desired;
  const [name, provider] = [markOf(cluster, owner), operator["lb-provider"]];
  const features = featuresOf(prefetched, provider);
  const id = idOf(desired);
  if (id !== undefined && facts["address"] === undefined) {
    const text = `${keyOf("load-balancer-id")} is ${JSON.stringify(id)}, which the project does not have. No load balancer is created. Correct the annotation, or remove it to get a new load balancer.`;
    return planError("MissingCloudObject", text, keyOf("load-balancer-id"));
  }
  const port = settings["port-id"];
  if (lacksMemberSubnet(desired, place)) return waitFor(listing);
  if (port === undefined && place.network === undefined && place.subnet === undefined) {
    if (desired.targets.length === 0) return waitFor("a Node that can be a target");
    if (desired.targets.some(isUnlisted)) return waitFor(listing);
    const text = `No Node has an ${familyOf(desired)} address of a Neutron port, so the subnet of the virtual IP is not known. No load balancer is created. Set subnet-id, or ${keyOf("subnet-id")}.`;
    return planError("MissingCloudObject", text, keyOf("subnet-id"));
  }
  const hasOwnAddress = isInternal(desired, operator) || familyOf(desired) === "IPv6";
  const flavor = orDefault(settings["flavor-id"], operator["flavor-id"]);
  const zone = orDefault(settings["availability-zone"], operator["availability-zone"]);
  const vip =
    port === undefined
      ? { vip_subnet_id: place.subnet, vip_network_id: place.network }
      : { vip_port_id: port };
  const second = features.additionalVIPs && port === undefined ? place.secondSubnet : undefined;
  const nested = ({ listener, pool, members, monitor }: PortSpec) => ({
    ...listener,
    default_pool: {
      ...pool,
      session_persistence: pool.session_persistence ?? undefined,
      members,
      healthmonitor: monitor,
    },
  });
  const loadbalancer = {
    name,
    description: descriptionOf(cluster, owner),
    provider,
    ...vip,
    ...(hasOwnAddress && { vip_address: requestedAddress }),
    ...(second !== undefined && { additional_vips: [{ subnet_id: second }] }),
    ...(features.tags && { tags: [name] }),
    ...(features.flavors && { flavor_id: flavor }),
    ...(features.zones && { availability_zone: zone }),
    ...(!operator["provider-requires-serial-api-calls"] && { listeners: ports.map(nested) }),
  };
  const request = requestOf("POST", collection, { loadbalancer });
  return { steps: [{ do: creationTitle, on: name, service: "balancing", request }] };
}

/** A Service joins a load balancer that it names by id, if the load balancer may be shared. */
function planJoin(
  desired: Desired,
  { balancer, listeners }: Observed,
  { operator, cluster, prefetched }: PlanInput,
): BalancerPlan {
  const { tags = [], provider = operator["lb-provider"] } = balancer;
  const marks = marksOf(balancer, listeners);
  const key = keyOf("load-balancer-id");
  const refused = (why: string) =>
    planError(
      "UnsupportedByCloud",
      `${whichOf(balancer)} ${why} The Service gets no load balancer. Remove ${key} to get a new one.`,
      key,
    );
  const other = marks.map(readMark).find((mark) => mark !== undefined && mark.cluster !== cluster);
  if (other !== undefined) return refused(`belongs to the cluster ${other.cluster}.`);
  if (!featuresOf(prefetched, provider).tags)
    return refused("cannot be shared, because this Octavia has no tags.");
  if (marks.length > 0 && isInternal(desired, operator))
    return refused("cannot be shared by an internal Service.");
  if (marks.length >= operator["max-shared-lb"])
    return refused(
      `is shared by ${marks.length} Services, and max-shared-lb is ${operator["max-shared-lb"]}.`,
    );
  if (balancer.provisioning_status === "ERROR") return errored(balancer);
  if (balancer.provisioning_status !== "ACTIVE") return waitFor(activation(balancer));
  const steps = stepsFor(balancer);
  return {
    steps: [steps.balancer("join load balancer", { tags: [...tags, markOf(cluster, desired.owner)] })],
  };
}

/** Keeps the floating IP of a load balancer, adds one, or removes it. */
function floatingSteps(
  desired: Desired,
  observed: Observed,
  ofClass: object,
  { prefetched, operator, cluster }: PlanInput,
): BalancerPlan {
  const { balancer, floatingIP, freeFloatingIP } = observed;
  const { vip_address: vip, vip_port_id: port } = balancer;
  const steps = stepsFor(balancer);
  const { requestedAddress } = desired;
  const isOther = (has: string | null | undefined) =>
    requestedAddress !== undefined && has !== requestedAddress;
  const ignored = (has: string, next: string): BalancerPlan => {
    const text = `spec.loadBalancerIP is ${requestedAddress}, but the load balancer ${balancer.name} has the address ${has}, which it keeps. ${next}, or correct spec.loadBalancerIP.`;
    return { steps: [], problems: [warningProblem("UnsupportedByCloud", text)] };
  };
  if (vip?.includes(":") === true || isInternal(desired, operator)) {
    const isFixed = isOwner(observed) && isOther(vip);
    const kept: BalancerPlan = isFixed
      ? ignored(vip ?? "", "Octavia cannot change it: delete the Service and create it again")
      : { steps: [] };
    if (vip?.includes(":") === true || floatingIP === undefined || !isOwner(observed)) return kept;
    const { id, floating_ip_address: address } = floatingIP;
    const request = requestOf("PUT", `/v2.0/floatingips/${id}`, { floatingip: { port_id: null } });
    const whileFloating = { id, port, isOwn: false };
    const detachment = steps.network("detach floating IP", address, request, { whileFloating });
    return {
      ...kept,
      steps: [isKept(floatingIP, desired) ? detachment : steps.floatingRemoval(floatingIP)],
    };
  }
  if (floatingIP !== undefined)
    return isOwner(observed) && isOther(floatingIP.floating_ip_address)
      ? ignored(floatingIP.floating_ip_address, "Detach that floating IP")
      : { steps: [] };
  if (!port) return { steps: [] };
  if (!isOwner(observed)) {
    const text = `The load balancer ${balancer.name} has no floating IP, and only the Service that created it gets one. This Service is reached at the virtual IP. Set ${keyOf("load-balancer-id")} to another load balancer, or remove it.`;
    return { steps: [], problems: [warningProblem("UnsupportedByCloud", text)] };
  }
  const floating = floatingOf(desired, operator, ofClass, prefetched, { port, cluster });
  if (isProblem(floating)) return { steps: [], problems: [{ ...floating, severity: "warning" }] };
  // The floating IP keeps its address when its load balancer was created again.
  const free = freeFloatingIP?.floating_network_id === floating.network ? freeFloatingIP : undefined;
  const address = floating.address ?? free?.floating_ip_address;
  const more = { floating: { ...floating, address }, restsOn: [floatingPart] };
  return { steps: [steps.network("add floating IP", balancer.name, undefined, more)] };
}

function planChanges(
  desired: Desired,
  observed: Observed,
  ports: readonly PortSpec[],
  place: Place,
  input: PlanInput,
): BalancerPlan {
  const { balancer, mark } = observed;
  const { facts } = desired;
  const which = whichOf(balancer);
  const steps = stepsFor(balancer);
  if (isPending(observed)) return waitFor(activation(balancer));
  if (balancer.provisioning_status === "ERROR") {
    // A load balancer that Fairlead created and that never served can be replaced without harm.
    const isCreating = facts["creating"] === balancer.id && isOwner(observed);
    const isNew = isCreating && observed.floatingIP === undefined;
    if (!isNew || !viewFor(observed).isLast) return errored(balancer);
    const text = `${which} has the status ERROR. Fairlead deletes it and creates it again. Ask the operator of the cloud if that repeats.`;
    const removal = steps.deletion(true, observed.listeners, {
      removes: true,
      remember: { id: "", creating: "" },
    });
    return { steps: [removal], problems: [warningProblem(reasons.LoadBalancerErrored, text)] };
  }
  if (lacksMemberSubnet(desired, place)) return waitFor(listing);
  const { conflicts, free } = conflictsOf(observed, ports);
  const listeners = conflicts.map(
    ({ protocol_port: port, tags = [] }) => `${port} (${tags.join(", ") || "without a tag"})`,
  );
  const conflict = (outcome: string): string =>
    `${which} has foreign listeners on port ${listeners.join(", ")}. ${outcome} Use other ports, or remove ${keyOf("load-balancer-id")}.`;
  // A Service without a listener waits for all its ports. One with listeners must release those that another Service may wait for.
  if (conflicts.length > 0 && viewFor(observed).own.length === 0)
    return planError("PortConflict", conflict("Nothing of it is changed."));
  const unserved = conflict("These ports are not served; all other ports are.");
  const ofClass = classOf(desired, input.operator);
  const floating = floatingSteps(desired, observed, ofClass, input);
  const group = groupSteps(
    desired,
    observed,
    { ...input, subnets: input.prefetched.subnets },
    place.memberSubnet,
    steps,
  );
  const address = observed.floatingIP?.floating_ip_address ?? balancer.vip_address ?? undefined;
  const tags = balancer.tags ?? [];
  const isTagged = tags.includes(mark) || !featuresOf(input.prefetched, balancer.provider ?? "").tags;
  const problems = [
    ...(conflicts.length > 0 ? [warningProblem("PortConflict", unserved)] : []),
    ...(floating.problems ?? []),
    ...(group.problems ?? []),
  ];
  const changes = [
    ...(facts["id"] === balancer.id ? [] : [steps.store("store the id", { id: balancer.id })]),
    ...(isTagged || !isMark(mark) ? [] : [steps.balancer("tag load balancer", { tags: [...tags, mark] })]),
    ...partSteps(observed, free, steps),
    ...floating.steps,
    ...group.steps,
  ];
  const needsServers = input.operator["manage-security-groups"] && desired.targets.some(isUnlisted);
  if (changes.length > 0) return { steps: changes, problems };
  if (address !== undefined && (facts["address"] !== address || facts["creating"] !== undefined))
    return { steps: [steps.store("store the address", { address, creating: "" })], problems };
  return { ...(needsServers ? waitFor(listing, seconds(30)) : { steps: [] }), problems };
}

export function planLoadBalancer(
  desired: Desired | undefined,
  observed: Observed | undefined,
  input: PlanInput,
): BalancerPlan {
  const { operator, prefetched, cluster } = input;
  if (desired === undefined || desired.ending !== undefined) return planEnd(desired, observed, input);
  const ofClass = classOf(desired, operator);
  if (isProblem(ofClass)) return { steps: [], problems: [ofClass] };
  if (observed?.mark === "") return planJoin(desired, observed, input);
  const chosen = placeOf(desired, operator, ofClass);
  // Until the servers are listed, the subnet is that of the existing members.
  const place = { ...chosen, memberSubnet: chosen.memberSubnet ?? subnetOfMembers(observed) };
  const provider = observed?.balancer.provider ?? operator["lb-provider"];
  const mark = observed?.mark ?? markOf(cluster, desired.owner);
  const features = featuresOf(prefetched, provider);
  const spec = specOf({ desired, operator, features, mark, memberSubnet: place.memberSubnet });
  const floating = isInternal(desired, operator)
    ? undefined
    : floatingOf(desired, operator, ofClass, prefetched, { port: "", cluster });
  const isUncertain =
    observed === undefined && floating !== undefined && isProblem(floating) && familyOf(desired) === "IPv4";
  const wanted = floating === undefined || isProblem(floating) ? undefined : floating;
  const kept = observed && keptPlaceProblems(desired, observed, ofClass, wanted, prefetched);
  const found = [...spec.problems, ...(isUncertain ? [floating] : []), ...(kept ?? [])];
  if (hasErrors(found)) return { steps: [], problems: found };
  const plan =
    observed === undefined
      ? planCreation(desired, spec.ports, place, input)
      : planChanges(desired, observed, spec.ports, place, input);
  return { ...plan, problems: [...found, ...(plan.problems ?? [])] };
}
