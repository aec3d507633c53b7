// Settings that a cloud accepts only when it creates a load balancer. The field table defines whether a later change
// is rejected or recreates the load balancer. Pure.

import { milliseconds } from "../../../core/brand.ts";
import { formatDuration } from "../../../core/duration.ts";
import type { Problem } from "../../../core/problem.ts";
import type { Field, Fields, Values } from "../../../core/settings.ts";
import type { AnnotationTable, ReadAnnotations } from "../annotations/annotations.ts";

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
