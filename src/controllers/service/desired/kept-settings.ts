// Settings that stay as they are although the Service says something else: those that the cloud accepts only when it creates a load
// balancer, and the last valid ones while some are invalid, so that a typo never changes a load balancer or who may access it. Pure.

import { type Cidr, milliseconds, serviceUID } from "../../../core/brand.ts";
import { formatDuration } from "../../../core/duration.ts";
import type { Problem } from "../../../core/problem.ts";
import type { Field, Fields, Values } from "../../../core/settings.ts";
import type { Service } from "../../../kube/objects.ts";
import type { ObservedLoadBalancer } from "../../../provider/load-balancers.ts";
import { type AnnotationTable, type ReadAnnotations, unreadable } from "../annotations/annotations.ts";
import { sourceRangesOf } from "../annotations/source-ranges.ts";
import type { AnyBalancers } from "../deps.ts";
import type { LastValid } from "../state/service-states.ts";

export interface ImmutableSettings<A extends Fields> {
  /** Immutable fields keep their values in the cloud, except those that recreate the load balancer. */
  readonly settings: Values<A>;
  readonly problems: readonly Problem[];
  /** Changed fields that recreate the load balancer; nearly always empty. */
  readonly recreate: readonly (keyof A & string)[];
}

/** Equal for equal values, whatever the order of a map's entries. */
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
  const recreate: (keyof A & string)[] = [];
  const names: readonly (keyof A & string)[] = Object.keys(fields);
  for (const name of observed === undefined ? [] : names) {
    const field = fields[name];
    const current = observed?.[name];
    if (field === undefined || current === undefined || frozen.has(name)) continue;
    if (field.whenChanged !== "reject" && field.whenChanged !== "recreate") continue;
    const wanted = settings[name];
    const isRequested = written.has(name) && textOf(wanted) !== textOf(current);
    if (isRequested && field.whenChanged === "recreate") {
      recreate.push(name);
      continue;
    }
    held.push([name, current]);
    if (!isRequested) continue;
    const key = name.includes("/") ? name : prefix + name;
    problems.push({
      severity: "error",
      reason: "ImmutableAnnotation",
      key,
      text: `${key} cannot be changed after the load balancer is created: it stays ${format(field, current)}, not ${format(field, wanted)}. Restore the old value, or recreate the Service.`,
    });
  }
  return { settings: { ...settings, ...Object.fromEntries(held) }, problems, recreate };
}

type Settings = Partial<Values<Fields>>;

interface LastSettings {
  /** The last valid values of all settings. */
  readonly last: Settings;
  /** Those of the invalid settings that are missing in `observed`. */
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
 * The source ranges, undefined where the Service names none; unchanged while one of them is invalid. `unknown`: all of them are
 * invalid, and what was valid before is not known. Some clouds read an empty list as "all clients", so it is never the answer.
 */
export function validRanges(
  { lastRanges }: Pick<LastValid, "lastRanges">,
  service: Service,
  observed: ObservedLoadBalancer | undefined,
  balancers: Pick<AnyBalancers, "rangesOf">,
): ValidRanges {
  const uid = serviceUID(service.metadata.uid);
  const { isSpecified, ranges, problems } = sourceRangesOf(service);
  if (problems.length === 0) {
    return isSpecified ? { last: ranges, ranges } : { last: "unspecified", ranges: undefined };
  }
  const current = observed?.owners.includes(uid) === true ? balancers.rangesOf?.(observed, uid) : undefined;
  const used = current ?? lastRanges ?? (ranges.length === 0 ? "unknown" : ranges);
  return { last: lastRanges, ranges: used === "unspecified" ? undefined : used };
}
