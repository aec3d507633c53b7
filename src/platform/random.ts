// The only source of randomness, for jitter and identifiers. A seeded source makes simulations reproducible.

export interface Random {
  /** Uniform in [0, 1). */
  fraction(): number;
  /** A UUID, for uids and identities. */
  uuid(): string;
}

export const systemRandom: Random = {
  fraction: () => Math.random(),
  uuid: () => crypto.randomUUID(),
};

/** The same seed gives the same numbers and the same uuids (mulberry32: small and fast). */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  const fraction = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
  const hex = (digits: number): string =>
    Array.from({ length: digits }, () => Math.floor(fraction() * 16).toString(16)).join("");
  return {
    fraction,
    uuid: () => `${hex(8)}-${hex(4)}-4${hex(3)}-a${hex(3)}-${hex(12)}`,
  };
}
