// Plans the steps from the observed to the desired load balancer. Pure.

import { hasErrors, type Plan, requestTo, waitFor, warningProblem } from "#ccm";
import {
  type Desired,
  type HetznerStep,
  type Observed,
  ownerLabel,
  type Prefetched,
  send,
  withDefaults,
} from "./balancer.ts";
import { chooseCertificates } from "./certificates.ts";
import { planChanges, type Wanted } from "./changes.ts";
import { placeProblems, possible } from "./placement.ts";
import type { ApiLoadBalancer } from "./resources.ts";
import { completeService, serviceProblems, serviceSpecs } from "./services.ts";
import { hasRobotAccess, reasons, type Settings } from "./settings.ts";
import { targetProblems, wantedTargets } from "./targets.ts";

export const creation = "the load balancer to be created";

/** Until then, there is no address to publish. */
export const hasAddresses = ({ public_net: { enabled, ipv4 } }: ApiLoadBalancer): boolean =>
  !enabled || Boolean(ipv4.ip);

export function planLoadBalancer(
  member: Desired | undefined,
  observed: Observed | undefined,
  { networkID, certificates: known }: Prefetched,
  operator: Settings,
): Plan<HetznerStep> {
  if (member === undefined || member.ending !== undefined) {
    return observed === undefined ? { steps: [] } : planEnd(member, observed.balancer);
  }
  const balancer = observed?.balancer;
  const requested = withDefaults(member, operator);
  const desired = possible(requested, balancer);
  const certificates = chooseCertificates(desired, known);
  const services = serviceSpecs(desired, certificates.ids);
  const readsRobot = hasRobotAccess(operator);
  const targets = wantedTargets(desired, readsRobot);
  const wanted = { desired, certificates, services, targets, networkID };
  const problems = [
    ...certificates.problems,
    ...serviceProblems(desired),
    ...targetProblems(desired, targets, readsRobot),
    ...placeProblems(requested, balancer, networkID),
  ];
  if (hasErrors(problems)) return { steps: [], problems };
  const steps = balancer === undefined ? [planCreation(wanted)] : planChanges(wanted, balancer);
  const isCreated = balancer === undefined || hasAddresses(balancer);
  const waitingFor = isCreated ? certificates.waitingFor : creation;
  if (steps.length > 0 || waitingFor === undefined) return { steps, problems };
  return { ...waitFor(waitingFor), problems };
}

function planEnd(desired: Desired | undefined, balancer: ApiLoadBalancer): Plan<HetznerStep> {
  const isProtected = balancer.protection.delete;
  if (desired?.ending !== "release" && !isProtected)
    return { steps: [send(balancer, "delete load balancer", "DELETE /load_balancers/{id}")] };
  const { [ownerLabel]: _, ...labels } = balancer.labels;
  const release = send(balancer, "change load balancer", "PUT /load_balancers/{id}", { labels });
  if (!isProtected) return { steps: [release] };
  const text = `The load balancer ${balancer.name} is protected against deletion, so it stays in the cloud, without the label ${ownerLabel}. Remove the protection and delete it there if it is not needed.`;
  const problems = [warningProblem(reasons.LoadBalancerProtected, text)];
  return { steps: [{ ...release, releases: true }], problems };
}

/** Everything in one request, except what the API takes only later: an address in the network, and targets by address. */
function planCreation({ desired, certificates, services, targets, networkID }: Wanted): HetznerStep {
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
  // Over the private network only once it is attached.
  const hasTargets = usesPrivateIP !== true || canAttach;
  const body = {
    name,
    load_balancer_type: type,
    ...(location === undefined ? { network_zone } : { location }),
    labels: { [ownerLabel]: desired.owner.uid },
    algorithm: algorithm && { type: algorithm },
    public_interface: isPrivate === undefined ? undefined : !isPrivate,
    network: canAttach ? networkID : undefined,
    services: certificates.isMissing ? [] : services.map(completeService),
    targets: targets.specs.flatMap(({ target }) => (hasTargets && target.type === "server" ? target : [])),
  };
  return { do: "create load balancer", on: name, request: requestTo("POST /load_balancers", {}, body) };
}
