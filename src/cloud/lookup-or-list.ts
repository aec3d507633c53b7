// The cheaper way to answer what is waiting: one listing of everything, or lookups by key in batches. Pure.

import type { InstanceSource, MatchKey } from "../provider/instances.ts";
import { type NodeIdentity, valuesOf } from "./identity.ts";

export type Way =
  | { readonly kind: "list" }
  | {
      readonly kind: "lookup";
      readonly batches: readonly { readonly by: MatchKey; readonly keys: readonly string[] }[];
    };

const list: Way = { kind: "list" };

/** Every key that must be asked so that "none of them" means something; undefined where one of them cannot be. */
const keysFor = (
  identity: NodeIdentity,
  lookups: NonNullable<InstanceSource["lookups"]>,
  matchBy: readonly MatchKey[],
): readonly (readonly [MatchKey, string])[] | undefined => {
  const kinds: readonly MatchKey[] = identity.providerID === undefined ? matchBy : ["id"];
  if (kinds.some((by) => valuesOf(identity, by).length > 0 && lookups[by] === undefined)) return undefined;
  return kinds.flatMap((by) => valuesOf(identity, by).map((value) => [by, value] as const));
};

export const chooseWay = (question: {
  readonly waiting: readonly NodeIdentity[];
  readonly lookups: InstanceSource["lookups"];
  readonly matchBy: readonly MatchKey[];
  /** Requests that the last listing took; undefined before the first one, which is needed anyway. */
  readonly pagesOfListing: number | undefined;
}): Way => {
  const { waiting, lookups, matchBy, pagesOfListing } = question;
  if (lookups === undefined || pagesOfListing === undefined) return list;
  const keys = new Map<MatchKey, Set<string>>();
  for (const identity of waiting) {
    const wanted = keysFor(identity, lookups, matchBy);
    if (wanted === undefined) return list;
    for (const [by, value] of wanted) {
      const known = keys.get(by) ?? new Set();
      keys.set(by, known.add(value));
    }
  }
  const batches = [...keys].flatMap(([by, values]) =>
    cut([...values], lookups[by]?.limit ?? 1).map((part) => ({ by, keys: part })),
  );
  return batches.length < pagesOfListing ? { kind: "lookup", batches } : list;
};

const cut = (keys: readonly string[], size: number): readonly (readonly string[])[] =>
  Array.from({ length: Math.ceil(keys.length / size) }, (_, index) =>
    keys.slice(index * size, (index + 1) * size),
  );
