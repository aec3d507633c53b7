// The source ranges that a Service allows, as upstream's helpers read them. Unlike upstream, every invalid range is reported. Pure.

import type { Cidr } from "../../../core/brand.ts";
import { allAddresses, parseCidr } from "../../../core/cidr.ts";
import { quoted } from "../../../core/fields.ts";
import type { Problem } from "../../../core/problem.ts";
import { countOf } from "../../../core/text.ts";
import type { Service } from "../../../kube/objects.ts";
import { familiesOf } from "../predicates.ts";

export const sourceRangesAnnotation = "service.beta.kubernetes.io/load-balancer-source-ranges";

const field = "spec.loadBalancerSourceRanges";

export interface SourceRanges {
  /** Whether the Service names any range, valid or not. */
  readonly isSpecified: boolean;
  /** Canonical, without duplicates, and in the original order. Never widened: an invalid entry is omitted, not replaced. */
  readonly ranges: readonly Cidr[];
  readonly problems: readonly Problem[];
}

/** Further invalid ranges are only counted, because the problems of a Service become one message. */
const maxListed = 5;

/** The ranges as the Service specifies them, and where. */
interface WrittenRanges {
  readonly key: string;
  readonly texts: readonly string[];
}

/** The field takes precedence over the annotation. */
function writtenRanges({ spec, metadata }: Service): WrittenRanges | undefined {
  const fromField = spec.loadBalancerSourceRanges ?? [];
  if (fromField.length > 0) return { key: field, texts: fromField };
  const fromAnnotation = (metadata.annotations?.[sourceRangesAnnotation] ?? "").trim();
  return fromAnnotation === ""
    ? undefined
    : { key: sourceRangesAnnotation, texts: fromAnnotation.split(",") };
}

/** Allows all addresses of each family if a Service specifies no ranges. */
export function sourceRangesOf(service: Service): SourceRanges {
  const written = writtenRanges(service);
  if (written !== undefined) return readRanges(written);
  return { isSpecified: false, ranges: allAddresses(familiesOf(service)), problems: [] };
}

/**
 * Parses the ranges of a Service again only when their text has changed, because each status write creates a new Service object.
 */
export class RememberedRanges {
  readonly #byService = new WeakMap<object, WrittenRanges & { readonly read: SourceRanges }>();

  /** `owner` stays the same while the Service exists. */
  of(service: Service, owner: object): SourceRanges {
    const written = writtenRanges(service);
    if (written === undefined) return sourceRangesOf(service);
    const { key, texts } = written;
    const known = this.#byService.get(owner);
    const isSame =
      known?.key === key &&
      known.texts.length === texts.length &&
      texts.every((text, index) => text === known.texts[index]);
    if (isSame) return known.read;
    const read = readRanges(written);
    this.#byService.set(owner, { key, texts, read });
    return read;
  }
}

function readRanges({ key, texts }: WrittenRanges): SourceRanges {
  const ranges = new Set<Cidr>();
  const invalid: string[] = [];
  for (const text of texts) {
    const range = parseCidr(text.trim(), "sloppy");
    if (range === undefined) invalid.push(text);
    else ranges.add(range);
  }
  const listed = invalid.slice(0, maxListed).map((text) => invalidRange(key, quoted(text)));
  const omitted = invalid.length - listed.length;
  const more = omitted === 0 ? [] : [invalidRange(key, countOf(omitted, "more invalid range"))];
  return { isSpecified: true, ranges: [...ranges], problems: [...listed, ...more] };
}

function invalidRange(key: string, got: string): Problem {
  return {
    severity: "error",
    reason: "InvalidSourceRange",
    key,
    text: `${key} must be a list of address ranges such as 10.0.0.0/24, got ${got}`,
  };
}
