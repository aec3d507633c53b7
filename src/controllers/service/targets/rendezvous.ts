// Orders names by their hashes (rendezvous hashing), so that adding or removing a name does not move the others. Pure.

import { hash } from "../../../core/hash.ts";

/** The same order for the same seed. Names break ties. */
export function inRendezvousOrder<T>(
  items: readonly T[],
  nameOf: (item: T) => string,
  seed: string,
): readonly T[] {
  return items
    .map((item) => ({ item, name: nameOf(item), rank: hash(`${seed}/${nameOf(item)}`) }))
    .sort((a, b) => a.rank - b.rank || (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))
    .map(({ item }) => item);
}
