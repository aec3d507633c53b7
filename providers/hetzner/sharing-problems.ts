// The reasons why a Service does not share a load balancer, or does not get everything that it requests there. Pure.

import { applicable, errorProblem, type ProviderProblem, warningProblem } from "#ccm";
import { type PortMark, serviceOf } from "./marks.ts";
import type { ApiLoadBalancer } from "./resources.ts";
import { reasons } from "./settings.ts";
import { type ChosenPorts, needs, type Parts, type Request } from "./shared-parts.ts";

const prefix = "load-balancer.hetzner.cloud/";

export const withoutIdentity = errorProblem(
  reasons.SharingRefused,
  "A load balancer that several Services share has the uid of the cluster in its labels, and the namespace kube-system cannot be read. Nothing of it is changed. Grant the verb get for the namespace kube-system (see the command rbac).",
);

const titleOf = ({ name, id }: ApiLoadBalancer): string => `The load balancer ${name} (${id})`;
const namesOf = (marks: readonly PortMark[]): string => [...new Set(marks.map(serviceOf))].join(", ");

/** Why a Service may not join. */
function refusalOf(
  { owner, settings }: Request,
  { others }: Parts,
  home: string | undefined,
): readonly [why: string, remedy: string] | undefined {
  const foreign = others.find(({ cluster }) => cluster !== home);
  if (foreign !== undefined)
    return [`is shared by ${serviceOf(foreign)} of another cluster (uid ${foreign.cluster}).`, ""];
  const closed = others.filter(({ scope }) => scope === undefined);
  if (closed.length > 0) return [`is used by ${namesOf(closed)}, without ${prefix}shared.`, "Set it there."];
  const isReached = ({ namespace, scope }: PortMark): boolean =>
    namespace === owner.namespace || (scope === "cluster" && settings.shared === "cluster");
  const apart = others.filter((mark) => !isReached(mark));
  const why = `is shared by ${namesOf(apart)}, and at least one of these Services is shared only within its namespace.`;
  return apart.length === 0 ? undefined : [why, `Set ${prefix}shared to cluster in each of these Services.`];
}

/** Uses the users' spelling. */
const shown = (value: unknown): string => JSON.stringify(value).slice(0, 80);

/** A setting of the whole load balancer that stays. `whose`: the uids of the Services that do not request the same value. */
export interface Dispute {
  readonly name: string;
  readonly wanted: unknown;
  readonly current: unknown;
  readonly whose: readonly string[];
}

interface Findings {
  readonly home: string | undefined;
  readonly disputes: readonly Dispute[];
  readonly ports: ChosenPorts;
}

export function sharingProblems(
  requested: Request,
  balancer: ApiLoadBalancer,
  parts: Parts,
  { home, disputes, ports }: Findings,
): readonly ProviderProblem[] {
  const { others, taken, isMember, occupied } = parts;
  const title = titleOf(balancer);
  const severe = isMember ? warningProblem : errorProblem;
  const outcome = (ofMember: string): string => (isMember ? ofMember : "The Service does not join it.");
  const unserved = outcome("These ports are not served; all other ports are.");
  const [why, remedy] = (isMember ? undefined : refusalOf(requested, parts, home)) ?? [];
  const refused = `${title} ${why} The Service gets no load balancer. ${remedy === "" ? "Set" : `${remedy} Or set`} a different ${prefix}name.`;
  const isLeft = isMember && requested.settings.shared === undefined && others.length > 0;
  const left = `${title} is still shared with ${namesOf(others)}, although ${prefix}shared is not set. No other Service can join it. To get a new load balancer, recreate the Service; its address changes.`;
  const used = ports.taken
    .flatMap((port) => needs(requested, port))
    .flatMap((port) => (taken.has(port) ? `${port} (${taken.get(port)})` : []));
  const conflict = `${title} has other listeners on port ${used.join(", ")}. ${unserved} Use other ports, or remove those listeners.`;
  const { name: type, max_services: limit } = balancer.load_balancer_type;
  const full = `${title} has ${occupied} ports of other Services, and its type ${type} accepts ${limit}: there is no room for port ${ports.excess.join(", ")}. ${unserved} Choose a larger ${prefix}type in all its Services, or remove ports.`;
  return applicable(
    home === undefined && withoutIdentity,
    why !== undefined && errorProblem(reasons.SharingRefused, refused),
    isLeft && warningProblem(reasons.SharingRefused, left),
    ...disputes.map(({ name, wanted, current, whose }) => {
      const services = namesOf(others.filter(({ uid }) => whose.includes(uid)));
      const reason = services
        ? `which ${services} does not request`
        : "and something other than a Service uses it";
      const text = `${title} has ${name} ${shown(current)}, and the Service needs ${shown(wanted)}, ${reason}. ${outcome("It stays as it is.")} Set the same ${prefix}${name} in all its Services.`;
      return severe(reasons.SharedSettingsDiffer, text, prefix + name);
    }),
    used.length > 0 && severe("PortConflict", conflict),
    ports.excess.length > 0 && severe("QuotaExceeded", full),
  );
}

/** Targets stay while the needs of one Service are not known. */
export function targetsKept(
  count: number,
  needed: ReadonlyMap<string, unknown>,
  balancer: ApiLoadBalancer,
  { others }: Parts,
): readonly ProviderProblem[] {
  const names =
    namesOf(others.filter(({ uid }) => needed.get(uid) === undefined)) || "a Service of another cluster";
  const text = `${titleOf(balancer)} keeps targets that this Service does not need (${count}), because the needs of ${names} are unknown: it is paused, released or gone, has an invalid annotation, or has a different value of ${prefix}use-private-ip. They are removed when its needs are known.`;
  return applicable(count > 0 && warningProblem(reasons.SharedTargetsKept, text));
}
