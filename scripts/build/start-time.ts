// How long an executable takes to say its version: the time it takes to be there at all. Only for the machine it runs on.

/** Milliseconds, the fastest first, after a first one that warms the caches and does not count. */
export function startTimes(executable: string, runs: number): readonly number[] {
  const once = (): number => {
    const began = performance.now();
    const { exitCode } = Bun.spawnSync([executable, "--version"], { env: {}, stdin: "ignore" });
    if (exitCode !== 0) throw new Error(`${executable} --version ended with ${exitCode}.`);
    return performance.now() - began;
  };
  once();
  return Array.from({ length: runs }, once).toSorted((a, b) => a - b);
}

/** The median of a few. */
export function startTime(executable: string): number {
  const times = startTimes(executable, 7);
  return times[Math.floor(times.length / 2)] ?? Number.NaN;
}
