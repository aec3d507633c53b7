// How far apart two proofs of absence must be where the reads of a cloud lag behind its writes: a listing or lookup may show an earlier
// state for that long.

import { type Milliseconds, milliseconds, seconds } from "../core/brand.ts";

/** A part of the provider contract that may declare a lag. */
export interface MayLag {
  readonly readsLag?: Milliseconds | undefined;
}

/** Clocks and requests are not exact. */
const margin: Milliseconds = seconds(5);

/** How far apart two proofs of absence must be: the second one shows a later state than the first. */
export function proofsApart(confirmAfter: Milliseconds, { readsLag }: MayLag): Milliseconds {
  return readsLag === undefined ? confirmAfter : milliseconds(Math.max(confirmAfter, readsLag + margin));
}
