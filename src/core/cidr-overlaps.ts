// Finds overlapping ranges in two lists, such as routes that block each other. Pure.

import type { Cidr } from "./brand.ts";
import { cidrFamily, parseCidr, prefixLength } from "./cidr.ts";

/**
 * For every range of the first list, the ranges of the second that overlap it; ranges without overlaps are omitted. Does not
 * compare all pairs: two ranges overlap only if one is the other with a shorter prefix.
 */
export function overlaps(
  ranges: readonly Cidr[],
  others: readonly Cidr[],
): ReadonlyMap<Cidr, ReadonlySet<Cidr>> {
  const found = new Map<Cidr, Set<Cidr>>();
  if (ranges.length === 0 || others.length === 0) return found;
  const add = (range: Cidr, other: Cidr): void => {
    const known = found.get(range);
    if (known === undefined) found.set(range, new Set([other]));
    else known.add(other);
  };
  const [one, other] = [new Set(ranges), new Set(others)];
  for (const { narrow, wide } of containments(one, other)) add(narrow, wide);
  for (const { narrow, wide } of containments(other, one)) add(wide, narrow);
  return found;
}

/** Every pair in which a range of the second list contains or equals a range of the first. */
function* containments(
  narrow: ReadonlySet<Cidr>,
  wide: ReadonlySet<Cidr>,
): Iterable<{ readonly narrow: Cidr; readonly wide: Cidr }> {
  const lengths = new Map<string, Set<number>>();
  for (const range of wide) {
    const family = cidrFamily(range);
    lengths.set(family, (lengths.get(family) ?? new Set()).add(prefixLength(range)));
  }
  for (const range of narrow) {
    const address = range.slice(0, range.indexOf("/"));
    for (const length of lengths.get(cidrFamily(range)) ?? []) {
      if (length > prefixLength(range)) continue;
      const cut = parseCidr(`${address}/${length}`);
      if (cut !== undefined && wide.has(cut)) yield { narrow: range, wide: cut };
    }
  }
}
