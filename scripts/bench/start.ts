// Measures how long the executable takes to start: until `--version` exits, and until the first successful health check.

import { freePort } from "../../test/cluster/rig/free-port.ts";
import { startTimes } from "../build/start-time.ts";
import { type Columns, decimal, median, type Section, sectionOf } from "./section.ts";
import { Bench, type BenchOptions, untilDone } from "./world.ts";

export interface StartRun {
  readonly server: string;
  readonly version: readonly number[];
  readonly healthy: readonly number[];
}

const runs = 31;

const columns: Columns<StartRun> = [
  ["--version ms, fastest", ({ version }) => decimal(version[0], 1)],
  ["Median", ({ version }) => decimal(median(version), 1)],
  ["First /healthz ms, fastest", ({ healthy }) => decimal(healthy[0], 0)],
  ["Median", ({ healthy }) => decimal(median(healthy), 0)],
];

export async function measureStart(options: BenchOptions): Promise<StartRun> {
  await using bench = await Bench.open(options);
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
