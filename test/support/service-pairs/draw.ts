// Draws pairs of specifications from a seed: annotations by their declarations, and the parts of the spec.

import { annotationKey, ownAnnotations } from "../../../src/controllers/service/annotations/annotations.ts";
import { sourceRangesAnnotation } from "../../../src/controllers/service/annotations/source-ranges.ts";
import { ownPrefix } from "../../../src/controllers/well-known.ts";
import { cidrList } from "../../../src/core/list-fields.ts";
import type { Field, Fields } from "../../../src/core/settings.ts";
import { seededRandom } from "../../../src/platform/random.ts";
import { partValues, type Specification, withSome } from "./specification.ts";

/** The values from which the specifications of one cloud are drawn. */
export interface Vocabulary {
  readonly prefix: string;
  readonly fields: Fields;
  /** Values, without the prefix, of annotations whose declarations do not list them. */
  readonly values: Readonly<Record<string, readonly string[]>>;
  /** Annotations that need others, in addition to those in their declarations. */
  readonly needs?: Readonly<Record<string, readonly string[]>>;
  /** Annotations and parts that both specifications of a pair have, or neither, with the reason. */
  readonly constant?: Readonly<Record<string, string>>;
  /** Annotations and parts whose value stays when they are removed. */
  readonly sticky?: readonly string[];
  /** Annotations that half of the pairs have. */
  readonly frequent?: readonly string[];
  /** Annotations that are not drawn, with the reason. */
  readonly left: Readonly<Record<string, string>>;
  /** Parts of the spec, for example addresses that exist in the cloud. */
  readonly parts?: typeof partValues;
}

export interface Pair {
  readonly seed: number;
  readonly first: Specification;
  /** The second specification with an invalid annotation. */
  readonly invalid: Specification;
  readonly second: Specification;
  /** The process restarts before this specification of the history. */
  readonly restart?: number | undefined;
}

/** The fields that Services of every cloud accept. */
const shared: Fields = {
  ...Object.fromEntries(Object.entries(ownAnnotations).map(([name, field]) => [ownPrefix + name, field])),
  [sourceRangesAnnotation]: cidrList("Clients that may connect."),
};
const sharedValues: Vocabulary["values"] = {
  [`${ownPrefix}target-selector`]: ["pool=web", "pool!=web"],
  [`${ownPrefix}target-limit`]: ["1"],
  [`${ownPrefix}target-drain`]: ["30s"],
  [sourceRangesAnnotation]: ["198.51.100.0/24", "192.0.2.0/25,198.51.100.0/24"],
};
/** The purpose of this annotation is that something stays. */
const left = [`${ownPrefix}on-delete`];

const booleans = ["true", "false"];
const garbage = ["no such value", "-1", "=", "999.1.2.3", "in (", "no,such, value"];

const isValid = (field: Field<unknown>, raw: string): boolean => "value" in field.parse(raw);

/** The ends of the range in the declaration, and values between them. */
function numbersOf({ expects, kind }: Field<unknown>): readonly string[] {
  const found = [...expects.matchAll(/(?:from|to|least) (\d+)/g)].map(([, digits]) => Number(digits));
  const [low = 1, high = low + 20] = found;
  const unit = kind === "duration" ? "s" : "";
  return [low, low + 1, Math.floor((low + high) / 2), high].map((value) => `${value}${unit}`);
}

/** Valid values of an annotation. */
export function valuesOf(name: string, { fields, values }: Vocabulary): readonly string[] {
  const field: Field<unknown> | undefined = fields[name] ?? shared[name];
  if (field === undefined) throw new Error(`There is no annotation ${name}.`);
  const { kind, choices } = field;
  const declared = choices ?? (kind === "switch" ? booleans : kind === undefined ? [] : numbersOf(field));
  const all = (values[name] ?? sharedValues[name] ?? declared).filter((raw) => isValid(field, raw));
  if (all.length === 0) throw new Error(`No value is known of the annotation ${name}.`);
  return all;
}

