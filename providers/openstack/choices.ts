// The placement of a load balancer and the source of its floating IP: annotations, classes and settings in their order. Pure.

import { errorProblem, type IpAddress, ipFamily, type ProviderProblem, warningProblem } from "#ccm";
import { internal, keyOf } from "./annotations.ts";
import type { Desired, Floating, Prefetched } from "./balancer.ts";
import { portAt } from "./instances.ts";
import { floatingDescription } from "./names.ts";
import type { ApiSubnet } from "./resources.ts";
import { type Placement, reasons, type Settings } from "./settings.ts";

type Target = Desired["targets"][number];
type Family = Desired["families"][number];

export const isInternal = ({ settings }: Pick<Desired, "settings">, operator: Settings): boolean =>
  operator["internal-lb"] || settings[internal];

/** The first family decides which family the virtual IP and the members have. */
export const familyOf = ({ families }: Pick<Desired, "families">): Family => families[0] ?? "IPv4";

/** The address of a Node for members: the first InternalIP of the family, or otherwise a different address. */
export function memberAddress({ internalIPs, addresses }: Target, family: Family): IpAddress | undefined {
  return [...internalIPs, ...addresses].find((ip) => ipFamily(ip) === family);
}

type Class = Partial<Placement>;

export function classOf(
  { settings }: Pick<Desired, "settings">,
  operator: Settings,
): Class | ProviderProblem {
  const { class: name } = settings;
  const classes = operator["load-balancer-classes"];
  const found = classes.find((one) => one.name === name);
  if (name === undefined) return {};
  if (found !== undefined) return found;
  const known =
    classes.length === 0
      ? "The settings have no class."
      : `The classes are ${classes.map((one) => one.name).join(", ")}.`;
  const text = `${keyOf("class")} is ${JSON.stringify(name)}, which the settings do not have. ${known} Nothing of the load balancer is changed. Correct the annotation.`;
  return errorProblem("InvalidAnnotation", text, keyOf("class"));
}

export const isProblem = (value: object): value is ProviderProblem => "severity" in value;

export interface Place {
  readonly network: string | undefined;
  readonly subnet: string | undefined;
  readonly memberSubnet: string | undefined;
  /** The subnet for a virtual IP of the second family. */
  readonly secondSubnet: string | undefined;
}

/** The subnet that contains the addresses of most Nodes. */
function subnetOfTargets({ targets }: Desired, family: Family): string | undefined {
  const counts = new Map<string, number>();
  for (const target of targets) {
    const subnet = portAt(target.machine?.handles, memberAddress(target, family) ?? "")?.subnet;
    if (subnet !== undefined) counts.set(subnet, (counts.get(subnet) ?? 0) + 1);
  }
  const sorted = [...counts].toSorted(([one, a], [other, b]) => b - a || (one < other ? -1 : 1));
  return sorted[0]?.[0];
}

export function placeOf(desired: Desired, operator: Settings, ofClass: Class): Place {
  const { settings, families } = desired;
  const chosen = (name: keyof Placement) => ofClass[name] ?? settings[name] ?? operator[name];
  const [network, subnet] = [chosen("network-id"), chosen("subnet-id")];
  const found =
    network === undefined && subnet === undefined ? subnetOfTargets(desired, familyOf(desired)) : subnet;
  const name = "member-subnet-id";
  const member = settings[name] ?? ofClass[name] ?? operator[name] ?? operator["subnet-id"];
  const second = families[1];
  const secondSubnet = second && subnet === undefined ? subnetOfTargets(desired, second) : undefined;
  return { network, subnet: found, memberSubnet: member ?? found, secondSubnet };
}

const limit = 3;

/**
 * Matches names by a shell pattern, by a regular expression after ~, or by neither after !. A text states why the pattern is not
 * used.
 */
