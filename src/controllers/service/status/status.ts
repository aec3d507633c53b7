// The status of a Service: the ingress list for the addresses of its load balancer, and the conditions for its problems. Conditions
// contain no retry time or count, because each change would cost a write. Pure.

import { defined } from "../../../core/defined.ts";
import { parseIp } from "../../../core/ip.ts";
import { messageIn, type Problem } from "../../../core/problem.ts";
import {
  type LoadBalancerIngress,
  type Service,
  type ServiceCondition,
  toTime,
} from "../../../kube/objects.ts";
import type { Publication } from "../../../provider/load-balancers.ts";
import { byBlocking } from "../../problem-order.ts";
import { cloudCondition } from "../../well-known.ts";
import { healthCondition, warningCondition } from "../predicates.ts";

export interface ConditionsPlan {
  /** The whole list. Conditions of other controllers keep their values and positions. */
  readonly conditions: readonly ServiceCondition[];
  /** True if anything differs. A status write that is needed anyway then includes it. */
  readonly isChanged: boolean;
  /** Whether the error differs. */
  readonly isErrorChanged: boolean;
  /**
   * A new warning, or a warning with a changed text, is an event and does not justify a write. The end of the first
   * warning does, and so does a new reason of the condition about target health.
   */
  readonly isWorthAWrite: boolean;
}

const maxMessageLength = 1024;

/** Kubernetes allows letters, digits and underscores, beginning with a letter. */
function asReason(reason: string): string {
  const clean = reason.replaceAll(/[^A-Za-z0-9_]/g, "").replace(/^[^A-Za-z]+|_+$/g, "");
  return clean === "" ? "Unspecified" : clean;
}

function shorten(text: string): string {
  return text.length > maxMessageLength ? `${text.slice(0, maxMessageLength - 1)}…` : text;
}

function byReason(a: Problem, b: Problem): number {
  const [one, other] = [a, b].map((each) => `${each.reason} ${messageIn(each)}`) as [string, string];
  return one < other ? -1 : Number(one > other);
}

/** In an order that depends only on the problems, so that equal problems always produce the same message. */
function toCondition(
  type: string,
  status: "True" | "False",
  problems: readonly Problem[],
  now: number,
): ServiceCondition | undefined {
  const ordered = byBlocking(problems.toSorted(byReason));
  const [first] = ordered;
  if (first === undefined) return undefined;
  const texts = [...new Set(ordered.map(messageIn))];
  const lastTransitionTime = toTime(now);
  return {
    type,
    status,
    reason: asReason(first.reason),
    message: shorten(texts.join("\n")),
    lastTransitionTime,
  };
}

/** Keeps an equal condition, and the transition time while the status is the same. */
function merge(present: ServiceCondition | undefined, wanted: ServiceCondition): ServiceCondition {
  if (present?.status !== wanted.status) return wanted;
  if (present.reason === wanted.reason && present.message === wanted.message) return present;
  const { lastTransitionTime = wanted.lastTransitionTime } = present;
  return defined({ ...wanted, lastTransitionTime });
}

