// Orders names by their hashes (rendezvous hashing), so that adding or removing a name does not move the others. Pure.

/** FNV-1a over UTF-16 units, then a finisher that spreads similar names. */
export function hash(text: string): number {
  let state = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) {
    state = Math.imul(state ^ text.charCodeAt(index), 0x01000193);
  }
  state = Math.imul(state ^ (state >>> 16), 0x85ebca6b);
  state = Math.imul(state ^ (state >>> 13), 0xc2b2ae35);
  return (state ^ (state >>> 16)) >>> 0;
}

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
