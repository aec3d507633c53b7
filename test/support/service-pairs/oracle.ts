// The oracle for a pair of specifications, similar to that of Acto for operators: the result of a change equals the
// result of its final specification alone, and an invalid specification that is corrected leaves nothing behind.

import { annotationKey } from "../../../src/controllers/service/annotations/annotations.ts";
import type { Pair, Vocabulary } from "./draw.ts";
import { type Left, type OpenCloud, type Outcome, play } from "./play.ts";
import { type Specification, withSome } from "./specification.ts";

/** A value that a load balancer keeps from its previous state. Each exception is narrow, has a name, and is documented. */
export interface Kept<S> {
  readonly name: string;
  /**
   * `fresh`: the result of the specification alone. `before`: the previous result. Returns the expected result after the change.
   */
  keep(fresh: Outcome<S>, before: Outcome<S>, specification: Specification): Outcome<S>;
}

export interface PairCloud<S> extends Vocabulary {
  readonly kept: readonly Kept<S>[];
  /** Annotations and parts that the cloud accepts only at creation, in addition to those whose declaration states this. */
  readonly atCreation?:
    | readonly string[]
    | ((before: Specification, next: Specification) => readonly string[]);
  /** Whether the change recreates the load balancer, so that nothing of the old one stays. */
  replaces?(next: Specification, before: Specification): boolean;
  /** Results that no single specification leaves, with the reason. */
  readonly incomparable?: Readonly<Record<string, (before: Specification, next: Specification) => boolean>>;
  /** Warnings that are the same whatever the load balancer was before. */
  readonly harmless?: readonly RegExp[];
  /** Opens a new cloud. */
  open(): OpenCloud<S>;
}

/** The rules that a pair can break. */
export const rules = {
  changed: "a change leaves what its end alone leaves",
  corrected: "an invalid specification that is corrected leaves nothing",
  returned: "a change that is taken back leaves nothing",
  reported: "an annotation that no longer has an effect is reported",
} as const;

type Rule = keyof typeof rules;

/** The rule that a pair breaks; `checked` are those that it can break. */
export interface Verdict {
  readonly checked: readonly Rule[];
  readonly failures: readonly Failure[];
}

export interface Failure {
  readonly rule: Rule;
  readonly expected: unknown;
  readonly found: unknown;
}

type Settling = Vocabulary & Pick<PairCloud<unknown>, "atCreation">;

/** The specification with the same load balancer as a change from `before` to `next`. */
export function settled(
  next: Specification,
  before: Specification,
  { prefix, fields, atCreation = [], sticky = [] }: Settling,
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

/**
 * Conditions and annotations follow the specification, so they differ between specifications. The id of a deleted
 * load balancer stays on the Service.
 */
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

/** Annotations of `next` that a load balancer can no longer have, and that no warning names. */
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
  /** The result of a change from `before` to `next`; without a load balancer, nothing stays. */
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
  // The possible states of the load balancer: a rejected specification is applied in part, or not at all.
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
      // There is nothing to report if the annotation has no effect, or the existing one.
      const isMissed =
        !Bun.deepEquals(was.cloud, is.cloud) && !Bun.deepEquals(found.cloud, expected(is).cloud);
      if (is.isClean && was.isClean && isMissed) silent.push(key);
    }
    check("reported", [], silent);
  }
  return { checked, failures };
}
