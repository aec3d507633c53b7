// Chooses the cheaper way to answer queries: one listing of everything, or batched lookups by key. Pure.

import { inBatches } from "../../core/in-batches.ts";
import type { InstanceSource, MatchKey } from "../../provider/instances.ts";
import { type KeyOf, type NodeIdentity, valuesOf } from "./node-identity.ts";

export interface Batch {
  readonly by: MatchKey;
  readonly keys: readonly string[];
}

export type QueryMethod =
  | { readonly kind: "listing" }
  | { readonly kind: "lookup"; readonly batches: readonly Batch[] };

type Lookups = InstanceSource["lookups"];

/** How a source identifies machines. */
export interface SourceKeys {
  readonly keyOf: KeyOf;
  readonly matchBy: readonly MatchKey[];
}

/** A Node to look up. */
export interface Waiting {
  readonly identity: NodeIdentity;
  /** The number of machines with this key, if known. */
  readonly known: (by: MatchKey, value: string) => number | undefined;
}

/**
 * The keys to look up next: the strongest unanswered kind, because a weaker key counts only if the stronger one has no
 * machine. Undefined when the cloud cannot look up a kind that the proof of absence needs.
 */
function keysFor(
  { identity, known }: Waiting,
  lookups: NonNullable<Lookups>,
  { keyOf, matchBy }: SourceKeys,
): readonly (readonly [MatchKey, string])[] | undefined {
  const kinds: readonly MatchKey[] = identity.providerID === undefined ? matchBy : ["id"];
  const keys = kinds.map((by) => valuesOf(identity, by, keyOf).map((value) => [by, value] as const));
  if (keys.flat().some(([by]) => lookups[by] === undefined)) return undefined;
  for (const ofKind of keys) {
    const open = ofKind.filter(([by, value]) => known(by, value) === undefined);
    if (open.length > 0) return open;
    if (ofKind.some(([by, value]) => known(by, value) !== 0)) return [];
  }
  return [];
}

/** The lookups for all these Nodes; undefined when one of the Nodes can only be found by a listing. */
export function batchesFor(
  waiting: readonly Waiting[],
  lookups: Lookups,
  source: SourceKeys,
): readonly Batch[] | undefined {
  if (lookups === undefined) return undefined;
  const keys = new Map<MatchKey, Set<string>>();
  for (const node of waiting) {
    const needed = keysFor(node, lookups, source);
    if (needed === undefined) return undefined;
    for (const [by, value] of needed) keys.set(by, (keys.get(by) ?? new Set()).add(value));
  }
  return [...keys].flatMap(([by, values]) =>
    inBatches([...values], lookups[by]?.limit ?? 1).map((part) => ({ by, keys: part })),
  );
}

/** A page with more machines takes longer than a lookup, so of the same number of requests, lookups are preferred. */
const largePage = 100;

/** The pages and machines of a listing. */
export interface Listed {
  readonly pages: number;
  readonly items: readonly unknown[];
}

export function chooseMethod(query: {
  readonly waiting: readonly Waiting[];
  readonly lookups: Lookups;
  readonly source: SourceKeys;
  /** The last listing; undefined before the first one, which is needed anyway. */
  readonly latest: Listed | undefined;
  /** The recent lookups since the last listing. At such a rate, a listing answers the next queries. */
  readonly recent?: readonly Batch[];
}): QueryMethod {
  const { waiting, lookups, source, latest, recent = [] } = query;
  const batches = batchesFor(waiting, lookups, source);
  if (batches === undefined || latest === undefined) return { kind: "listing" };
  const requests = batches.length + recent.filter((batch) => isAboutOthers(batch, batches)).length;
  const { pages, items } = latest;
  const most = items.length > largePage * pages ? pages : pages - 1;
  return requests <= most ? { kind: "lookup", batches } : { kind: "listing" };
}

/** Excludes repetitions: a machine that is not visible yet is looked up repeatedly, and a listing does not contain it either. */
function isAboutOthers({ by, keys }: Batch, batches: readonly Batch[]): boolean {
  const sameKind = batches.filter((batch) => batch.by === by);
  const repeated = new Set(sameKind.flatMap((batch) => batch.keys));
  return sameKind.length > 0 && keys.some((key) => !repeated.has(key));
}
