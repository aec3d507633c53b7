// A text that costs something to make is made at most once in a while, however many ask for it.

import { type Milliseconds, seconds } from "../core/brand.ts";
import type { Clock } from "../platform/clock.ts";

export function cachedText(
  make: () => string,
  clock: Clock,
  lifetime: Milliseconds = seconds(1),
): () => string {
  let kept: { readonly text: string; readonly at: number } | undefined;
  return () => {
    const now = clock.monotonic();
    if (kept === undefined || now - kept.at >= lifetime) kept = { text: make(), at: now };
    return kept.text;
  };
}