function nameMatcher(pattern: string): ((name: string) => boolean) | string {
  const isOpposite = pattern.startsWith("!");
  const rest = isOpposite ? pattern.slice(1) : pattern;
  const isExpression = rest.startsWith("~");
  // Users write patterns, and with more such characters a match can take minutes.
  const costly = rest.match(isExpression ? /[*+?{|]/g : /\*/g) ?? [];
  if (costly.length > limit || (isExpression && /\)[*+?{]/.test(rest)))
    return `could take too long to match: at most ${limit} of * + ? { | are allowed, and none after a group`;
  const escaped = rest
    .replaceAll(/[\\^$.+()[\]{}|]/g, "\\$&")
    .replaceAll("*", ".*")
    .replaceAll("?", ".");
  try {
    const expression = new RegExp(`^(?:${isExpression ? rest.slice(1) : escaped})$`);
    return (name) => expression.test(name) !== isOpposite;
  } catch {
    return "is not a valid expression";
  }
}

/** Whether any of the tags exists; after &, all of them; after !, the opposite. */
function hasTags(wanted: string, tags: readonly string[]): boolean {
  const [, opposite, all, list = ""] = /^(!?)(&?)(.*)$/.exec(wanted) ?? [];
  const each = list.split(",").flatMap((tag) => tag.trim() || []);
  const has = (tag: string) => tags.includes(tag);
  return (all === "&" ? each.every(has) : each.some(has)) !== (opposite === "!");
}

function failed(name: keyof Placement, text: string): ProviderProblem {
  const advice = `The load balancer gets no floating IP. Correct ${keyOf(name)}, or the setting ${name}.`;
  return errorProblem("InvalidAnnotation", `${text} ${advice}`, keyOf(name));
}

/** The subnets to try, or the problem. */
function subnetsOf(
  spec: Class,
  network: string,
  all: readonly ApiSubnet[],
): readonly string[] | ProviderProblem {
  const { "floating-subnet-id": id, "floating-subnet": pattern, "floating-subnet-tags": tags } = spec;
  const known = all.filter(({ network_id }) => network_id === network);
  if (id !== undefined) {
    const other = all.find((one) => one.id === id && one.network_id !== network);
    return other === undefined
      ? [id]
      : failed(
          "floating-subnet-id",
          `The subnet ${id} belongs to the network ${other.network_id}, and not to ${network}.`,
        );
  }
  if (pattern === undefined && tags === undefined) return [];
  const matches = nameMatcher(pattern ?? "*");
  if (typeof matches === "string") return failed("floating-subnet", `${JSON.stringify(pattern)} ${matches}.`);
  const found = known.filter(
    (one) => matches(one.name) && (tags === undefined || hasTags(tags, one.tags ?? [])),
  );
  if (found.length > 0) return found.map((one) => one.id);
  const names = known.map((one) => one.name).join(", ");
  return failed(
    pattern === undefined ? "floating-subnet-tags" : "floating-subnet",
    `No subnet of the network ${network} matches; it has ${names || "none that these credentials see"}.`,
  );
}

/** The source of the floating IP. A problem if there is none. Undefined if the load balancer needs none. */
export function floatingOf(
  desired: Desired,
  operator: Settings,
  ofClass: Class,
  { externalNetworks, subnets }: Prefetched,
  { port, cluster }: { readonly port: string; readonly cluster: string },
): Floating | ProviderProblem {
  const { settings, requestedAddress, owner } = desired;
  const isSet = ({
    "floating-subnet-id": id,
    "floating-subnet": name,
    "floating-subnet-tags": tags,
  }: Class) => (id ?? name ?? tags) !== undefined;
  const chosen = [ofClass, settings as Class].find(isSet) ?? operator;
  // A requested address determines its network.
  const spec =
    requestedAddress === undefined ? chosen : { "floating-subnet-id": chosen["floating-subnet-id"] };
  const named =
    ofClass["floating-network-id"] ?? settings["floating-network-id"] ?? operator["floating-network-id"];
  // An IPv6-only network has no floating IPs.
  const usable = externalNetworks.filter(({ id, subnets: ids = [] }) => {
    const visible = subnets.filter(({ network_id }) => network_id === id);
    return (
      ids.length > 0 && (visible.length < ids.length || visible.some(({ ip_version }) => ip_version === 4))
    );
  });
  const [only, ...others] = usable;
  if (named === undefined && only === undefined) {
    const text = `There is no external network with IPv4, so the load balancer has no floating IP: it is reached at its virtual IP. Set floating-network-id if it needs one, or ${internal}: "true".`;
    return warningProblem(reasons.LoadBalancerForcedInternal, text);
  }
  if (named === undefined && others.length > 0) {
    const text = `There are several external networks: ${usable.map(({ id, name }) => `${name} (${id})`).join(", ")}. The load balancer gets no floating IP. Set floating-network-id, or ${keyOf("floating-network-id")}.`;
    return errorProblem(reasons.LoadBalancerExternalNetworkSearchFailed, text);
  }
  const network = named ?? only?.id ?? "";
  const found = subnetsOf(spec, network, subnets);
  if ("severity" in found) return found;
  const description = floatingDescription(cluster, owner);
  return { network, subnets: found, address: requestedAddress, port, description };
}
