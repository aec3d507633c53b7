// Plans the steps from the observed to the desired load balancer. Pure.

import { type Plan, waitFor } from "#ccm";
import type { ApiLoadBalancer } from "../api/resources.ts";
import { reasons } from "../reasons.ts";
import { type CertificateChoice, chooseCertificates } from "./certificates.ts";
import {
  type Choices,
  choicesOf,
  type Desired,
  type HetznerStep,
  type Observed,
  ownerLabel,
  type Prefetched,
  type Settings,
} from "./model.ts";
import { placeProblems } from "./placement.ts";
import { completeService, isSameService, type ServiceSpec, serviceSpecs } from "./services.ts";
import { createStep, stepsFor } from "./steps.ts";
import { diffTargets, targetProblems, targetSpecs } from "./targets.ts";

/** One Service with everything that its plan depends on. */
interface Wanted {
  readonly desired: Desired;
  readonly choices: Choices;
  readonly certificates: CertificateChoice;
  readonly services: readonly ServiceSpec[];
  readonly networkID: number | undefined;
}

export function planLoadBalancer(
  desired: Desired | undefined,
  observed: Observed | undefined,
  { networkID, certificates: known }: Prefetched,
  operator: Settings,
): Plan<HetznerStep> {
  if (desired === undefined || desired.ending !== undefined) {
    return observed === undefined ? { steps: [] } : planEnd(desired, observed.balancer);
  }
  const choices = choicesOf(desired, operator);
  const certificates = chooseCertificates(desired, known);
  const specs = { proxyProtocol: choices.proxyProtocol, certificates: certificates.ids };
  const services = serviceSpecs(desired, operator, specs);
  const wanted = { desired, choices, certificates, services, networkID };
  const problems = [
    ...certificates.problems,
    ...targetProblems(desired.targets, choices),
    ...placeProblems(choices, observed?.balancer, networkID),
  ];
  if (problems.some(({ severity }) => severity === "error")) return { steps: [], problems };
  const certificate = certificates.create === undefined ? [] : [certificates.create];
  // The load balancer first: a certificate can take minutes, and its DNS records may need the address.
  const steps =
    observed === undefined
      ? [planCreation(wanted)]
      : [...certificate, ...planChanges(wanted, observed.balancer)];
  if (steps.length > 0 || certificates.waitingFor === undefined) return { steps, problems };
  return { ...waitFor(certificates.waitingFor), problems };
}

function planEnd(desired: Desired | undefined, balancer: ApiLoadBalancer): Plan<HetznerStep> {
  const steps = stepsFor(balancer);
  const isProtected = balancer.protection.delete;
  if (desired?.ending !== "release" && !isProtected) return { steps: [steps.deleteBalancer()] };
  const { [ownerLabel]: _, ...labels } = balancer.labels;
  const release = { steps: [steps.change({ labels })] };
  if (!isProtected) return release;
  const text = `The load balancer ${balancer.name} is protected against deletion, so it stays in the cloud, without the label ${ownerLabel}. Remove the protection and delete it there if it is not needed.`;
  return { ...release, problems: [{ severity: "warning", reason: reasons.LoadBalancerProtected, text }] };
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

/** First what makes room, last what needs it. A change of the network removes targets, which a later plan adds again. */
function planChanges(wanted: Wanted, balancer: ApiLoadBalancer): readonly HetznerStep[] {
  const { desired, choices, certificates, services } = wanted;
  const { type, algorithm, publicInterface } = choices;
  const steps = stepsFor(balancer);
  const targets = diffTargets(desired.targets, choices, balancer.targets);
  const ports = new Set(desired.ports.map(({ port }) => port));
  const surplus = balancer.services.filter(({ listen_port }) => !ports.has(listen_port));
  const existing = new Map(balancer.services.map((service) => [service.listen_port, service]));
  return [
    ...identityChanges(desired, balancer),
    ...reverseDNSChanges(desired, balancer),
    ...(algorithm === undefined || algorithm === balancer.algorithm.type
      ? []
      : [steps.changeAlgorithm(algorithm)]),
    ...targets.remove.map(steps.removeTarget),
    ...surplus.map(({ listen_port }) => steps.deleteService(listen_port)),
    ...(type === undefined || type === balancer.load_balancer_type.name ? [] : [steps.changeType(type)]),
    ...networkChanges(wanted, balancer),
    ...(publicInterface === undefined || publicInterface === balancer.public_net.enabled
      ? []
      : [steps.setPublicInterface(publicInterface)]),
    ...(certificates.isMissing ? [] : services).flatMap((spec) => {
      const service = existing.get(spec.listen_port);
      if (service === undefined) return [steps.addService(spec)];
      return isSameService(spec, service) ? [] : [steps.updateService(spec)];
    }),
    ...targets.create.map(steps.addTarget),
  ];
}

function identityChanges(
  { owner, settings: { name } }: Desired,
  balancer: ApiLoadBalancer,
): readonly HetznerStep[] {
  const isMarked = balancer.labels[ownerLabel] === owner.uid;
  const isNamed = name === undefined || name === balancer.name;
  if (isMarked && isNamed) return [];
  const labels = { ...balancer.labels, [ownerLabel]: owner.uid };
  return [stepsFor(balancer).change({ ...(!isMarked && { labels }), ...(!isNamed && { name }) })];
}

function reverseDNSChanges({ settings }: Desired, balancer: ApiLoadBalancer): readonly HetznerStep[] {
  const { ipv4, ipv6 } = balancer.public_net;
  const wanted = [
    [ipv4, settings["ipv4-rdns"]],
    [ipv6, settings["ipv6-rdns"]],
  ] as const;
  return wanted.flatMap(([{ ip, dns_ptr }, name]) =>
    name === undefined || !ip || name === dns_ptr ? [] : [stepsFor(balancer).changeReverseDNS(ip, name)],
  );
}

function networkChanges(
  { choices: { privateIP, subnet }, networkID }: Wanted,
  balancer: ApiLoadBalancer,
): readonly HetznerStep[] {
  const steps = stepsFor(balancer);
  const isWanted = ({ network, ip }: ApiLoadBalancer["private_net"][number]) =>
    network === networkID && (privateIP === undefined || privateIP === ip);
  const detached = balancer.private_net
    .filter((one) => !isWanted(one))
    .map(({ network }) => steps.detach(network));
  if (networkID === undefined || balancer.private_net.some(isWanted)) return detached;
  const place = {
    network: networkID,
    ...(privateIP !== undefined && { ip: privateIP }),
    ...(subnet !== undefined && { ip_range: subnet }),
  };
  return [...detached, steps.attach(place)];
}
