// Measures load on /metrics of the leader: response times, and whether it still renews the Lease in time. The page is readable
// without authentication, so that the API server's token reviews are not measured.

import { leases } from "../../src/kube/resources.ts";
import { freePort } from "../../test/cluster/rig/free-port.ts";
import { never } from "../../test/kube/cluster/connect.ts";
import { type ProcessCost, processCost } from "./process-cost.ts";
import { type Columns, decimal, type Section, sectionOf } from "./section.ts";
import { Bench, type BenchOptions, untilDone } from "./world.ts";

export interface Load {
  readonly seconds: number;
  /** Requests per second. */
  readonly rate: number;
}

export interface ScrapeRun {
  readonly server: string;
  readonly answers: number;
  readonly failed: number;
  readonly medianMs: number;
  readonly p99Ms: number;
  readonly worstMs: number;
  /** The longest time between two renewals of the Lease; the renewal interval is two seconds. */
  readonly maxRenewalSeconds: number;
  readonly cost: ProcessCost | undefined;
}

const lease = { namespace: "kube-system", name: "cloud-controller-manager" };

const columns: Columns<ScrapeRun> = [
  ["Responses", ({ answers }) => String(answers)],
  ["Failed", ({ failed }) => String(failed)],
  ["Median ms", ({ medianMs }) => decimal(medianMs, 1)],
  ["p99 ms", ({ p99Ms }) => decimal(p99Ms, 1)],
  ["Max ms", ({ worstMs }) => decimal(worstMs, 1)],
  ["Longest time between Lease renewals s", (run) => decimal(run.maxRenewalSeconds, 2)],
  ["CPU s", ({ cost }) => decimal(cost?.cpuSeconds, 2)],
];

export async function measureScrape(options: BenchOptions, { seconds, rate }: Load): Promise<ScrapeRun> {
  await using bench = await Bench.open(options);
  const port = freePort();
  const manager = bench.start(
    ...[`--secure-port=${port}`, "--bind-address=127.0.0.1", "--authorization-always-allow-paths=/metrics"],
  );
  const renewedAt = async (): Promise<string> =>
    (await bench.api.get(leases, lease, never)).spec?.renewTime ?? "";
  await untilDone(manager, "it led", async () => (await renewedAt()) !== "");

  const latencies: number[] = [];
  let failed = 0;
  const scrape = async (): Promise<void> => {
    const began = performance.now();
    try {
      const reply = await fetch(`https://127.0.0.1:${port}/metrics`, { tls: { rejectUnauthorized: false } });
      await reply.text();
      if (!reply.ok) failed += 1;
    } catch {
      failed += 1;
    }
    latencies.push(performance.now() - began);
  };
  const renewals = new Set<string>();
  const began = performance.now();
  const pending: Promise<void>[] = [];
  let checked = 0;
  for (let sent = 0; performance.now() - began < seconds * 1000; ) {
    if (manager.exitCode() !== null) throw new Error(`The manager exited.\n${manager.output().slice(-3000)}`);
    const due = ((performance.now() - began) / 1000) * rate;
    for (; sent < due; sent += 1) pending.push(scrape());
    if (performance.now() - checked > 200) {
      checked = performance.now();
      renewals.add(await renewedAt());
    }
    await Bun.sleep(2);
  }
  await Promise.all(pending);
  const times = [...renewals].map((text) => Date.parse(text)).toSorted((a, b) => a - b);
  const gaps = times.slice(1).map((at, index) => (at - (times[index] ?? at)) / 1000);
  const sorted = latencies.toSorted((a, b) => a - b);
  const at = (share: number): number =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
  return {
    server: bench.serverName,
    answers: sorted.length,
    failed,
    medianMs: at(0.5),
    p99Ms: at(0.99),
    worstMs: at(1),
    maxRenewalSeconds: Math.max(...gaps),
    cost: processCost(manager.pid),
  };
}

export function scrapeSection({ seconds, rate }: Load, runs: readonly ScrapeRun[]): Section {
  return sectionOf(`${rate} requests per second to /metrics for ${seconds} s`, columns, runs);
}
