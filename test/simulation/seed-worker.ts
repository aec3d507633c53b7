// A process that runs seeds of the simulation: reads one per line, as variants.ts writes it, and prints one line of JSON per outcome.
// scripts/simulate.ts and the tests of the mutations start it.

import { Recording, recordingFrom } from "./recording.ts";
import { runSimulation } from "./run-simulation.ts";
import { fromLine } from "./variants.ts";

/** The output of the worker for one seed. */
export interface SeedResult {
  readonly seed: number;
  readonly invariants: readonly number[];
  readonly texts: readonly string[];
  readonly failure?: string;
  /** Absent after an error. */
  readonly figures?: {
    readonly virtualSeconds: number;
    readonly processorSeconds: number;
    /** The number of writes and requests, each checked against all invariants that concern it. */
    readonly checked: number;
    readonly disruptions: number;
  };
  /** The difference between the run and its recording by another revision. */
  readonly difference?: string | undefined;
}

const ignored = (process.env["FAIRLEAD_IGNORE"] ?? "").split(",").filter(Boolean).map(Number);

const folders = recordingFrom(process.env);

const resultOf = async (line: string): Promise<SeedResult> => {
  const { seed, ...chosen } = fromLine(line);
  const recording = folders && new Recording(folders, line);
  const before = process.cpuUsage();
  try {
    const outcome = await runSimulation({ seed, ignored, ...chosen, record: recording?.record });
    const { violations, virtualSeconds, checked, disruptions } = outcome;
    const { user, system } = process.cpuUsage(before);
    const figures = { virtualSeconds, processorSeconds: (user + system) / 1e6, checked, disruptions };
    const difference = await recording?.end();
    const invariants = [...new Set(violations.map(({ invariant }) => invariant))];
    const texts = violations.map(({ invariant, at, text }) => `${invariant} at ${at / 1000} s: ${text}`);
    return { seed, invariants, texts, difference, figures };
  } catch (error) {
    const failure = error instanceof Error ? (error.stack ?? error.message) : String(error);
    return { seed, invariants: [], texts: [], failure };
  }
};

for await (const line of console) {
  if (line !== "") process.stdout.write(`${JSON.stringify(await resultOf(line))}\n`);
}
