// Reads a Service's annotations into settings and problems. An invalid value is replaced by the current value of the load
// balancer. This file also defines the annotations under fairlead.dev/, which Services of every cloud accept, and finds
// annotations with a typo.

import { minutes } from "../../../core/brand.ts";
import { buildField, duration, integer, oneOf } from "../../../core/fields.ts";
import { expectedSelector, parseNodeSelector } from "../../../core/node-selector.ts";
import type { Problem } from "../../../core/problem.ts";
import { readSettings } from "../../../core/read-settings.ts";
import type { Fields, Values } from "../../../core/settings.ts";
import type { Service } from "../../../kube/objects.ts";
import type { DesiredWithoutTargets } from "../../../provider/load-balancers.ts";
import type { AnnotationsDefinition } from "../../../provider/provider.ts";
import { pauseValues } from "../../pause.ts";
import { ownPrefix } from "../../well-known.ts";
import { isBeingDeleted, isLoadBalancer } from "../predicates.ts";
import { nearlyKnown } from "./nearly-known.ts";
import { sourceRangesAnnotation } from "./source-ranges.ts";

export interface AnnotationTable<A extends Fields> {
  readonly prefix: string;
  readonly fields: A;
  /** The field that selects the target Nodes. */
  readonly targetSelector?: (keyof A & string) | undefined;
  /** The values with which another controller serves the Service. */
  readonly servedElsewhere?: AnnotationsDefinition<A>["servedElsewhere"];
  /** Whole keys that contain facts, not settings. */
  readonly factKeys?: readonly string[] | undefined;
  /** The operator's current settings, for `defaultFrom`. */
  operator?(): Values<Fields>;
  check?(service: DesiredWithoutTargets<A>): readonly Problem[];
}

export interface ReadAnnotations<A extends Fields> {
  readonly settings: Values<A>;
  /**
   * The names of invalid fields, and of required fields that are missing. They keep their observed value and never get the
   * default.
   */
  readonly frozen: ReadonlySet<keyof A & string>;
  /** Fields that are present on the Service, valid or not: only these can request a change. */
  readonly written: ReadonlySet<keyof A & string>;
  /** The annotations under fairlead.dev/. */
  readonly own: OwnSettings;
  readonly problems: readonly Problem[];
}

/** The prefix for facts without a declared place. They must be stored, because a lost fact could create a resource twice. */
export const factPrefix: string = `${ownPrefix}fact-`;

export const isFactKey = (key: string, factKeys: readonly string[]): boolean =>
  key.startsWith(factPrefix) || factKeys.includes(key);

type Annotations = Readonly<Record<string, string>>;

interface FieldKeys {
  /** Complete keys by field name: the current key and former keys. */
  readonly byName: ReadonlyMap<string, readonly string[]>;
  /** Checked for each annotation; a user may write thousands of annotations. */
  readonly unsetIfEmpty: ReadonlySet<string>;
}

/** Computed once per table instead of once per Service. */
const keysOfTables = new WeakMap<Fields, FieldKeys>();

function keysOf({ prefix, fields }: Pick<AnnotationTable<Fields>, "prefix" | "fields">): FieldKeys {
  const known = keysOfTables.get(fields);
  if (known !== undefined) return known;
  const byName = new Map(
    Object.entries(fields).map(([name, { renamedFrom = [] }]) => [
      name,
      [name, ...renamedFrom].map((key) => annotationKey(key, prefix)),
    ]),
  );
  const emptied = [...byName].filter(([name]) => fields[name]?.mayBeEmpty !== true);
  const keys = { byName, unsetIfEmpty: new Set(emptied.flatMap(([, own]) => own)) };
  keysOfTables.set(fields, keys);
  return keys;
}

