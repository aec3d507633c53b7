// `npm run fuzz`: runs parsers and handlers with mutated inputs, and prints each failure with the
// command that repeats it, and the input that took the most processor time. With --pump, repeats
// parts of inputs, and prints those whose time grows more than in proportion to their size.

import { seededRandom } from "../src/platform/random.ts";
import { checkInput, corpusOf, type FuzzTarget, fuzz } from "../test/fuzz/target.ts";
import { targets } from "../test/fuzz/targets/index.ts";
import { commandLine, oneNamed, orFail, wholeNumber } from "./command-line.ts";

const usage = `Usage: npm run fuzz -- [--seed N] [--runs N] [--path PATH] [--pump] [TARGET …]

Runs all targets, or those that are named, with mutations of valid inputs.
  --seed N     of the random numbers (1)
  --runs N     inputs of each target (2000)
  --path PATH  repeats one failure
  --pump       repeats parts of inputs instead, and measures how the processor time grows
Targets: ${targets.map(({ name }) => name).join(", ")}
`;
const { values, positionals } = commandLine(
  usage,
  {
    seed: { type: "string", default: "1" },
    runs: { type: "string", default: "2000" },
    path: { type: "string" },
    pump: { type: "boolean", default: false },
  },
  targets.length,
);
const seed = wholeNumber("seed", values.seed);
const runs = wholeNumber("runs", values.runs, 1);
const chosen =
  positionals.length === 0
    ? targets
    : positionals.map((name) => orFail(() => oneNamed("target", name, targets)));

/** Processor time since a moment, in milliseconds. */
function timeSince(moment: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(moment);
  return (user + system) / 1000;
}

/** Work that takes longer, in milliseconds, delays a renewal of the Lease. */
const limit = 100;
const excerpt = (input: string): string => JSON.stringify(input.slice(0, 150));

/** The input that took the most processor time. */
class Slowest {
  readonly #began = process.cpuUsage();
  #moment = this.#began;
  #last: string | undefined;
  #slowest = "";
  #time = 0;

  begins(input: string): void {
    this.ends();
    this.#last = input;
    this.#moment = process.cpuUsage();
  }

  ends(): void {
    const took = timeSince(this.#moment);
    if (this.#last !== undefined && took > this.#time) [this.#slowest, this.#time] = [this.#last, took];
  }

  get text(): string {
    const what = this.#time > limit ? `: ${excerpt(this.#slowest)}` : "";
    const all = (timeSince(this.#began) / 1000).toFixed(1);
    return `${all} s, the longest ${this.#time.toFixed(0)} ms with ${this.#slowest.length} characters${what}`;
  }
}

/** The smallest of three measurements, because a measurement includes garbage collection and the compiler. */
async function timeOf(target: FuzzTarget, input: string, from: number): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let attempt = 0; attempt < 3 && least > limit; attempt += 1) {
    const moment = process.cpuUsage();
    await checkInput(target, input, from);
    least = Math.min(least, timeSince(moment));
  }
  return least;
}

/** Linear work takes four times as long for four times the size, and quadratic work sixteen times. */
const tooMuch = 9;
const sizes = [2_000, 8_000, 32_000, 128_000] as const;

/** The first input whose processor time grows more than it does. */
async function pump(target: FuzzTarget, slow: Slowest): Promise<string | undefined> {
  const random = seededRandom(seed);
  const below = (most: number): number => Math.floor(random.fraction() * most);
  const corpus = await corpusOf(target);
  for (let run = 0; run < runs / 20; run += 1) {
    const index = below(corpus.length);
    const text = corpus[index] ?? "";
    const [from, length] = [below(text.length), 1 + below(random.fraction() < 0.5 ? 3 : 60)];
    const part =
      random.fraction() < 0.3 ? (fillers[below(fillers.length)] ?? "") : text.slice(from, from + length);
    let before = Number.POSITIVE_INFINITY;
    for (const size of sizes) {
      const input = text.slice(0, from) + part.repeat(Math.ceil(size / part.length)) + text.slice(from);
      slow.begins(input);
      const time = await timeOf(target, input, index);
      if (time > limit && time > before * tooMuch)
        return `${target.name}: ${input.length} characters take ${time.toFixed(0)} ms, a quarter of them ${before.toFixed(0)} ms. ${JSON.stringify(part)} is repeated after ${JSON.stringify(text.slice(0, from))}.`;
      before = time;
    }
  }
  return undefined;
}

const fillers = [
  " ",
  "\t",
  "\n",
  "\\\n",
  "\r\n",
  "[",
  "{",
  "(",
  '"',
  "\\",
  "#",
  ",",
  "a",
  "0",
  "- ",
  "  x:\n",
  "\u2028",
];

let failures = 0;
for (const target of chosen) {
  const slow = new Slowest();
  const failure = values.pump
    ? await pump(target, slow)
    : await fuzz(target, { seed, runs, path: values.path }, (input) => slow.begins(input));
  slow.ends();
  if (failure !== undefined) {
    failures += 1;
    process.stdout.write(`${failure}\n\n`);
  }
  process.stdout.write(`${target.name}: ${slow.text}\n`);
}
process.exit(failures > 0 ? 1 : 0);
