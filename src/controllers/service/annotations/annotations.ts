// Reads a Service's annotations into settings and problems. An invalid value is replaced by the value that the load balancer has.

import { editDistance } from "../../../core/did-you-mean.ts";
import type { Problem } from "../../../core/problem.ts";
import { readSettings } from "../../../core/read-settings.ts";
import type { Fields, Values } from "../../../core/settings.ts";
import type { Service } from "../../../kube/objects.ts";
import { ownPrefix } from "../../well-known.ts";
import { type OwnSettings, ownAnnotations } from "./own-annotations.ts";
import { sourceRangesAnnotation } from "./source-ranges.ts";

export interface AnnotationTable<A extends Fields> {
  readonly prefix: string;
  readonly fields: A;
  /** The field that selects the target Nodes. */
  readonly targetSelector?: (keyof A & string) | undefined;
}

export interface ReadAnnotations<A extends Fields> {
  readonly settings: Values<A>;
  /** Invalid, or required and missing: these keep their observed value and never get the default. */
  readonly frozen: ReadonlySet<keyof A & string>;
  /** Present on the Service, valid or not: only these can request a change. */
  readonly written: ReadonlySet<keyof A & string>;
  /** The annotations under fairlead.dev/. */
  readonly own: OwnSettings;
  readonly problems: readonly Problem[];
}

export interface ReadAnnotationsOptions {
  /** Keys under one of Fairlead's prefixes that are not settings, such as facts. */
  readonly isReadElsewhere?: (key: string) => boolean;
}

type Annotations = Readonly<Record<string, string>>;

function keysOf(name: string, fields: Fields, prefix: string): readonly string[] {
  return [name, ...(fields[name]?.renamedFrom ?? [])].map((key) => annotationKey(key, prefix));
}

export function readAnnotations<A extends Fields>(
  { prefix, fields }: AnnotationTable<A>,
  { metadata }: Service,
  { isReadElsewhere = () => false }: ReadAnnotationsOptions = {},
): ReadAnnotations<A> {
  const annotations: Annotations = Object.fromEntries(
    Object.entries(metadata.annotations ?? {}).filter(
      ([key]) => key !== sourceRangesAnnotation && !isReadElsewhere(key),
    ),
  );
  const read = readSettings(fields, annotations, { prefix, what: "annotation" });
  const own = readSettings(ownAnnotations, annotations, { prefix: ownPrefix, what: "annotation" });
  const names: readonly (keyof A & string)[] = Object.keys(fields);
  const written = names.filter((name) =>
    keysOf(name, fields, prefix).some((key) => Object.hasOwn(annotations, key)),
  );
  const missing = names.filter((name) => fields[name]?.required === true && !written.includes(name));
  const reported = new Set(read.problems.map(({ key }) => key));
  return {
    settings: read.values,
    frozen: new Set([...read.frozen, ...missing.filter((name) => fields[name]?.fallback === undefined)]),
    written: new Set(written),
    own: { values: own.values, frozen: own.frozen },
    problems: [
      ...read.problems,
      ...own.problems.filter(({ key }) => !reported.has(key)),
      ...wrongPrefixes(annotations, fields, prefix),
    ],
  };
}

/** The complete key of a field. */
export const annotationKey = (name: string, prefix: string): string =>
  name.includes("/") ? name : prefix + name;

/** Returns whether an annotation is read at all. Changes of others are ignored. */
export function readsAnnotation(
  { prefix, fields }: AnnotationTable<Fields>,
  isReadElsewhere: (key: string) => boolean = () => false,
): (key: string) => boolean {
  const whole = new Set(Object.keys(fields).flatMap((name) => keysOf(name, fields, prefix)));
  return (key) =>
    key.startsWith(prefix) ||
    key.startsWith(ownPrefix) ||
    key === sourceRangesAnnotation ||
    whole.has(key) ||
    isReadElsewhere(key);
}

/** Warns about a known name with a mistyped prefix. */
function wrongPrefixes(annotations: Annotations, fields: Fields, prefix: string): readonly Problem[] {
  const names = Object.keys(fields).filter((name) => !name.includes("/"));
  return Object.keys(annotations).flatMap((key): Problem[] => {
    if (key.startsWith(prefix)) return [];
    const name = names.find((known) => key.endsWith(known) && isNearly(key.slice(0, -known.length), prefix));
    if (name === undefined) return [];
    return [
      {
        severity: "warning",
        reason: "UnknownAnnotation",
        text: `${key} is not a known annotation; did you mean ${JSON.stringify(prefix + name)}?`,
        key,
      },
    ];
  });
}

function isNearly(one: string, other: string): boolean {
  return one.includes("/") && editDistance(one.toLowerCase(), other.toLowerCase(), 2) !== undefined;
}

/**
 * Replaces frozen fields by their observed values. If one of them cannot be observed, all observable fields keep their values:
 * the invalid annotation may have been meant together with the others.
 */
export function mergeObserved<A extends Fields>(
  settings: Values<A>,
  frozen: ReadonlySet<keyof A & string>,
  observed: Partial<Values<A>> | undefined,
): Values<A> {
  if (frozen.size === 0 || observed === undefined) return settings;
  const isReadable = unreadable(frozen, observed).length === 0;
  const kept = Object.entries(observed).filter(([name]) => !isReadable || frozen.has(name));
  return { ...settings, ...Object.fromEntries(kept) };
}

/** Frozen fields whose values the cloud does not return. No setting may be changed until they are corrected. */
export function unreadable<A extends Fields>(
  frozen: ReadonlySet<keyof A & string>,
  observed: Partial<Values<A>> | undefined,
): readonly string[] {
  return [...frozen].filter((name) => observed === undefined || !Object.hasOwn(observed, name));
}