/** While something is invalid, it is uncertain which other parts are applied, so parts that would stay are as before. */
export function consistent(
  { first, invalid, second, ...pair }: Pair,
  { constant = {}, sticky = [], prefix }: Vocabulary,
): Pair {
  const same = Object.keys(constant);
  return {
    ...pair,
    first,
    invalid: withSome(invalid, first, [...same, ...sticky], prefix),
    second: withSome(second, first, same, prefix),
  };
}

class Draw {
  readonly #fraction: () => number;
  readonly #vocabulary: Vocabulary;
  readonly #names: readonly string[];

  constructor(seed: number, vocabulary: Vocabulary) {
    this.#fraction = seededRandom(seed * 7919).fraction;
    this.#vocabulary = vocabulary;
    const own = Object.keys(vocabulary.fields).filter((name) => !(name in vocabulary.left));
    this.#names = [...own, ...Object.keys(shared).filter((name) => !left.includes(name))];
  }

  pair(seed: number): Pair {
    const chosen: Record<string, string> = {};
    for (const name of this.#vocabulary.frequent ?? []) if (this.#chance(0.5)) this.#add(name, chosen);
    const first = this.#specification({ annotations: chosen, parts: {} }, 1);
    const drawn = this.#specification(this.#chance(0.7) ? first : { annotations: {}, parts: {} }, 0.5);
    const restart = this.#chance(0.3) ? this.#one([1, 2, 3, 4]) : undefined;
    return consistent(
      { seed, first, invalid: this.#invalid(drawn), second: drawn, restart },
      this.#vocabulary,
    );
  }

  #chance(probability: number): boolean {
    return this.#fraction() < probability;
  }

  #one<T>(all: readonly T[]): T {
    const chosen = all[Math.floor(this.#fraction() * all.length)];
    if (chosen === undefined) throw new Error("There is nothing to choose from.");
    return chosen;
  }

  /** Some parts of `before`, unchanged or changed, and further parts. */
  #specification(before: Specification, kept: number): Specification {
    const annotations: Record<string, string> = {};
    for (const [key, value] of Object.entries(before.annotations))
      if (this.#chance(kept)) annotations[key] = value;
    const parts: Record<string, Specification["parts"][string]> = {};
    for (const [part, value] of Object.entries(before.parts)) if (this.#chance(kept)) parts[part] = value;
    const count = Math.floor(this.#fraction() * 5);
    for (let index = 0; index < count; index += 1) this.#add(this.#one(this.#names), annotations);
    for (const [part, values] of Object.entries({ ...partValues, ...this.#vocabulary.parts }))
      if (this.#chance(["spec class", "spec type"].includes(part) ? 0.04 : 0.2))
        parts[part] = this.#one(values);
    return { annotations, parts };
  }

  /** Adds an annotation, mostly with the annotations without which it has no effect. */
  #add(name: string, annotations: Record<string, string>, values = valuesOf(name, this.#vocabulary)): void {
    const { fields, left, needs = {} } = this.#vocabulary;
    annotations[annotationKey(name, this.#vocabulary.prefix)] = this.#one(values);
    const others = [
      ...Object.entries(fields[name]?.onlyWith ?? {}),
      ...(needs[name] ?? []).map((one) => [one, []] as const),
    ];
    for (const [other, needed] of others) {
      if (other in left || annotationKey(other, this.#vocabulary.prefix) in annotations || this.#chance(0.1))
        continue;
      this.#add(other, annotations, needed.length === 0 ? undefined : needed.map(String));
    }
  }

  #invalid(second: Specification): Specification {
    const candidates = this.#names.flatMap((name) => {
      const field: Field<unknown> | undefined = this.#vocabulary.fields[name] ?? shared[name];
      const wrong = garbage.filter((raw) => field !== undefined && !isValid(field, raw));
      return wrong.length === 0 ? [] : [{ key: annotationKey(name, this.#vocabulary.prefix), wrong }];
    });
    const written = candidates.filter(({ key }) => key in second.annotations);
    const { key, wrong } = this.#one(written.length > 0 && this.#chance(0.7) ? written : candidates);
    return { ...second, annotations: { ...second.annotations, [key]: this.#one(wrong) } };
  }
}

export const drawPair = (seed: number, vocabulary: Vocabulary): Pair => new Draw(seed, vocabulary).pair(seed);
