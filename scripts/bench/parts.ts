// Everything that is measured, as parts that are run one after the other: each opens a world of its own, so that none
// inherits anything from the one before.

import { importSection, imports, measureImport } from "./client-node.ts";
import { idleSection, measureIdle } from "./idle.ts";
import { measureNodes, nodesSection } from "./nodes.ts";
import { type Load, measureScrape, scrapeSection } from "./scrape.ts";
import type { Section } from "./section.ts";
import { measureServices, servicesSection } from "./services.ts";
import { measureStart, startSection } from "./start.ts";
import type { BenchOptions } from "./world.ts";

export interface Part<T = unknown> {
  /** For progress, and for saying what failed. */
  readonly title: string;
  readonly run: () => Promise<T>;
}

/** Parts whose rows stand in one table. */
export interface Chapter<T = unknown> {
  readonly parts: readonly Part<T>[];
  readonly toSection: (runs: readonly T[]) => Section;
}

/** Forgets what the rows of a chapter are made of: chapters of all kinds stand in one list. */
function chapter<T>(parts: readonly Part<T>[], toSection: (runs: readonly T[]) => Section): Chapter {
  return {
    parts,
    toSection: (runs) => toSection(runs as readonly T[]),
  };
}

export function nodesChapter(options: BenchOptions, counts: readonly number[]): Chapter {
  return chapter(
    counts.map((count) => ({ title: `${count} Nodes that join`, run: () => measureNodes(options, count) })),
    nodesSection,
  );
}

export interface ServicesSize {
  readonly count: number;
  readonly nodes: number;
}

export function servicesChapter(options: BenchOptions, sizes: readonly ServicesSize[]): Chapter {
  return chapter(
    sizes.map(({ count, nodes }) => ({
      title: `${count} Services with ${nodes} Nodes`,
      run: () => measureServices(options, count, nodes),
    })),
    servicesSection,
  );
}

export function startChapter(options: BenchOptions): Chapter {
  return chapter([{ title: "start of the process", run: () => measureStart(options) }], startSection);
}

export function idleChapter(options: BenchOptions, nodeCounts: readonly number[]): Chapter {
  return chapter(
    nodeCounts.map((nodes) => ({
      title: `nothing to do, with ${nodes} Nodes`,
      run: () => measureIdle(options, nodes),
    })),
    idleSection,
  );
}

export function scrapeChapter(options: BenchOptions, load: Load): Chapter {
  return chapter([{ title: "a load on /metrics", run: () => measureScrape(options, load) }], (runs) =>
    scrapeSection(load, runs),
  );
}

/** Not among everything: it is about a decision, and not about the manager. */
export function clientNodeChapter(): Chapter {
  return chapter(
    (Object.keys(imports) as (keyof typeof imports)[]).map((what) => ({
      title: `imports ${what}`,
      run: () => measureImport(what),
    })),
    importSection,
  );
}

/** The sizes of the page in docs/benchmarks.md. */
export function everything(options: BenchOptions, load: Load): readonly Chapter[] {
  return [
    startChapter(options),
    idleChapter(options, [0, 1000]),
    nodesChapter(options, [100, 1000, 5000, 15_000]),
    servicesChapter(options, [
      { count: 50, nodes: 1000 },
      { count: 200, nodes: 1000 },
      { count: 1000, nodes: 1000 },
      { count: 200, nodes: 15_000 },
    ]),
    scrapeChapter(options, load),
  ];
}
