// Where a load balancer is, or is to be created: location, type, network, and what each type accepts. Pure.

import { applicable, errorProblem, type Problem, warningProblem } from "#ccm";
import type { Choices, Desired } from "./balancer.ts";
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

/** How many ports this type accepts; undefined for a type that only the cloud knows. */
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

const tcpPorts = ({ ports }: Pick<Desired, "ports">): number =>
  ports.filter(({ protocol }) => protocol === "TCP").length;

/**
 * Without what the cloud would refuse for an existing load balancer, after targets were removed for it: a type with too few ports, and
 * public targets while the public interface is off.
 */
export function possibleChoices(
  choices: Choices,
  desired: Pick<Desired, "ports">,
  balancer: ApiLoadBalancer | undefined,
): Choices {
  if (balancer === undefined) return choices;
  const { type, usesPrivateIP } = choices;
  const isOff = !usesPrivateIP && choices.publicInterface !== true && !balancer.public_net.enabled;
  const staysOn = !usesPrivateIP && choices.publicInterface === false && balancer.public_net.enabled;
  return {
    ...choices,
    type: type !== undefined && fitsType(type, tcpPorts(desired)) ? type : undefined,
    usesPrivateIP: usesPrivateIP || isOff,
    publicInterface: staysOn ? undefined : choices.publicInterface,
  };
}

const noNetwork =
  "use-private-ip requires the private network of the cluster, which is not set. Nothing of the load balancer is changed. Set HCLOUD_NETWORK, or remove the annotation.";
const noPlace =
  "Neither a location nor a network zone is set, so no load balancer is created. Set load-balancer.hetzner.cloud/location, or HCLOUD_LOAD_BALANCERS_LOCATION for all Services.";

export function placeProblems(
  choices: Choices,
  desired: Pick<Desired, "ports" | "settings">,
  balancer: ApiLoadBalancer | undefined,
  networkID: number | undefined,
): readonly Problem[] {
  const { type, location, networkZone, publicInterface, usesPrivateIP } = choices;
  const [isNew, ports] = [balancer === undefined, tcpPorts(desired)];
  const severe = isNew ? errorProblem : warningProblem;
  const isPublic = balancer?.public_net.enabled ?? true;
  const stays = isPublic
    ? "The public interface stays on"
    : "They are still reached over the private network";
  // The cloud refuses public targets then.
  const isOff = !usesPrivateIP && !(publicInterface ?? isPublic);
  const off = `Servers cannot be reached by their public addresses while the public interface of the load balancer is off. ${isNew ? "No load balancer is created" : stays}. Set load-balancer.hetzner.cloud/use-private-ip to true, or disable-public-network to false.`;
  const isSmall = type !== undefined && !fitsType(type, ports);
  const small = `The load balancer type ${type} accepts ${portLimit(type ?? "")} ports, and the Service has ${ports}. ${isNew ? "No load balancer is created" : "The type stays as it is"}. Choose a larger type with load-balancer.hetzner.cloud/type, or remove ports.`;
  return [
    ...applicable(
      usesPrivateIP && networkID === undefined && errorProblem("InvalidAnnotation", noNetwork),
      isOff && severe("InvalidAnnotation", off),
      isSmall && severe("InvalidAnnotation", small),
      isNew && !(location ?? networkZone) && errorProblem(reasons.LocationMissing, noPlace),
    ),
    ...(balancer === undefined ? [] : existingProblems(choices, desired, balancer)),
  ];
}

function existingProblems(
  { type, location, networkZone }: Choices,
  { settings }: Pick<Desired, "settings">,
  { load_balancer_type: { name, deprecated }, location: current }: ApiLoadBalancer,
): readonly Problem[] {
  const isDeprecated = deprecated !== null && (type ?? name) === name;
  const old = `The load balancer type ${name} is deprecated since ${deprecated}. Choose another one with load-balancer.hetzner.cloud/type.`;
  // The location takes precedence over the zone, also where only the zone is an annotation.
  const zone = settings["network-zone"] || networkZone;
  const isElsewhere = location !== undefined && location !== current.name;
  const isInOtherZone = zone !== undefined && zone !== current.network_zone;
  const fixed = `The load balancer stays in location ${current.name} (network zone ${current.network_zone}): Hetzner cannot move it to ${isInOtherZone ? zone : location}. Delete and create the Service to move it, which changes its addresses. A network zone has an effect only without a location.`;
  return applicable(
    isDeprecated && warningProblem(reasons.LoadBalancerTypeDeprecated, old),
    (isElsewhere || isInOtherZone) && warningProblem("UnsupportedByCloud", fixed),
  );
}
