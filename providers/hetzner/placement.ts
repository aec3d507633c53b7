// The current or desired placement of a load balancer: location, type, network, and the limits of each type. Pure.

import { applicable, errorProblem, type ProviderProblem, warningProblem } from "#ccm";
import type { Desired } from "./balancer.ts";
import type { ApiLoadBalancer } from "./resources.ts";
import { reasons } from "./settings.ts";

/** The API reports it for existing load balancers only. */
interface Limits {
  readonly targets: number;
  readonly services: number;
}

const limits: Readonly<Record<string, Limits>> = {
  lb11: { targets: 25, services: 5 },
  lb21: { targets: 75, services: 15 },
  lb31: { targets: 150, services: 30 },
};

/** The number of ports that this type accepts; undefined for a type that only the cloud knows. */
const portLimit = (type: string): number | undefined => limits[type]?.services;

const fitsType = (type: string, ports: number): boolean => ports <= (portLimit(type) ?? ports);

/** While the type changes, both limits hold. Unknown types are limited by the cloud. */
export function targetLimit(
  type: string | undefined,
  observed: { readonly max_targets: number } | undefined,
): number | undefined {
  const ofType = type === undefined && observed !== undefined ? undefined : limits[type ?? "lb11"]?.targets;
  const limit = Math.min(
    ofType ?? Number.POSITIVE_INFINITY,
    observed?.max_targets ?? Number.POSITIVE_INFINITY,
  );
  return Number.isFinite(limit) ? limit : undefined;
}

type Request = Pick<Desired, "settings" | "ports">;

const tcpPorts = ({ ports }: Request): number => ports.filter(({ protocol }) => protocol === "TCP").length;

/**
 * Excludes types that the cloud would reject for an existing load balancer after targets were removed for the change: a type with
 * too few ports, and public targets while the public interface is off.
 */
export function possible<D extends Request>(desired: D, balancer: ApiLoadBalancer | undefined): D {
  if (balancer === undefined) return desired;
  const { settings } = desired;
  const { type, "use-private-ip": usesNetwork = false, "disable-public-network": isOff } = settings;
  const isPublic = balancer.public_net.enabled;
  const staysOff = !usesNetwork && isOff !== false && !isPublic;
  const staysOn = !usesNetwork && isOff === true && isPublic;
  return {
    ...desired,
    settings: {
      ...settings,
      type: type !== undefined && fitsType(type, tcpPorts(desired)) ? type : undefined,
      "use-private-ip": usesNetwork || staysOff,
      "disable-public-network": staysOn ? undefined : isOff,
    },
  };
}

const noNetwork =
  "use-private-ip requires the private network of the cluster, which is not set. Nothing of the load balancer is changed. Set HCLOUD_NETWORK, or remove the annotation.";
const noPlace =
  "Neither a location nor a network zone is set, so no load balancer is created. Set load-balancer.hetzner.cloud/location, or HCLOUD_LOAD_BALANCERS_LOCATION for all Services.";

export function placeProblems(
  desired: Request,
  balancer: ApiLoadBalancer | undefined,
  networkID: number | undefined,
): readonly ProviderProblem[] {
  const { type, location, "network-zone": zone } = desired.settings;
  const { "use-private-ip": usesNetwork = false, "disable-public-network": isSwitchedOff } = desired.settings;
  const [isNew, ports] = [balancer === undefined, tcpPorts(desired)];
  const severe = isNew ? errorProblem : warningProblem;
  const isPublic = balancer?.public_net.enabled ?? true;
  const stays = isPublic
    ? "The public interface stays on"
    : "They are still reached over the private network";
  // The cloud rejects public targets while the public interface is off.
  const isOff = !usesNetwork && (isSwitchedOff ?? !isPublic);
  const off = `Servers cannot be reached by their public addresses while the public interface of the load balancer is off. ${isNew ? "No load balancer is created" : stays}. Set load-balancer.hetzner.cloud/use-private-ip to true, or disable-public-network to false.`;
  const isSmall = type !== undefined && !fitsType(type, ports);
  const small = `The load balancer type ${type} accepts ${portLimit(type ?? "")} ports, and the Service has ${ports}. ${isNew ? "No load balancer is created" : "The type stays as it is"}. Choose a larger type with load-balancer.hetzner.cloud/type, or remove ports.`;
  return applicable(
    usesNetwork && networkID === undefined && errorProblem("InvalidAnnotation", noNetwork),
    isOff && severe("InvalidAnnotation", off),
    isSmall && severe("InvalidAnnotation", small),
    isNew && !(location ?? zone) && errorProblem(reasons.LocationMissing, noPlace),
    ...(balancer === undefined ? [] : existingProblems(desired, balancer)),
  );
}

function existingProblems(
  { settings: { type, location, "network-zone": zone } }: Request,
  { load_balancer_type: { name, deprecated }, location: current }: ApiLoadBalancer,
): readonly ProviderProblem[] {
  const isDeprecated = deprecated !== null && (type ?? name) === name;
  const old = `The load balancer type ${name} is deprecated since ${deprecated}. Choose another one with load-balancer.hetzner.cloud/type.`;
  const isElsewhere = location !== undefined && location !== current.name;
  const isInOtherZone = zone !== undefined && zone !== current.network_zone;
  const fixed = `The load balancer stays in location ${current.name} (network zone ${current.network_zone}): Hetzner cannot move it to ${isInOtherZone ? zone : location}. Delete and create the Service to move it, which changes its addresses. A network zone has an effect only without a location.`;
  return applicable(
    isDeprecated && warningProblem(reasons.LoadBalancerTypeDeprecated, old),
    (isElsewhere || isInOtherZone) && warningProblem("UnsupportedByCloud", fixed),
  );
}
