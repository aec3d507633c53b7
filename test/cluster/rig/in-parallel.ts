// Applies `work` to all items with a limited number of workers. Rejects with the first failure.

export const inParallel = async <T>(
  items: readonly T[],
  workers: number,
  work: (item: T) => Promise<unknown>,
): Promise<void> => {
  const remaining = items[Symbol.iterator]();
  await Promise.all(
    Array.from({ length: workers }, async () => {
      for (const item of remaining) await work(item);
    }),
  );
};
