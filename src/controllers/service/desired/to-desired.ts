// Converts a Service into the desired load balancer for the provider, which needs no further information. Some settings keep
// their value although the Service requests a different one: settings that the cloud accepts only at creation, and the last valid
// settings while some are invalid. A typo therefore never changes a load balancer or its access rules. Pure.

import { type Cidr, type IpAddress, milliseconds, type ServiceUID, serviceUID } from "../../../core/brand.ts";
import { defined } from "../../../core/defined.ts";
import { formatDuration } from "../../../core/duration.ts";
import { parseIp } from "../../../core/ip.ts";
import type { Problem } from "../../../core/problem.ts";
import { withOperatorDefaults } from "../../../core/setting-rules.ts";
import type { Field, Fields, Values } from "../../../core/settings.ts";
import type { Service, ServicePort } from "../../../kube/objects.ts";
import type { BalancerPort, BalancerTarget, DesiredLoadBalancer } from "../../../provider/load-balancers.ts";
import type { Facts } from "../../../provider/plan.ts";
import { type AnnotationTable, type ReadAnnotations, unreadable } from "../annotations/annotations.ts";
import { type SourceRanges, sourceRangesOf } from "../annotations/source-ranges.ts";
import { ineffectiveAnnotations } from "../annotations/without-effect.ts";
import { familiesOf, healthCheckPathPort } from "../predicates.ts";
import type { LastValid } from "../state/service-record.ts";

interface DesiredInput<A extends Fields> {
  readonly service: Service;
  readonly settings: Values<A>;
  readonly facts: Facts;
  readonly targets: readonly BalancerTarget[];
  /** The ranges that the Service specifies, if any; the current ranges while these are invalid. */
  readonly sourceRanges: readonly Cidr[] | undefined;
  readonly ending?: "delete" | "release";
}

/** The default name in the Go managers, which existing load balancers have. */
export function defaultLoadBalancerName(uid: ServiceUID): string {
  return `a${uid.replaceAll("-", "")}`.slice(0, 32);
}

const protocols = ["TCP", "UDP", "SCTP"] as const;
const defaultAffinitySeconds = 10_800;

function protocolOf({ protocol = "TCP" }: ServicePort): BalancerPort["protocol"] {
  return protocols.find((known) => known === protocol) ?? "TCP";
}

function toPort(port: ServicePort): BalancerPort {
  return defined({
    name: port.name === "" ? undefined : port.name,
    protocol: protocolOf(port),
    port: port.port,
    // Zero means unset: the API server sets it when no node port is allocated.
    nodePort: port.nodePort === 0 ? undefined : port.nodePort,
  });
}

export function requestedAddressOf({ spec }: Service): IpAddress | undefined {
  return parseIp((spec.loadBalancerIP ?? "").trim(), "sloppy");
}

function affinitySecondsOf({ spec }: Service): number | undefined {
  return spec.sessionAffinity === "ClientIP"
    ? (spec.sessionAffinityConfig?.clientIP?.timeoutSeconds ?? defaultAffinitySeconds)
    : undefined;
}

export function toDesired<A extends Fields>({
  service,
  settings,
  facts,
  targets,
  sourceRanges,
  ending,
}: DesiredInput<A>): DesiredLoadBalancer<A> {
  const { metadata, spec } = service;
  const uid = serviceUID(metadata.uid);
  return {
    owner: { uid, namespace: metadata.namespace ?? "", name: metadata.name },
    defaultName: defaultLoadBalancerName(uid),
    ports: (spec.ports ?? []).map(toPort),
    targets,
    sourceRanges,
    families: familiesOf(service),
    externalTrafficPolicy: spec.externalTrafficPolicy === "Local" ? "Local" : "Cluster",
    settings,
    facts,
    ...defined({
      requestedAddress: requestedAddressOf(service),
      healthCheckNodePort: healthCheckPathPort(service)?.port,
      sessionAffinitySeconds: affinitySecondsOf(service),
      ending,
    }),
  };
}

/** The part of the desired state that depends only on the Service, without facts and targets. */
export function writtenBy<A extends Fields>(service: Service, settings: Values<A>): DesiredLoadBalancer<A> {
  const { ranges, isSpecified } = sourceRangesOf(service);
  const sourceRanges = isSpecified ? ranges : undefined;
  return toDesired({ service, settings, facts: {}, targets: [], sourceRanges });
}

/** Annotations that contradict each other or have no effect. Annotations with invalid values are reported first. */
export function contradictionsIn(
  table: AnnotationTable<Fields>,
  service: Service,
  { settings: own, frozen, written }: Pick<ReadAnnotations<Fields>, "settings" | "frozen" | "written">,
): readonly Problem[] {
  if (frozen.size > 0) return [];
  const settings = withOperatorDefaults(table.fields, own, table.operator?.() ?? {});
  return [
    ...ineffectiveAnnotations(table, written, settings),
    ...(table.check?.(writtenBy(service, settings)) ?? []),
  ];
}

