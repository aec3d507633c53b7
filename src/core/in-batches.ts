// Splits a list into parts of a maximum size. Pure.

/** The entries in order, `size` at a time. */
export function inBatches<T>(all: readonly T[], size: number): readonly (readonly T[])[] {
  return Array.from({ length: Math.ceil(all.length / size) }, (_, index) =>
    all.slice(index * size, (index + 1) * size),
  );
}
