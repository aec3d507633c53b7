// Measures how long an executable takes to start, as the time that `--version` takes.

/** The milliseconds of each run, sorted. One more run warms the caches first. */
export function startTimes(executable: string, runs: number): readonly number[] {
  const once = (): number => {
    const began = performance.now();
    const { exitCode } = Bun.spawnSync([executable, "--version"], { env: {}, stdin: "ignore" });
    if (exitCode !== 0) throw new Error(`${executable} --version exited with ${exitCode}`);
    return performance.now() - began;
  };
  once();
  return Array.from({ length: runs }, once).toSorted((a, b) => a - b);
}

/** The median of 7 runs, in milliseconds. */
export function startTime(executable: string): number {
  const times = startTimes(executable, 7);
  return times[Math.floor(times.length / 2)] ?? Number.NaN;
}