export function readAnnotations<A extends Fields>(
  { prefix, fields, factKeys = [] }: AnnotationTable<A>,
  { metadata }: Service,
): ReadAnnotations<A> {
  const names: readonly (keyof A & string)[] = Object.keys(fields);
  const { byName, unsetIfEmpty } = keysOf({ prefix, fields });
  const annotations: Annotations = Object.fromEntries(
    Object.entries(metadata.annotations ?? {}).filter(
      ([key, value]) =>
        key !== sourceRangesAnnotation &&
        !isFactKey(key, factKeys) &&
        !(unsetIfEmpty.has(key) && value.trim() === ""),
    ),
  );
  const read = readSettings(fields, annotations, { prefix, what: "annotation" });
  const own = readSettings(ownAnnotations, annotations, { prefix: ownPrefix, what: "annotation" });
  const written = names.filter((name) => byName.get(name)?.some((key) => Object.hasOwn(annotations, key)));
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
      ...nearlyKnown(annotations, { prefix, fields, factKeys }),
    ],
  };
}

/** The complete key of a field. */
export const annotationKey = (name: string, prefix: string): string =>
  name.includes("/") ? name : prefix + name;

/** The annotation that names the other controller, and a sentence without its end. */
export interface OtherController {
  readonly key: string;
  readonly text: string;
}

/** Why another controller serves a Service with these settings; undefined if Fairlead serves it. */
export function otherControllerWith(
  { prefix, servedElsewhere }: Pick<AnnotationTable<Fields>, "prefix" | "servedElsewhere">,
  settings: Values<Fields>,
): OtherController | undefined {
  if (servedElsewhere === undefined) return undefined;
  const { field, values, by } = servedElsewhere;
  const value = settings[field] as string;
  if (!values.includes(value)) return undefined;
  const key = annotationKey(field, prefix);
  return { key, text: `${key} is ${JSON.stringify(value)}, so ${by} serves it` };
}

/** Considers only annotations, whatever the Service's class is: an existing load balancer of this cluster is kept anyway. */
export function otherControllerOf(
  table: AnnotationTable<Fields>,
  service: Service,
): OtherController | undefined {
  const { servedElsewhere } = table;
  if (servedElsewhere === undefined || !isLoadBalancer(service) || isBeingDeleted(service)) return undefined;
  return otherControllerWith(table, readAnnotations(table, service).settings);
}

/** Whether Fairlead reads the annotation at all. Changes of other annotations are ignored. */
export function readsAnnotation(
  { prefix, fields }: AnnotationTable<Fields>,
  isReadElsewhere: (key: string) => boolean = () => false,
): (key: string) => boolean {
  const whole = new Set([...keysOf({ prefix, fields }).byName.values()].flat());
  return (key) =>
    key.startsWith(prefix) ||
    key.startsWith(ownPrefix) ||
    key === sourceRangesAnnotation ||
    whole.has(key) ||
    isReadElsewhere(key);
}

/**
 * Replaces invalid fields with their observed values. If one of them cannot be observed, all observable fields keep their values,
 * because the invalid annotation may belong together with other annotations.
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

/** Invalid fields whose values the cloud does not return. No setting may be changed until these are corrected. */
export function unreadable<A extends Fields>(
  frozen: ReadonlySet<keyof A & string>,
  observed: Partial<Values<A>> | undefined,
): readonly string[] {
  return [...frozen].filter((name) => observed === undefined || !Object.hasOwn(observed, name));
}

export const ownAnnotations = {
  paused: oneOf(
    "Pauses this Service: Fairlead changes neither its load balancer nor the Service.",
    pauseValues,
    {
      fallback: "false",
    },
  ),
  "target-policy": oneOf(
    "Which Nodes are targets: all, those that match target-selector, those with a ready endpoint of the Service, or at most target-limit of them, spread over the zones.",
    ["all", "selector", "endpoints", "subset"],
  ),
  "target-selector": buildField(
    "Selects the target Nodes by their labels.",
    expectedSelector,
    parseNodeSelector,
    undefined,
  ),
  "target-limit": integer("The maximum number of target Nodes.", { min: 1 }),
  "target-drain": duration(
    "How long a leaving Node drains, without new connections, before it is removed from the targets. Ignored where the cloud does not support it.",
    { max: minutes(60) },
  ),
  "on-delete": oneOf(
    "What happens to the load balancer when the Service no longer needs it: delete it, or release it, so that it stays in the cloud without Fairlead's mark.",
    ["delete", "release"],
    { fallback: "delete" },
  ),
};

export interface OwnSettings {
  readonly values: Values<typeof ownAnnotations>;
  readonly frozen: ReadonlySet<keyof typeof ownAnnotations>;
}
