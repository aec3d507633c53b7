// `npm run simulate`: runs many seeds of the simulation in several processes, and prints the seeds that violate an invariant.

import { cpus } from "node:os";
import { join, resolve } from "node:path";
import { mutations } from "../test/simulation/mutations/mutations.ts";
import { addRun, total, versionOfSources } from "../test/simulation/seed-tally.ts";
import type { SeedResult } from "../test/simulation/seed-worker.ts";
import { toLine, variants } from "../test/simulation/variants.ts";
import { cachePath } from "./build/cache.ts";
import { commandLine, oneNamed, orFail, wholeNumber } from "./command-line.ts";

const root = resolve(import.meta.dir, "..");

const usage = `Usage: npm run simulate -- [--seeds N] [--from N] [--processes N] [--mutation NAME] [--ignore N,N] [--first]
                           [--record FOLDER] [--against FOLDER] [VARIANT …]

Runs the simulation with N seeds (100), and prints each seed that violates an invariant. Runs on the same sources add up: the total is
kept in \${XDG_CACHE_HOME:-~/.cache}/fairlead/simulation.
  --from N         the first seed (1)
  --processes N    how many run at the same time (the number of processors)
  --mutation NAME  run with this protection of src removed; --first stops at the first seed that finds it
  --ignore N,N     invariants that do not end a run
  --record FOLDER  write the manager's requests and all other writes to one file per seed in this folder
  --against FOLDER compare each seed with its recording in this folder, by another revision; print the first difference
Variants, alone or together:
${variants.map(({ name, what }) => `  ${`--${name}`.padEnd(17)}with ${what}`).join("\n")}
Replay one seed with FAIRLEAD_SEED=N npm test -- ./test/simulation, or with its variants: --from N --seeds 1 VARIANT …
Mutations: ${mutations.map(({ name }) => name).join(", ")}
`;
const { values } = commandLine(usage, {
  seeds: { type: "string", default: "100" },
  from: { type: "string", default: "1" },
  processes: { type: "string", default: String(cpus().length) },
  mutation: { type: "string" },
  ignore: { type: "string", default: "" },
  record: { type: "string", default: "" },
  against: { type: "string", default: "" },
  first: { type: "boolean", default: false },
  volumes: { type: "boolean", default: false },
  lookups: { type: "boolean", default: false },
  stops: { type: "boolean", default: false },
  operations: { type: "boolean", default: false },
});
const { mutation, first: stopsAtFirst } = values;
const count = wholeNumber("seeds", values.seeds, 1);
const first = wholeNumber("from", values.from, 1);
if (mutation !== undefined) orFail(() => oneNamed("mutation", mutation, mutations));
const seeds = Array.from({ length: count }, (_, index) => first + index);
const started = performance.now();
const failed: SeedResult[] = [];
let done = 0;
const figures = { virtualSeconds: 0, processorSeconds: 0, checked: 0, disruptions: 0 };

function report(result: SeedResult): void {
  done += 1;
  figures.virtualSeconds += result.figures?.virtualSeconds ?? 0;
  figures.processorSeconds += result.figures?.processorSeconds ?? 0;
  figures.checked += result.figures?.checked ?? 0;
  figures.disruptions += result.figures?.disruptions ?? 0;
  const { seed, texts, failure, difference } = result;
  const [text = failure ?? difference] = failure === undefined ? texts : [];
  if (text !== undefined) {
    failed.push(result);
    process.stdout.write(`seed ${seed}: ${text}\n`);
  }
  if (done % 50 === 0 || done === count) {
    const elapsed = ((performance.now() - started) / 1000).toFixed(0);
    process.stderr.write(`${done} of ${count} seeds, ${failed.length} failed, ${elapsed} s\n`);
  }
}

async function work(): Promise<void> {
  const worker = Bun.spawn(
    [
      process.execPath,
      ...(mutation === undefined ? [] : ["--preload", join(root, "test/simulation/mutations/preload.ts")]),
      join(root, "test/simulation/seed-worker.ts"),
    ],
    {
      cwd: root,
      stdin: "pipe",
      stdout: "pipe",
      stderr: "inherit",
      env: {
        ...process.env,
        // The last tier of the compiler costs more processor time than its code saves: most code of a seed runs rarely.
        BUN_JSC_useFTLJIT: "0",
        FAIRLEAD_MUTATION: mutation ?? "",
        FAIRLEAD_IGNORE: values.ignore,
        FAIRLEAD_RECORD: values.record && resolve(values.record),
        FAIRLEAD_AGAINST: values.against && resolve(values.against),
      },
    },
  );
  const next = (): void => {
    const seed = stopsAtFirst && failed.length > 0 ? undefined : seeds.shift();
    if (seed === undefined) worker.stdin.end();
    else {
      worker.stdin.write(`${toLine(seed, values)}\n`);
      worker.stdin.flush();
    }
  };
  next();
  let text = "";
  for await (const chunk of worker.stdout.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    const lines = text.split("\n");
    text = lines.pop() ?? "";
    for (const line of lines) {
      report(JSON.parse(line));
      next();
    }
  }
  if ((await worker.exited) !== 0) throw new Error("A process of the simulation ended with an error.");
}

await Promise.all(Array.from({ length: wholeNumber("processes", values.processes, 1) }, work));
const byInvariant = Object.groupBy(failed, ({ invariants }) => invariants.join("+"));
for (const [invariants, results = []] of Object.entries(byInvariant)) {
  const list = results.map(({ seed }) => seed).toSorted((a, b) => a - b);
  const what = invariants === "" ? "no invariant, but a difference or an error" : `invariant ${invariants}`;
  process.stdout.write(`${what}: ${list.length} seeds: ${list.slice(0, 30).join(" ")}\n`);
}
const { virtualSeconds, processorSeconds, checked, disruptions } = figures;
process.stdout.write(
  `${Math.round(virtualSeconds / processorSeconds)} virtual seconds per second of CPU; ` +
    `${checked} writes and requests checked against the invariants; ${disruptions} faults and changes injected\n`,
);
// A run with a mutation, and one that ignores an invariant or ended early, proves nothing about the sources.
if (mutation === undefined && values.ignore === "" && done === count) {
  const version = versionOfSources(root);
  const runs = addRun(cachePath(`simulation/${version}.jsonl`), {
    variants: toLine(0, values).slice(2),
    from: first,
    seeds: count,
    failed: failed.map(({ seed }) => seed),
  });
  const { plain, varied, failed: all } = total(runs);
  process.stdout.write(
    `All runs on these sources (${version}): ${plain} seeds without variants and ${varied} with variants, ${all.length} failed${all.length === 0 ? "" : `: ${all.join(", ")}`}\n`,
  );
}
process.stdout.write(`${done} seeds, ${failed.length} failed\n`);
process.exit(failed.length > 0 ? 1 : 0);