/** Problems with the specification, reported together with those of the annotations. */
export function serviceProblems(
  service: Service,
  { problems }: Pick<SourceRanges, "problems">,
): readonly Problem[] {
  const { loadBalancerIP = "" } = service.spec;
  const isInvalid = loadBalancerIP.trim() !== "" && requestedAddressOf(service) === undefined;
  if (!isInvalid) return problems;
  const invalidAddress: Problem = {
    severity: "error",
    reason: "InvalidAddress",
    key: "spec.loadBalancerIP",
    text: `spec.loadBalancerIP must be an IP address, got ${JSON.stringify(loadBalancerIP.slice(0, 80))}`,
  };
  return [...problems, invalidAddress];
}

export interface ImmutableSettings<A extends Fields> {
  /** The settings, where immutable fields keep their values in the cloud. */
  readonly settings: Values<A>;
  readonly problems: readonly Problem[];
}

/** A text that is equal for equal values, whatever the order of a map's entries is. */
function textOf(value: unknown): string {
  return value instanceof Map
    ? JSON.stringify([...value].toSorted(([a], [b]) => (a < b ? -1 : 1)))
    : JSON.stringify(value);
}

function format(field: Field<unknown>, value: unknown): string {
  if (value instanceof Map) return JSON.stringify([...value].map(([key, entry]) => `${key}=${entry}`).join());
  if (typeof value === "number" && field.expects.startsWith("a duration"))
    return formatDuration(milliseconds(value));
  return JSON.stringify(Array.isArray(value) ? value.join() : value);
}

/** A Service without the annotation keeps the current value, so that a new default does not change it. */
export function holdImmutable<A extends Fields>(
  { fields, prefix }: AnnotationTable<A>,
  { settings, written, frozen }: Pick<ReadAnnotations<A>, "settings" | "written" | "frozen">,
  observed: Partial<Values<A>> | undefined,
): ImmutableSettings<A> {
  const held: [string, unknown][] = [];
  const problems: Problem[] = [];
  const names: readonly (keyof A & string)[] = Object.keys(fields);
  for (const name of observed === undefined ? [] : names) {
    const field = fields[name];
    const current = observed?.[name];
    if (field === undefined || current === undefined || frozen.has(name)) continue;
    if (field.whenChanged !== "reject") continue;
    const wanted = settings[name];
    held.push([name, current]);
    if (!written.has(name) || textOf(wanted) === textOf(current)) continue;
    const key = name.includes("/") ? name : prefix + name;
    problems.push({
      severity: "error",
      reason: "ImmutableAnnotation",
      key,
      text: `${key} cannot be changed after the load balancer is created: it stays ${format(field, current)}, not ${format(field, wanted)}.`,
      remedy: `Restore the old value, or recreate the Service.`,
    });
  }
  // Returns the same object while nothing is held, because providers cache derived data by object.
  return { settings: held.length === 0 ? settings : { ...settings, ...Object.fromEntries(held) }, problems };
}

type Settings = Partial<Values<Fields>>;

interface LastSettings {
  /** The last valid values of all settings. */
  readonly last: Settings;
  /** The invalid settings that are missing in `observed`. */
  readonly missing: Settings;
}

export function lastValidSettings(
  { lastSettings }: Pick<LastValid, "lastSettings">,
  { settings, frozen }: Pick<ReadAnnotations<Fields>, "settings" | "frozen">,
  observed: Settings | undefined,
): LastSettings {
  const valid = Object.entries(settings).filter(([name]) => !frozen.has(name));
  if (frozen.size === 0) return { last: settings, missing: {} };
  const last: Settings = { ...lastSettings, ...Object.fromEntries(valid) };
  const unseen = new Set(unreadable(frozen, observed));
  const missing = Object.fromEntries(Object.entries(last).filter(([name]) => unseen.has(name)));
  return { last, missing };
}

interface ValidRanges {
  readonly last: LastValid["lastRanges"];
  readonly ranges: readonly Cidr[] | "unknown" | undefined;
}

/**
 * The source ranges; undefined if the Service specifies none. They stay unchanged while one of them is invalid. `unknown`: all of
 * them are invalid, and the previous valid values are unknown. Some clouds read an empty list as "all clients", so the result is
 * never empty.
 */
export function validRanges(
  { lastRanges }: Pick<LastValid, "lastRanges">,
  { isSpecified, ranges, problems }: SourceRanges,
  /** Reads the annotations of the Service's load balancer. */
  readCurrent: () => LastValid["lastRanges"],
): ValidRanges {
  if (problems.length === 0) {
    return isSpecified ? { last: ranges, ranges } : { last: "unspecified", ranges: undefined };
  }
  const used = readCurrent() ?? lastRanges ?? (ranges.length === 0 ? "unknown" : ranges);
  return { last: lastRanges, ranges: used === "unspecified" ? undefined : used };
}
