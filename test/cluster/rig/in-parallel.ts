// Works through a list with so many at the same time. The first failure ends it.

export const inParallel = async <T>(
  items: readonly T[],
  workers: number,
  work: (item: T) => Promise<unknown>,
): Promise<void> => {
  const rest = items[Symbol.iterator]();
  await Promise.all(
    Array.from({ length: workers }, async () => {
      for (const item of rest) await work(item);
    }),
  );
};
