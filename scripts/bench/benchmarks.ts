// All benchmarks. Each one starts its own API server, cloud and manager.

import type { LocalCloudDefinition } from "../clouds/local-cloud.ts";
import { importSection, imports, measureImport } from "./client-node.ts";
import type { GoManager } from "./go-managers.ts";
import { idleSection, measureIdle } from "./idle.ts";
import { measureNodes, nodesSection } from "./nodes.ts";
import { measurePeers, type PeersSize, peersSection } from "./peers.ts";
import { type Load, measureScrape, scrapeSection } from "./scrape.ts";
import type { Section } from "./section.ts";
import { measureServices, servicesSection } from "./services.ts";
import { attacks, measureStall, stallSection } from "./stall.ts";
import { measureStart, startSection } from "./start.ts";
import { measureTakeover, takeoverSection } from "./takeover.ts";
import { measureVolumes, volumesSection } from "./volumes.ts";
import type { BenchOptions } from "./world.ts";

export interface Benchmark<T = unknown> {
  /** The title in progress lines and failures. */
  readonly title: string;
  readonly run: () => Promise<T>;
}

/** Benchmarks that share a table. */
export interface BenchmarkGroup<T = unknown> {
  readonly benchmarks: readonly Benchmark<T>[];
  readonly toSection: (runs: readonly T[]) => Section;
}

/** Hides the type of the rows, so that groups of all kinds fit into one list. */
function group<T>(
  benchmarks: readonly Benchmark<T>[],
  toSection: (runs: readonly T[]) => Section,
): BenchmarkGroup {
  return {
    benchmarks,
    toSection: (runs) => toSection(runs as readonly T[]),
  };
}

export function nodesBenchmarks(options: BenchOptions, counts: readonly number[]): BenchmarkGroup {
  return group(
    counts.map((count) => ({ title: `${count} Nodes join`, run: () => measureNodes(options, count) })),
    nodesSection,
  );
}

export interface ServicesSize {
  readonly count: number;
  readonly nodes: number;
}

export function servicesBenchmarks(options: BenchOptions, sizes: readonly ServicesSize[]): BenchmarkGroup {
  return group(
    sizes.map(({ count, nodes }) => ({
      title: `${count} Services with ${nodes} Nodes`,
      run: () => measureServices(options, count, nodes),
    })),
    servicesSection,
  );
}

export function startBenchmarks(options: BenchOptions): BenchmarkGroup {
  return group([{ title: "start of the process", run: () => measureStart(options) }], startSection);
}

export function idleBenchmarks(options: BenchOptions, nodeCounts: readonly number[]): BenchmarkGroup {
  return group(
    nodeCounts.map((nodes) => ({
      title: `idle with ${nodes} Nodes`,
      run: () => measureIdle(options, nodes),
    })),
    idleSection,
  );
}

/** Not part of `all`: the figure is in docs/volumes.md. */
export function volumesBenchmarks(options: BenchOptions, counts: readonly number[]): BenchmarkGroup {
  return group(
    counts.map((count) => ({ title: `${count} volumes`, run: () => measureVolumes(options, count) })),
    volumesSection,
  );
}

export function scrapeBenchmarks(options: BenchOptions, load: Load): BenchmarkGroup {
  return group([{ title: "load on /metrics", run: () => measureScrape(options, load) }], (runs) =>
    scrapeSection(load, runs),
  );
}

/** Not part of `all`: this benchmark needs the executables of all clouds. */
export function takeoverBenchmarks(
  options: BenchOptions,
  clouds: readonly LocalCloudDefinition[],
  size: ServicesSize,
): BenchmarkGroup {
  return group(
    clouds.map((cloud) => ({
      title: `${size.count} Services on ${cloud.name}`,
      run: () => measureTakeover({ ...options, cloud }, size),
    })),
    takeoverSection,
  );
}

/** Not part of `all`: this benchmark needs the executables of its clouds, and Go. */
export function peersBenchmarks(
  options: BenchOptions,
  contestants: readonly { readonly cloud: LocalCloudDefinition; readonly peer: GoManager }[],
  sizes: readonly PeersSize[],
  where: string,
): BenchmarkGroup {
  return group(
    contestants.flatMap(({ cloud, peer }) =>
      sizes.map((size) => ({
        title: `${size.nodes} Nodes and ${size.services} Services on ${cloud.name}`,
        run: () => measurePeers({ ...options, cloud }, peer, size),
      })),
    ),
    (runs) => peersSection(where, runs),
  );
}

/** Not part of `all`: the figures are in SECURITY.md. */
export function stallBenchmarks(options: BenchOptions): BenchmarkGroup {
  return group(
    attacks.map((attack) => ({ title: attack.input, run: () => measureStall(options, attack) })),
    stallSection,
  );
}

/** Not part of `all`: this benchmark measures decision 0003 and not the manager. */
export function clientNodeBenchmarks(): BenchmarkGroup {
  return group(
    (Object.keys(imports) as (keyof typeof imports)[]).map((what) => ({
      title: `importing ${what}`,
      run: () => measureImport(what),
    })),
    importSection,
  );
}

/** The sizes that docs/benchmarks.md uses. */
export function allBenchmarks(options: BenchOptions, load: Load): readonly BenchmarkGroup[] {
  return [
    startBenchmarks(options),
    idleBenchmarks(options, [0, 1000]),
    nodesBenchmarks(options, [100, 1000, 5000, 15_000]),
    servicesBenchmarks(options, [
      { count: 50, nodes: 1000 },
      { count: 200, nodes: 1000 },
      { count: 1000, nodes: 1000 },
      { count: 200, nodes: 15_000 },
    ]),
    scrapeBenchmarks(options, load),
  ];
}
