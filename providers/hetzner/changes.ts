// Plans the changes of an existing load balancer, so that what the cloud refuses holds up as little as possible. Pure.

import { requestTo } from "#ccm";
import { type Choices, type Desired, type HetznerStep, ownerLabel } from "./balancer.ts";
import type { CertificateChoice } from "./certificates.ts";
import type { ApiLoadBalancer, ApiTarget } from "./resources.ts";
import { completeService, isSameService, type ServiceSpec } from "./services.ts";
import { diffTargets, type TargetSpec } from "./targets.ts";

export function createStep(name: string, body: object): HetznerStep {
  return { do: "create load balancer", on: name, request: requestTo("POST /load_balancers", {}, body) };
}

/** The body of a creation without its targets; undefined if it has none. */
export function withoutTargets(body: unknown): object | undefined {
  const { targets = [], ...rest } = (body ?? {}) as { readonly targets?: readonly ApiTarget[] };
  return targets.length === 0 ? undefined : { ...rest, targets: [] };
}

/** A target without what `remove_target` does not take. */
function targetToRemove({ type, server, ip }: ApiTarget): ApiTarget {
  return { type, ...(server && { server: { id: server.id } }), ...(ip && { ip }) };
}

export function stepsFor({ id, name }: Pick<ApiLoadBalancer, "id" | "name">) {
  const send = (title: string, operation: string, body?: object): HetznerStep => ({
    ...{ do: title, on: name },
    request: requestTo(operation, { id }, body),
  });
  const act = (title: string, action: string, body?: object) =>
    send(title, `POST /load_balancers/{id}/actions/${action}`, body);
  return {
    change: (body: { readonly name?: string; readonly labels?: ApiLoadBalancer["labels"] }) =>
      send("change load balancer", "PUT /load_balancers/{id}", body),
    deleteBalancer: () => send("delete load balancer", "DELETE /load_balancers/{id}"),
    changeReverseDNS: (ip: string, dns_ptr: string) =>
      act("change reverse DNS", "change_dns_ptr", { ip, dns_ptr }),
    changeAlgorithm: (type: string) => act("change algorithm", "change_algorithm", { type }),
    changeType: (type: string) => act("change type", "change_type", { load_balancer_type: type }),
    detach: (network: number) => act("detach from network", "detach_from_network", { network }),
    attach: (body: { readonly network: number; readonly ip?: string; readonly ip_range?: string }) =>
      act("attach to network", "attach_to_network", body),
    setPublicInterface: (isEnabled: boolean) =>
      isEnabled
        ? act("enable public interface", "enable_public_interface")
        : act("disable public interface", "disable_public_interface"),
    addService: (spec: ServiceSpec) => act("add service", "add_service", completeService(spec)),
    updateService: (spec: ServiceSpec) => act("update service", "update_service", spec),
    deleteService: (listen_port: number) => act("delete service", "delete_service", { listen_port }),
    addTarget: ({ node, target }: TargetSpec): HetznerStep => ({
      ...act("add target", "add_target", target),
      node,
    }),
    removeTarget: (target: ApiTarget) => act("remove target", "remove_target", targetToRemove(target)),
  };
}

/** The part of a step that changes only targets. */
export const targetsOnly = (step: HetznerStep): HetznerStep | undefined =>
  step.do === "add target" || step.do === "remove target" ? step : undefined;

/** One Service with everything that its plan depends on. */
export interface Wanted {
  readonly desired: Desired;
  readonly choices: Choices;
  readonly certificates: CertificateChoice;
  readonly services: readonly ServiceSpec[];
  readonly networkID: number | undefined;
}

/**
 * First targets, which depend on the network only where they are reached over it, then ports, last what forwards no traffic. A
 * certificate can take minutes, and its DNS records may need the address, so it comes after the creation. The framework stops at a step
 * that fails. A change of the network removes targets, which a later plan adds again.
 */
