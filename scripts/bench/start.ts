// Measures how long the executable takes to be there: to say its version, and to answer the health check of a process that
// has found its API server. Medians, because single starts differ by what the system has at hand.

import { freePort } from "../../test/cluster/rig/free-port.ts";
import { until } from "../../test/cluster/rig/until.ts";
import { startTime } from "../build/start-time.ts";
import { type BenchOptions, mustRun, openBench } from "./world.ts";

export interface StartRun {
  readonly server: string;
  readonly versionMs: number;
  readonly healthyMs: number;
}

const runs = 7;

export const measureStart = async (options: BenchOptions): Promise<StartRun> => {
  await using bench = await openBench(options);
  const times: number[] = [];
  for (let run = 0; run < runs; run += 1) {
    const port = await freePort();
    const began = performance.now();
    const manager = bench.start(`--secure-port=${port}`, "--bind-address=127.0.0.1", "--leader-elect=false");
    await until(
      "the health check",
      async () => {
        mustRun(manager);
        const url = `https://127.0.0.1:${port}/healthz`;
        const { ok } = await fetch(url, { tls: { rejectUnauthorized: false } });
        return ok;
      },
      { seconds: 30, everyMs: 2, explain: () => manager.output() },
    );
    times.push(performance.now() - began);
    await manager.stop();
  }
  const middle = times.toSorted((a, b) => a - b)[Math.floor(runs / 2)] ?? Number.NaN;
  return { server: bench.serverName, versionMs: startTime(bench.executable), healthyMs: middle };
};
