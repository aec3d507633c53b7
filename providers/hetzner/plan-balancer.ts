// Plans the steps from the observed to the desired load balancer. Pure.

import { hasErrors, type Plan, waitFor, warningProblem } from "#ccm";
import {
  choicesOf,
  type Desired,
  type HetznerStep,
  type Observed,
  ownerLabel,
  type Prefetched,
} from "./balancer.ts";
import { chooseCertificates } from "./certificates.ts";
import { createStep, planChanges, stepsFor, type Wanted } from "./changes.ts";
import { placeProblems, possibleChoices } from "./placement.ts";
import type { ApiLoadBalancer } from "./resources.ts";
import { completeService, serviceProblems, serviceSpecs } from "./services.ts";
import { reasons, type Settings } from "./settings.ts";
import { targetProblems, targetSpecs } from "./targets.ts";

export const creation = "the load balancer to be created";

/** Until then, there is no address to publish. */
export const hasAddresses = ({ public_net: { enabled, ipv4 } }: ApiLoadBalancer): boolean =>
  !enabled || Boolean(ipv4.ip);

export function planLoadBalancer(
  desired: Desired | undefined,
  observed: Observed | undefined,
  { networkID, certificates: known }: Prefetched,
  operator: Settings,
): Plan<HetznerStep> {
  if (desired === undefined || desired.ending !== undefined) {
    return observed === undefined ? { steps: [] } : planEnd(desired, observed.balancer);
  }
  const requested = choicesOf(desired, operator);
  const choices = possibleChoices(requested, desired, observed?.balancer);
  const certificates = chooseCertificates(desired, known);
  const specs = { proxyProtocol: choices.proxyProtocol, certificates: certificates.ids };
  const services = serviceSpecs(desired, operator, specs);
  const wanted = { desired, choices, certificates, services, networkID };
  const problems = [
    ...certificates.problems,
    ...serviceProblems(desired),
    ...targetProblems(desired.targets, choices),
    ...placeProblems(requested, desired, observed?.balancer, networkID),
  ];
  if (hasErrors(problems)) return { steps: [], problems };
  const steps = observed === undefined ? [planCreation(wanted)] : planChanges(wanted, observed.balancer);
  const isCreated = observed === undefined || hasAddresses(observed.balancer);
  const waitingFor = isCreated ? certificates.waitingFor : creation;
  if (steps.length > 0 || waitingFor === undefined) return { steps, problems };
  return { ...waitFor(waitingFor), problems };
}

function planEnd(desired: Desired | undefined, balancer: ApiLoadBalancer): Plan<HetznerStep> {
  const steps = stepsFor(balancer);
  const isProtected = balancer.protection.delete;
  if (desired?.ending !== "release" && !isProtected) return { steps: [steps.deleteBalancer()] };
  const { [ownerLabel]: _, ...labels } = balancer.labels;
  const release = steps.change({ labels });
  if (!isProtected) return { steps: [release] };
  const text = `The load balancer ${balancer.name} is protected against deletion, so it stays in the cloud, without the label ${ownerLabel}. Remove the protection and delete it there if it is not needed.`;
  const problems = [warningProblem(reasons.LoadBalancerProtected, text)];
  return { steps: [{ ...release, releases: true }], problems };
}

/** Everything in one request, except what the API takes only later: an address in the network, and targets by address. */
function planCreation({ desired, choices, certificates, services, networkID }: Wanted): HetznerStep {
  const {
    type = "lb11",
    location,
    networkZone,
    algorithm,
    publicInterface,
    usesPrivateIP,
    privateIP,
    subnet,
  } = choices;
  const name = desired.settings.name ?? desired.defaultName;
  const canAttach = networkID !== undefined && privateIP === undefined && subnet === undefined;
  // Over the private network only once it is attached.
  const hasTargets = !usesPrivateIP || canAttach;
  const targets = targetSpecs(hasTargets ? desired.targets : [], choices).flatMap(({ target }) =>
    target.type === "server" ? [target] : [],
  );
  return createStep(name, {
    name,
    load_balancer_type: type,
    ...(location === undefined ? { network_zone: networkZone } : { location }),
    labels: { [ownerLabel]: desired.owner.uid },
    ...(algorithm !== undefined && { algorithm: { type: algorithm } }),
    ...(publicInterface !== undefined && { public_interface: publicInterface }),
    ...(canAttach && { network: networkID }),
    services: certificates.isMissing ? [] : services.map(completeService),
    targets,
  });
}
