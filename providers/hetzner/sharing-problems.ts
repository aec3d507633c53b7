// The reasons why a Service does not share a load balancer, or does not get everything that it requests there. Pure.

import { applicable, errorProblem, type ProviderProblem, warningProblem } from "#ccm";
import { type PortMark, serviceOf } from "./marks.ts";
import type { ApiLoadBalancer } from "./resources.ts";
import { reasons } from "./settings.ts";
import { type ChosenPorts, needs, type Parts, type Request } from "./shared-parts.ts";
import type { Dispute } from "./sharing.ts";

const prefix = "load-balancer.hetzner.cloud/";

export const withoutIdentity = errorProblem(
  reasons.SharingRefused,
  "A load balancer that several Services share has the uid of the cluster in its labels, and the namespace kube-system cannot be read. Nothing of it is changed. Grant the verb get for the namespace kube-system (see the command rbac).",
);

const titleOf = ({ name, id }: ApiLoadBalancer): string => `The load balancer ${name} (${id})`;
const namesOf = (marks: readonly PortMark[]): string => [...new Set(marks.map(serviceOf))].join(", ");

/** Why a Service may not join. */
export function refusalOf(
  { owner, settings }: Request,
  balancer: ApiLoadBalancer,
  others: readonly PortMark[],
  home: string | undefined,
): ProviderProblem | false {
  const refused = (why: string, remedy: string) =>
    errorProblem(
      reasons.SharingRefused,
      `${titleOf(balancer)} ${why} The Service gets no load balancer. ${remedy} Or set another ${prefix}name.`,
    );
  const foreign = others.find(({ cluster }) => cluster !== home);
  if (foreign !== undefined)
    return refused(`is shared by ${serviceOf(foreign)} of another cluster (uid ${foreign.cluster}).`, "");
  const closed = others.filter(({ scope }) => scope === undefined);
  if (closed.length > 0)
    return refused(`is used by ${namesOf(closed)}, without ${prefix}shared.`, `Set it there.`);
  const apart = others.filter(
    ({ namespace, scope }) =>
      namespace !== owner.namespace && (scope !== "cluster" || settings.shared !== "cluster"),
  );
  if (apart.length === 0) return false;
  return refused(
    `is shared by ${namesOf(apart)}, and at least one of both is shared in its namespace only.`,
    `Set ${prefix}shared to cluster in each of these Services.`,
  );
}

export function stillShared(
  { settings }: Request,
  balancer: ApiLoadBalancer,
  others: readonly PortMark[],
): ProviderProblem | false {
  if (settings.shared !== undefined || others.length === 0) return false;
  const text = `${titleOf(balancer)} is still shared with ${namesOf(others)}, although ${prefix}shared is not set. No other Service can join it. To get another load balancer, create the Service again; its address changes.`;
  return warningProblem(reasons.SharingRefused, text);
}

/** Uses the users' spelling. */
const shown = (value: unknown): string => JSON.stringify(value).slice(0, 80);

export function disputeProblem(
  { name, wanted, current, whose }: Dispute,
  balancer: ApiLoadBalancer,
  { others, isMember }: Parts,
): ProviderProblem {
  const services = namesOf(others.filter(({ uid }) => whose.includes(uid)));
  const why =
    services === "" ? "and something else than Services uses it" : `which ${services} does not request`;
  const outcome = isMember ? "It stays as it is." : "The Service does not join it.";
  const text = `${titleOf(balancer)} has ${name} ${shown(current)}, and the Service needs ${shown(wanted)}, ${why}. ${outcome} Set the same ${prefix}${name} in all its Services.`;
  const severe = isMember ? warningProblem : errorProblem;
  return severe(reasons.SharedSettingsDiffer, text, prefix + name);
}

export function portProblems(
  requested: Request,
  balancer: ApiLoadBalancer,
  { taken, isMember, occupied }: Parts,
  ports: ChosenPorts,
): readonly ProviderProblem[] {
  const severe = isMember ? warningProblem : errorProblem;
  const outcome = isMember ? "These ports are not served, the others are." : "The Service does not join it.";
  const used = ports.taken
    .flatMap((port) => needs(requested, port))
    .flatMap((port) => (taken.has(port) ? `${port} (${taken.get(port)})` : []));
  const conflict = `${titleOf(balancer)} has other listeners on port ${used.join(", ")}. ${outcome} Use other ports, or remove those listeners.`;
  const { name, max_services: limit } = balancer.load_balancer_type;
  const full = `${titleOf(balancer)} has ${occupied} ports of other Services, and its type ${name} accepts ${limit}: there is no room for port ${ports.excess.join(", ")}. ${outcome} Choose a larger ${prefix}type in all its Services, or remove ports.`;
  return applicable(
    used.length > 0 && severe("PortConflict", conflict),
    ports.excess.length > 0 && severe("QuotaExceeded", full),
  );
}
