// The oracle for a pair of specifications, as Acto's for operators: what a change leaves equals what its end alone leaves, and an invalid
// specification that is corrected leaves nothing.

import { annotationKey } from "../../../src/controllers/service/annotations/annotations.ts";
import type { Pair, Vocabulary } from "./draw.ts";
import { type Left, type OpenCloud, type Outcome, play } from "./play.ts";
import { type Specification, withSome } from "./specification.ts";

/** What a load balancer keeps of what it was before. Each one is narrow, has a name, and is documented. */
export interface Kept<S> {
  readonly name: string;
  /** `fresh`: as the specification alone makes it. `before`: as it was. Returns what is expected after the change. */
  keep(fresh: Outcome<S>, before: Outcome<S>, specification: Specification): Outcome<S>;
}

export interface PairCloud<S> extends Vocabulary {
  readonly kept: readonly Kept<S>[];
  /** Annotations and parts that the cloud takes at creation only, besides those whose declaration says so. */
  readonly atCreation?:
    | readonly string[]
    | ((before: Specification, next: Specification) => readonly string[]);
  /** Whether the change creates the load balancer again, so that nothing of it stays. */
  replaces?(next: Specification, before: Specification): boolean;
  /** What no specification alone leaves, by why. */
  readonly incomparable?: Readonly<Record<string, (before: Specification, next: Specification) => boolean>>;
  /** Warnings that say the same whatever the load balancer was before. */
  readonly harmless?: readonly RegExp[];
  /** A new cloud. */
  open(): OpenCloud<S>;
}

/** What a pair can break. */
export const rules = {
  changed: "a change leaves what its end alone leaves",
  corrected: "an invalid specification that is corrected leaves nothing",
  returned: "a change that is taken back leaves nothing",
  reported: "an annotation that has no effect any more is reported",
} as const;

type Rule = keyof typeof rules;

/** Which rule a pair breaks; `checked` are those that it can break. */
export interface Verdict {
  readonly checked: readonly Rule[];
  readonly failures: readonly Failure[];
}

export interface Failure {
  readonly rule: Rule;
  readonly expected: unknown;
  readonly found: unknown;
}

/** The specification whose load balancer equals one of `next` that was one of `before`. */
function settled<S>(
  next: Specification,
  before: Specification,
  { prefix, fields, atCreation = [], sticky = [] }: PairCloud<S>,
): Specification {
  const more = typeof atCreation === "function" ? atCreation(before, next) : atCreation;
  const declared = Object.entries(fields).flatMap(([name, { whenChanged }]) =>
    whenChanged === "reject" ? name : [],
  );
  const removed = sticky.filter(
    (name) => !(name in next.parts || annotationKey(name, prefix) in next.annotations),
  );
  return withSome(next, before, [...declared, ...more, ...removed], prefix);
}

/** Conditions and annotations follow the specification, so different specifications differ in them. The id of a deleted load balancer stays on the Service. */
function comparable<S>(
  { cloud, service: { annotations, conditions, ...service } }: Outcome<S>,
  { isReference, isServed }: { readonly isReference: boolean; readonly isServed: boolean },
) {
  return {
    cloud,
    service,
    annotations: isReference && isServed ? annotations : {},
    conditions: isReference ? conditions : [],
  };
}

const isSameClass = (one: Specification, other: Specification): boolean =>
  Bun.deepEquals(one.parts["spec class"], other.parts["spec class"]);
const isSame = (one: Specification, other: Specification): boolean => Bun.deepEquals(one, other);

/** Annotations of `next` that a load balancer cannot have any more, and that no warning names. */
function unreported(
  { annotations: own }: Specification,
  reference: Specification,
  warnings: readonly string[],
  prefix: string,
): readonly string[] {
  const ignored = Object.keys(own).filter((key) => reference.annotations[key] !== own[key]);
  const words = (key: string) => new RegExp(key.replace(prefix, "").replaceAll("-", "[- ]"));
  return ignored.filter((key) => !warnings.some((text) => words(key).test(text)));
}

export async function judge<S>(
  cloud: PairCloud<S>,
  { first, invalid, second, restart }: Pair,
): Promise<Verdict> {
  const run = (history: readonly Specification[], restart?: number) =>
    play(cloud.open(), history, { restart, harmless: cloud.harmless });
  const left = await run([first, invalid, first, second, first], restart);
  const [one, wrong, back, two, again] = left;
  if (
    one === undefined ||
    wrong === undefined ||
    back === undefined ||
    two === undefined ||
    again === undefined
  )
    throw new Error("Expected what five specifications leave.");
  const known: (readonly [Specification, Left<S>])[] = [[first, one]];
  const aloneWith = async (specification: Specification): Promise<Left<S>> => {
    const [, seen] = known.find(([other]) => isSame(other, specification)) ?? [];
    const [alone] = seen === undefined ? await run([specification]) : [seen];
    if (alone === undefined) throw new Error("Expected what a specification leaves.");
    known.push([specification, alone]);
    return alone;
  };
  /** Where a load balancer of `before` becomes one of `next`; without a load balancer, nothing stays. */
  const after = (next: Specification, before: Specification, { isServed }: Left<S>): Specification =>
    isServed && isSameClass(next, before) && cloud.replaces?.(next, before) !== true
      ? settled(next, before, cloud)
      : next;
  const checked: Rule[] = [];
  const failures: Failure[] = [];
  const check = (rule: Rule, expected: unknown, found: unknown) => {
    checked.push(rule);
    if (!Bun.deepEquals(expected, found)) failures.push({ rule, expected, found });
  };
  // What the load balancer may be like: a specification that is refused is applied in part, or not at all.
  let possible: readonly Specification[] = [after(invalid, first, one)];
  for (const [rule, next, before, found] of [
    ["corrected", first, wrong, back],
    ["changed", second, back, two],
    ["returned", first, two, again],
  ] as const) {
    const references = possible.map((each) => after(next, each, before));
    const [reference = next, ...others] = references;
    const alone = await aloneWith(reference);
    const isCertain =
      others.every((other) => isSame(other, reference)) &&
      !Object.values(cloud.incomparable ?? {}).some((is) => possible.some((each) => is(each, next)));
    if (!alone.isClean) possible = [...possible, ...references];
    else possible = references;
    if (!alone.isClean || !isCertain) continue;
    const expected = (fresh: Left<S>): Outcome<S> =>
      cloud.kept.reduce<Outcome<S>>((one, { keep }) => keep(one, before, next), fresh);
    const which = { isReference: isSame(reference, next), isServed: alone.isServed };
    check(rule, comparable(expected(alone), which), comparable(found, which));
    if (which.isReference || !found.isServed) continue;
    const silent: string[] = [];
    for (const key of unreported(next, reference, found.warnings, cloud.prefix)) {
      const { [key]: _, ...annotations } = next.annotations;
      const { [key]: kept } = reference.annotations;
      const other = { ...next, annotations: { ...annotations, ...(kept !== undefined && { [key]: kept }) } };
      const [is, was] = [await aloneWith(next), await aloneWith(other)];
      // Without an effect, or with the one that is there, there is nothing to report.
      const isMissed =
        !Bun.deepEquals(was.cloud, is.cloud) && !Bun.deepEquals(found.cloud, expected(is).cloud);
      if (is.isClean && was.isClean && isMissed) silent.push(key);
    }
    check("reported", [], silent);
  }
  return { checked, failures };
}
