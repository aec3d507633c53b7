// Chooses the cheaper method to answer queries: one listing of everything, or lookups by key in batches. Pure.

import type { InstanceSource, MatchKey } from "../provider/instances.ts";
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

/** Every key that must be looked up to prove absence; undefined when the cloud cannot look up one of them. */
function keysFor(
  identity: NodeIdentity,
  lookups: NonNullable<Lookups>,
  { keyOf, matchBy }: SourceKeys,
): readonly (readonly [MatchKey, string])[] | undefined {
  const kinds: readonly MatchKey[] = identity.providerID === undefined ? matchBy : ["id"];
  const keys = kinds.flatMap((by) => valuesOf(identity, by, keyOf).map((value) => [by, value] as const));
  return keys.some(([by]) => lookups[by] === undefined) ? undefined : keys;
}

/** The lookups for all these Nodes; undefined when one of them can only be found by listing. */
export function batchesFor(
  waiting: readonly NodeIdentity[],
  lookups: Lookups,
  source: SourceKeys,
): readonly Batch[] | undefined {
  if (lookups === undefined) return undefined;
  const keys = new Map<MatchKey, Set<string>>();
  for (const identity of waiting) {
    const needed = keysFor(identity, lookups, source);
    if (needed === undefined) return undefined;
    for (const [by, value] of needed) keys.set(by, (keys.get(by) ?? new Set()).add(value));
  }
  return [...keys].flatMap(([by, values]) =>
    chunk([...values], lookups[by]?.limit ?? 1).map((part) => ({ by, keys: part })),
  );
}

export function chooseMethod(query: {
  readonly waiting: readonly NodeIdentity[];
  readonly lookups: Lookups;
  readonly source: SourceKeys;
  /** Requests that the last listing took; undefined before the first listing, which is needed anyway. */
  readonly pagesOfListing: number | undefined;
}): QueryMethod {
  const { waiting, lookups, source, pagesOfListing } = query;
  const batches = batchesFor(waiting, lookups, source);
  const isCheaper = batches !== undefined && pagesOfListing !== undefined && batches.length < pagesOfListing;
  return isCheaper ? { kind: "lookup", batches } : { kind: "listing" };
}

function chunk(keys: readonly string[], size: number): readonly (readonly string[])[] {
  return Array.from({ length: Math.ceil(keys.length / size) }, (_, index) =>
    keys.slice(index * size, (index + 1) * size),
  );
}
