// How far apart two proofs of absence must be where reads lag behind writes: a listing may show an earlier state for that long.

import { type Milliseconds, milliseconds, seconds } from "../core/brand.ts";

/** Clocks and requests are not exact. */
const margin: Milliseconds = seconds(5);

export function proofsApart(confirmAfter: Milliseconds, readsLag: Milliseconds | undefined): Milliseconds {
  return readsLag === undefined ? confirmAfter : milliseconds(Math.max(confirmAfter, readsLag + margin));
}
