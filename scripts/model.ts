// `npm run model`: searches the model of absence for sequences that break an invariant, and replays what it drew with the controllers.

import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { firstDifference, rowsOf } from "../test/model/traces.ts";
import { models, type Row } from "../test/model/vocabulary.ts";
import { commandLine, fail, oneNamed, orFail, wholeNumber } from "./command-line.ts";
import { root } from "./test-runs.ts";

const usage = `Usage: npm run model -- [--seed N] [--samples N] [--traces N] [--steps N] [--record] [MODEL …]

Runs Quint, which npx installs outside the repository, on test/model/absence.qnt: all models, or those that are named.
  --seed N     of the random choices (1)
  --samples N  sequences of each model that are checked for the invariants (500)
  --traces N   of these, sequences that are replayed with the controllers (50)
  --steps N    of each sequence (40)
  --record     writes twenty of them, with the most different steps, to test/model/traces.jsonl, for \`npm test\`
Models: ${models.join(", ")}
`;
const { values, positionals } = commandLine(
  usage,
  {
    seed: { type: "string", default: "1" },
    samples: { type: "string", default: "500" },
    traces: { type: "string", default: "50" },
    steps: { type: "string", default: "40" },
    record: { type: "boolean", default: false },
  },
  models.length,
);
const numbers = {
  seed: wholeNumber("seed", values.seed),
  samples: wholeNumber("samples", values.samples, 1),
  traces: wholeNumber("traces", values.traces, 1),
  steps: wholeNumber("steps", values.steps, 1),
};
const named = models.map((name) => ({ name }));
const chosen =
  positionals.length === 0 ? named : positionals.map((name) => orFail(() => oneNamed("model", name, named)));

// Not a development dependency: 82 packages of 44 MB, for a command that CI does not run. Its range for antlr4ts selects a version that
// cannot be loaded.
const packages = ["@informalsystems/quint@0.33.1", "antlr4ts@0.5.0-alpha.4"];
const folder = mkdtempSync(join(tmpdir(), "fairlead-model-"));
const recorded: string[] = [];
let hasFailed = false;

/** The number of different steps with an outcome, and of holds that end. */
const varietyOf = (rows: readonly Row[]): number =>
  new Set(rows.map(([step, , arg, outcome]) => `${step} ${arg} ${outcome}`)).size +
  2 * new Set(rows.map(([, , , , , endedAt]) => endedAt)).size +
  2 * new Set(rows.flatMap(([, all, , outcome]) => (outcome === "acted" ? all : []))).size;

for (const { name } of chosen) {
  const pattern = join(folder, `${name}-{seq}.json`);
  const { exitCode } = Bun.spawnSync(
    [
      ...["npx", "--yes", ...packages.flatMap((one) => ["-p", one]), "quint", "run"],
      ...[
        "test/model/absence.qnt",
        `--main=${name}`,
        "--backend=typescript",
        "--invariant=safe",
        "--verbosity=1",
      ],
      ...[`--seed=${numbers.seed}`, `--max-samples=${numbers.samples}`, `--max-steps=${numbers.steps}`],
      ...[`--n-traces=${numbers.traces}`, `--out-itf=${pattern}`],
    ],
    { cwd: root, stdio: ["ignore", "inherit", "inherit"] },
  );
  const traces = readdirSync(folder)
    .filter((file) => file.startsWith(`${name}-`))
    .map((file) => rowsOf(readFileSync(join(folder, file), "utf8")));
  const varied = traces.toSorted((one, other) => varietyOf(other) - varietyOf(one)).slice(0, 20);
  recorded.push(...varied.map((rows) => `${JSON.stringify({ model: name, rows })}\n`));
  if (exitCode !== 0) {
    hasFailed = true;
    console.log(`${name}: the last of these steps breaks an invariant:`);
    for (const row of traces[0] ?? []) console.log(JSON.stringify(row));
    continue;
  }
  const found: string[] = [];
  for (const rows of traces) {
    const difference = await firstDifference(name, rows);
    if (difference === undefined) continue;
    const before = rows.slice(0, difference.index + 1).map((row) => JSON.stringify(row));
    found.push([...before, `The controllers: ${JSON.stringify(difference.actual)}`].join("\n"));
  }
  hasFailed ||= found.length > 0;
  console.log(`${name}: ${traces.length} sequences replayed, ${found.length} with another result`);
  if (found[0] !== undefined) console.log(found[0]);
}
rmSync(folder, { recursive: true });
if (hasFailed) fail("The model and the controllers differ, or an invariant is broken.");
if (values.record) writeFileSync(join(root, "test/model/traces.jsonl"), recorded.join(""));