export function planChanges(wanted: Wanted, balancer: ApiLoadBalancer): readonly HetznerStep[] {
  const { desired, choices, certificates } = wanted;
  const { usesPrivateIP, publicInterface = balancer.public_net.enabled } = choices;
  const isSwitched = publicInterface !== balancer.public_net.enabled;
  const switched = isSwitched ? [stepsFor(balancer).setPublicInterface(publicInterface)] : [];
  const network = networkChanges(wanted, balancer);
  return [
    ...labelChanges(desired, balancer),
    ...(usesPrivateIP ? network : []),
    ...(publicInterface ? switched : []),
    ...targetChanges(wanted, balancer),
    ...serviceChanges(wanted, balancer),
    ...(certificates.create === undefined ? [] : [certificates.create]),
    ...(usesPrivateIP ? [] : network),
    ...(publicInterface ? [] : switched),
    ...cosmeticChanges(wanted, balancer),
  ];
}

/** Targets that are reached in another way are replaced one by one, so that the others get the traffic. */
function targetChanges({ desired, choices }: Wanted, balancer: ApiLoadBalancer): readonly HetznerStep[] {
  const { addTarget, removeTarget } = stepsFor(balancer);
  const { remove, create, update } = diffTargets(desired.targets, choices, balancer.targets);
  return [
    ...remove.map(removeTarget),
    ...create.map(addTarget),
    ...update.flatMap(({ desired: target, observed }) => [removeTarget(observed), addTarget(target)]),
  ];
}

/** The type changes before ports are added only if it must: the cloud may refuse it. */
function serviceChanges(
  { desired, choices, certificates, services }: Wanted,
  balancer: ApiLoadBalancer,
): readonly HetznerStep[] {
  const steps = stepsFor(balancer);
  const current = balancer.load_balancer_type;
  const { type = current.name } = choices;
  const changed = type === current.name ? [] : [steps.changeType(type)];
  const ports = new Set(desired.ports.flatMap(({ protocol, port }) => (protocol === "TCP" ? port : [])));
  const surplus = balancer.services.filter(({ listen_port }) => !ports.has(listen_port));
  const existing = new Map(balancer.services.map((service) => [service.listen_port, service]));
  const usable = certificates.isMissing ? [] : services;
  const added = usable.filter(({ listen_port }) => !existing.has(listen_port)).map(steps.addService);
  const hasRoom = ports.size <= current.max_services;
  return [
    ...surplus.map(({ listen_port }) => steps.deleteService(listen_port)),
    ...usable.flatMap((spec) => {
      const service = existing.get(spec.listen_port);
      return service === undefined || isSameService(spec, service) ? [] : [steps.updateService(spec)];
    }),
    ...(hasRoom ? [...added, ...changed] : [...changed, ...added]),
  ];
}

/** Written first: the load balancer of a Service is found by it. */
function labelChanges({ owner }: Desired, balancer: ApiLoadBalancer): readonly HetznerStep[] {
  if (balancer.labels[ownerLabel] === owner.uid) return [];
  return [stepsFor(balancer).change({ labels: { ...balancer.labels, [ownerLabel]: owner.uid } })];
}

/** What forwards no traffic. The cloud may refuse it for long. */
function cosmeticChanges(
  { desired: { settings }, choices: { algorithm } }: Wanted,
  balancer: ApiLoadBalancer,
): readonly HetznerStep[] {
  const { name } = settings;
  const steps = stepsFor(balancer);
  return [
    ...(algorithm === undefined || algorithm === balancer.algorithm.type
      ? []
      : [steps.changeAlgorithm(algorithm)]),
    ...reverseDNSChanges(settings, balancer),
    ...(name === undefined || name === balancer.name ? [] : [steps.change({ name })]),
  ];
}

/** DNS names have no case, and may end with a dot. */
const normalized = (name: string): string => name.toLowerCase().replace(/\.$/, "");

function reverseDNSChanges(settings: Desired["settings"], balancer: ApiLoadBalancer): readonly HetznerStep[] {
  const { ipv4, ipv6 } = balancer.public_net;
  const wanted = [
    [ipv4, settings["ipv4-rdns"]],
    [ipv6, settings["ipv6-rdns"]],
  ] as const;
  return wanted.flatMap(([{ ip, dns_ptr }, name]) =>
    name === undefined || !ip || normalized(name) === normalized(dns_ptr ?? "")
      ? []
      : [stepsFor(balancer).changeReverseDNS(ip, name)],
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
