// Measures how long the executable takes to be there: to say its version, and to answer the health check of a process that
// has found its API server. Medians, because single starts differ by what the system has at hand.

import { freePort } from "../../test/cluster/rig/free-port.ts";
import { startTimes } from "../build/start-time.ts";
import { type Section, sectionOf } from "./section.ts";
import { type Columns, decimal } from "./table.ts";
import { type BenchOptions, openBench, untilDone } from "./world.ts";

export interface StartRun {
  readonly server: string;
  readonly version: readonly number[];
  readonly healthy: readonly number[];
}

const runs = 31;

/** Of sorted figures. */
const middle = (times: readonly number[]): number | undefined => times[Math.floor(times.length / 2)];

const columns: Columns<StartRun> = [
  ["--version ms, fastest", ({ version }) => decimal(version[0], 1)],
  ["median", ({ version }) => decimal(middle(version), 1)],
  ["first /healthz ms, fastest", ({ healthy }) => decimal(healthy[0], 0)],
  ["median", ({ healthy }) => decimal(middle(healthy), 0)],
];

export async function measureStart(options: BenchOptions): Promise<StartRun> {
  await using bench = await openBench(options);
  const times: number[] = [];
  for (let run = 0; run < runs; run += 1) {
    const port = freePort();
    const began = performance.now();
    const manager = bench.start(`--secure-port=${port}`, "--bind-address=127.0.0.1", "--leader-elect=false");
    const isHealthy = async (): Promise<boolean> => {
      const url = `https://127.0.0.1:${port}/healthz`;
      return (await fetch(url, { tls: { rejectUnauthorized: false } })).ok;
    };
    await untilDone(manager, "the health check answered", isHealthy, { seconds: 30, everyMs: 1 });
    times.push(performance.now() - began);
    await manager.stop();
  }
  return {
    server: bench.serverName,
    version: startTimes(bench.executable, runs),
    healthy: times.toSorted((a, b) => a - b),
  };
}

export function startSection(each: readonly StartRun[]): Section {
  return sectionOf(`Start of the process, ${runs} times`, columns, each);
}
