// The only hand on the garbage collector. What is decoded or looked at is mostly thrown away at once, and the collector, left
// alone, lets three times of what is kept pile up before it looks.

export const collectGarbage = (): void => Bun.gc(true);

/** Counts bytes that are garbage a moment later, and collects each time they are many. */
export type GarbageMeter = (bytes: number) => void;

const mebibyte = 1_048_576;

/** What one look at one object leaves behind; measured with 5,000 Nodes that are looked at in one go. */
export const reconcileGarbage = 2048;

/** A collection takes some 20 ms with what we keep of 5,000 nodes; seldom enough for processor and memory both. */
export function createGarbageMeter(
  every: number = 1.5 * mebibyte,
  collect: () => void = collectGarbage,
): GarbageMeter {
  let made = 0;
  return (bytes) => {
    made += bytes;
    if (made < every) return;
    made = 0;
    collect();
  };
}