/** `unhealthy`: the content of the condition about target health; undefined keeps the condition. */
export function conditionsFor(
  { status }: Service,
  problems: readonly Problem[],
  now: number,
  unhealthy?: readonly Problem[],
): ConditionsPlan {
  const present = status.conditions ?? [];
  const wanted = new Map<string, ServiceCondition | undefined>([
    [cloudCondition, toCondition(cloudCondition, "False", ofSeverity(problems, "error"), now)],
    [warningCondition, toCondition(warningCondition, "True", ofSeverity(problems, "warning"), now)],
    ...(unhealthy === undefined
      ? []
      : [[healthCondition, toCondition(healthCondition, "True", unhealthy, now)] as const]),
  ]);
  const conditions: ServiceCondition[] = [];
  const warnings = ofSeverity(problems, "warning").map(({ reason }) => asReason(reason));
  let isOneOutdated = false;
  for (const condition of present) {
    if (!wanted.has(condition.type)) {
      conditions.push(condition);
      continue;
    }
    const next = wanted.get(condition.type);
    const merged = next && merge(condition, next);
    if (merged === undefined || (condition.type === warningCondition && !warnings.includes(condition.reason)))
      isOneOutdated = true;
    if (merged !== undefined) conditions.push(merged);
  }
  for (const [type, condition] of wanted) {
    if (condition !== undefined && !present.some((known) => known.type === type)) conditions.push(condition);
  }
  const changed = conditions.filter((condition) => !present.includes(condition));
  const errorIn = (list: readonly ServiceCondition[]) => list.find(({ type }) => type === cloudCondition);
  const isErrorChanged = errorIn(conditions) !== errorIn(present);
  // Ignores the names of the targets, which change often.
  const healthIn = (list: readonly ServiceCondition[]) =>
    list.find(({ type }) => type === healthCondition)?.reason;
  const isHealthChanged = healthIn(conditions) !== healthIn(present);
  return {
    conditions,
    isChanged: isOneOutdated || changed.length > 0,
    isErrorChanged,
    isWorthAWrite: isOneOutdated || isErrorChanged || isHealthChanged,
  };
}

function ofSeverity(problems: readonly Problem[], severity: Problem["severity"]): readonly Problem[] {
  return problems.filter((problem) => problem.severity === severity);
}

type IngressPorts = NonNullable<LoadBalancerIngress["ports"]>;
type Ingresses = readonly LoadBalancerIngress[] | undefined;

/** The whole list. Ports are omitted, because a migration from or to the Go manager would otherwise write every status. */
export function ingressOf(
  publication: Extract<Publication, { kind: "addresses" }>,
): readonly LoadBalancerIngress[] {
  return publication.addresses.map(({ ip, hostname, ipMode }) =>
    // Kubernetes rejects a mode without an address.
    defined({ ip, hostname, ipMode: ip === undefined ? undefined : ipMode }),
  );
}

/** The addresses in the status of a Service. */
export const addressesOf = ({ status }: Pick<Service, "status">): readonly string[] =>
  (status.loadBalancer?.ingress ?? []).flatMap(({ ip, hostname }) => ip ?? hostname ?? []);

function portTexts(ports: IngressPorts | undefined): readonly string[] {
  return (ports ?? []).map(({ port, protocol, error }) => JSON.stringify([port, protocol, error ?? ""]));
}

function isSameText(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((text, index) => text === b[index]);
}

/** The API server defaults the mode to VIP, so it is unset only on older servers. */
function addressText({ ip = "", hostname = "", ipMode }: LoadBalancerIngress): string {
  return JSON.stringify([parseIp(ip, "sloppy") ?? ip, hostname, ipMode ?? (ip === "" ? "" : "VIP")]);
}

function meaningOf(ingress: LoadBalancerIngress): string {
  return JSON.stringify([addressText(ingress), portTexts(ingress.ports).toSorted()]);
}

/** Whether both have addresses of the same kind but none in common. */
export function isOtherIngress(
  a: readonly LoadBalancerIngress[],
  b: readonly LoadBalancerIngress[],
): boolean {
  const ips = [a, b].map((list) =>
    list.flatMap(({ ip }) => (ip === undefined ? [] : (parseIp(ip, "sloppy") ?? ip))),
  );
  const hostnames = [a, b].map((list) => list.flatMap(({ hostname }) => hostname ?? []));
  return [ips, hostnames].some(isDisjoint) && [ips, hostnames].every((lists) => !haveCommon(lists));
}

type Lists = readonly (readonly unknown[])[];

const haveCommon = ([one = [], other = []]: Lists): boolean => one.some((text) => other.includes(text));

const isDisjoint = (lists: Lists): boolean => lists.every(({ length }) => length > 0) && !haveCommon(lists);

/** Ignores the order, notation and repetition of addresses. An unset mode equals VIP. */
export function isSameIngress(a: Ingresses, b: Ingresses): boolean {
  const textsOf = (list: Ingresses) => [...new Set((list ?? []).map(meaningOf))].toSorted();
  return isSameText(textsOf(a), textsOf(b));
}
