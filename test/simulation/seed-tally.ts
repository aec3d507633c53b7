// Adds up the seeds of all runs on the same sources: one file per version of the sources, one line per run. Comments do not
// count as part of a version.

import { appendFileSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** One run, with the variants as in a seed worker's line. */
export interface TalliedRun {
  readonly variants: string;
  readonly from: number;
  readonly seeds: number;
  readonly failed: readonly number[];
}

const roots = ["src", "providers", "test/simulation"] as const;

/** Identifies the code that a seed runs, without comments, white space, tests and mutations. */
export function versionOfSources(root: string): string {
  const transpiler = new Bun.Transpiler({ loader: "ts", minifyWhitespace: true, target: "bun" });
  const hash = new Bun.CryptoHasher("sha256");
  const files = roots
    .flatMap((folder) => [...new Bun.Glob(`${folder}/**/*.ts`).scanSync(root)])
    .filter((path) => !path.endsWith(".test.ts") && !path.startsWith("test/simulation/mutations/"))
    .sort();
  for (const path of files)
    hash.update(path).update(transpiler.transformSync(readFileSync(join(root, path), "utf8")));
  return hash.digest("hex").slice(0, 12);
}

/** Adds the run to the file. Returns all runs in it. */
export function addRun(file: string, run: TalliedRun): readonly TalliedRun[] {
  mkdirSync(dirname(file), { recursive: true });
  appendFileSync(file, `${JSON.stringify(run)}\n`);
  return readRuns(file);
}

export const readRuns = (file: string): readonly TalliedRun[] =>
  existsSync(file)
    ? readFileSync(file, "utf8")
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line) as TalliedRun)
    : [];

/** The different seeds of the runs, with and without variants, and the failed ones. A seed that ran twice counts once. */
export function total(runs: readonly TalliedRun[]): {
  readonly plain: number;
  readonly varied: number;
  readonly failed: readonly string[];
} {
  const seen = new Set<string>();
  const failed = new Set<string>();
  for (const { variants, from, seeds, failed: ones } of runs) {
    for (let seed = from; seed < from + seeds; seed += 1) seen.add(`${seed} ${variants}`.trim());
    for (const seed of ones) failed.add(`${seed} ${variants}`.trim());
  }
  const varied = [...seen].filter((line) => line.includes(" ")).length;
  return { plain: seen.size - varied, varied, failed: [...failed].sort() };
}
