// Settings that a cloud takes only when it makes a balancer: what becomes of a wish to change them later. The table says
// of each field whether the wish is refused or the balancer is made again.

import { milliseconds } from "../../../core/brand.ts";
import { formatDuration } from "../../../core/duration.ts";
import type { Problem } from "../../../core/problem.ts";
import type { Field, Fields, Values } from "../../../core/settings.ts";
import type { AnnotationTable, ReadAnnotations } from "../annotations/annotations.ts";

export interface ImmutableSettings<A extends Fields> {
  /** Immutable fields as they are in the cloud, except those for which the balancer is to be made again. */
  readonly settings: Values<A>;
  readonly problems: readonly Problem[];
  /** Names of the fields for whose sake the balancer has to be made again; empty almost always. */
  readonly recreate: readonly (keyof A & string)[];
}

/** Equal for values that mean the same, whatever their type; the order of a map's entries makes no difference. */
function textOf(value: unknown): string {
  return value instanceof Map
    ? JSON.stringify([...value].toSorted(([a], [b]) => (a < b ? -1 : 1)))
    : JSON.stringify(value);
}

function shown(field: Field<unknown>, value: unknown): string {
  if (value instanceof Map) return JSON.stringify([...value].map(([key, entry]) => `${key}=${entry}`).join());
  if (typeof value === "number" && field.expects.startsWith("a duration"))
    return formatDuration(milliseconds(value));
  return JSON.stringify(Array.isArray(value) ? value.join() : value);
}

/** Who asked for nothing keeps what there is: a default that changed is no wish. */
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
    const there = observed?.[name];
    if (field === undefined || there === undefined || frozen.has(name)) continue;
    if (field.whenChanged !== "reject" && field.whenChanged !== "recreate") continue;
    const wanted = settings[name];
    const isAskedFor = written.has(name) && textOf(wanted) !== textOf(there);
    if (isAskedFor && field.whenChanged === "recreate") {
      recreate.push(name);
      continue;
    }
    held.push([name, there]);
    if (!isAskedFor) continue;
    const key = name.includes("/") ? name : prefix + name;
    problems.push({
      severity: "error",
      reason: "ImmutableAnnotation",
      key,
      text: `${key} cannot be changed after the load balancer was made: it stays ${shown(field, there)}, not ${shown(field, wanted)}. Write the old value again, or make the Service anew.`,
    });
  }
  return { settings: { ...settings, ...Object.fromEntries(held) }, problems, recreate };
}
