// Measures Fairlead and the Go manager of a cloud, one after the other: Nodes that join at once,
// and Services. Each gets a new API server and a new simulated cloud.

import {
  type CloudRows,
  type Contest,
  compare,
  comparisonChart,
  comparisonTable,
  joinOf,
  type PeersRun,
  type Row,
} from "./comparison.ts";
import { type GoManager, goManagers } from "./go-managers.ts";
import { joinAtOnce } from "./nodes.ts";
import { printProgress } from "./progress.ts";
import type { Section } from "./section.ts";
import { serviceSteps, targets } from "./services.ts";
import { Bench, type BenchOptions } from "./world.ts";

export interface PeersSize {
  readonly nodes: number;
  /** With 0, only Nodes are measured. */
  readonly services: number;
}

/** A manager that leads immediately: the Go manager would wait for the Lease of the previous one. */
const flags = ["--leader-elect=false"];

async function contest(
  options: BenchOptions,
  size: PeersSize,
): Promise<Contest & { readonly server: string }> {
  await using bench = await Bench.open(options);
  const { manager, run } = await joinAtOnce(bench, size.nodes, { targets, flags });
  await manager.stop();
  const steps = size.services === 0 ? [] : await serviceSteps(bench, size.services, flags);
  return { server: bench.serverName, nodes: run, steps };
}

export async function measurePeers(
  options: BenchOptions,
  peer: GoManager,
  size: PeersSize,
): Promise<PeersRun> {
  const { name, maxLoadBalancers = size.services } = options.cloud;
  const services = Math.min(size.services, maxLoadBalancers);
  // The first build takes minutes.
  peer.build();
  printProgress("  Fairlead");
  const { server, ...fairlead } = await contest(options, { ...size, services });
  printProgress(`  ${peer.title}`);
  const go = await contest({ ...options, peer }, { ...size, services });
  return { server, cloud: name, peer: peer.title, nodes: size.nodes, services, fairlead, go };
}

/** The charts show the figures of one cloud. */
const charted = "hetzner";

function chartsOf(rows: readonly Row[], runs: readonly PeersRun[], note: string) {
  const largest = joinOf(Math.max(...runs.map(({ nodes }) => nodes)));
  const ofServices = rows.filter(({ part }) => !runs.some(({ nodes }) => part === joinOf(nodes)));
  return {
    "go-nodes.svg": comparisonChart(
      `${largest} at once`,
      note,
      rows.filter(({ part }) => part === largest),
    ),
    "go-services.svg": comparisonChart(
      `Services with ${targets} targets each`,
      note,
      ofServices,
      ({ part, what }) => `${part}: ${what}`,
    ),
  };
}

/** Table rows by cloud. */
export function rowsByCloud(
  runs: readonly PeersRun[],
): readonly (CloudRows & { readonly peer: GoManager })[] {
  const byCloud = Map.groupBy(runs, ({ cloud }) => cloud);
  return goManagers.flatMap((peer) => {
    const some = byCloud.get(peer.cloud) ?? [];
    const services = Math.max(...some.map((run) => run.services));
    const title = `${peer.place}, ${services} Services`;
    return some.length === 0 ? [] : { peer, title, rows: compare(some) };
  });
}

export function peersSection(where: string, runs: readonly PeersRun[]): Section {
  const clouds = rowsByCloud(runs);
  const ofChart = clouds.find(({ peer }) => peer.cloud === charted);
  const columns = clouds.map(({ title, rows, peer }) => ({ title: `${title}, ${peer.title}`, rows }));
  return {
    title: "Each cloud with its Go manager",
    server: runs[0]?.server ?? "none",
    table: comparisonTable(columns),
    ...(ofChart && {
      charts: chartsOf(
        ofChart.rows,
        runs.filter(({ cloud }) => cloud === charted),
        `Beside ${ofChart.peer.title}, ${where}. Shorter is better.`,
      ),
    }),
  };
}
