// How long an executable takes to say its version: the time it takes to be there at all. Only for the machine it runs on.

const runs = 7;

/** Milliseconds, the median of a few runs after a first one that warms the caches. */
export const startTime = (executable: string): number => {
  const once = (): number => {
    const began = performance.now();
    const { exitCode } = Bun.spawnSync([executable, "--version"], { env: {}, stdin: "ignore" });
    if (exitCode !== 0) throw new Error(`${executable} --version ended with ${exitCode}.`);
    return performance.now() - began;
  };
  once();
  const times = Array.from({ length: runs }, once).toSorted((a, b) => a - b);
  return times[Math.floor(runs / 2)] ?? Number.NaN;
};
