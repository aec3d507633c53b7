// A parser or handler under fuzz testing, and its property: for each input it returns, or throws one of its own errors, and
// the result is limited by the input.

import fc from "fast-check";
import { type Edit, edit, mutated } from "./mutate.ts";
import type { Form } from "./tree.ts";

export interface FuzzTarget {
  readonly name: string;
  readonly form: Form;
  /** Valid inputs, and inputs that once failed. Bytes are characters up to 0xff. A function creates them on first use. */
  readonly corpus: readonly string[] | (() => Promise<readonly string[]>);
  /** Returns the result for the input. `from`: the valid input from which it was derived. */
  readonly run: (input: string, from: number) => unknown;
  /** Whether callers expect the error, which states what is wrong. If unset, no error may be thrown. */
  readonly mayThrow?: (error: unknown) => boolean;
  /** The maximum number of JSON characters in the result for each character of the input. */
  readonly growth?: number;
  /** The cost of running this target once, in parser runs. */
  readonly cost?: number;
}

export const corpusOf = async ({ corpus }: FuzzTarget): Promise<readonly string[]> =>
  typeof corpus === "function" ? corpus() : corpus;

/** The size that an error message about an empty input may have. */
const smallest = 20_000;

const sizeOf = (result: unknown): number => {
  const text: string | undefined = JSON.stringify(result, (_, value) => {
    if (typeof value === "bigint") return String(value);
    return value instanceof Map || value instanceof Set ? [...value] : value;
  });
  return text?.length ?? 0;
};

/** Throws if the property does not hold for the input. */
export const checkInput = async (target: FuzzTarget, input: string, from: number): Promise<void> => {
  const { run, mayThrow, growth = 20 } = target;
  let result: unknown;
  try {
    result = await run(input, from);
  } catch (error) {
    if (mayThrow?.(error) === true) return;
    throw new Error(`It threw an error that its callers do not expect: ${String(error)}`, { cause: error });
  }
  const size = sizeOf(result);
  const most = smallest + growth * input.length;
  if (size > most)
    throw new Error(`It made ${size} characters of ${input.length}; at most ${most} are expected.`);
};

export interface FuzzRun {
  readonly seed: number;
  readonly runs: number;
  /** A fast-check path that repeats one failure. */
  readonly path?: string | undefined;
}

interface Drawn {
  readonly from: number;
  readonly edits: readonly Edit[];
}

const shown = (input: string): string =>
  JSON.stringify(input.length > 2000 ? `${input.slice(0, 2000)}…` : input);

/** Undefined if the property holds. Otherwise the failure, with the command that repeats it. */
export const fuzz = async (
  target: FuzzTarget,
  { seed, runs, path }: FuzzRun,
  onInput: (input: string) => void = () => undefined,
): Promise<string | undefined> => {
  const corpus = await corpusOf(target);
  const inputOf = ({ from, edits }: Drawn): string => mutated(corpus[from] ?? "", edits, target.form);
  const drawn: fc.Arbitrary<Drawn> = fc.record({
    from: fc.nat(Math.max(0, corpus.length - 1)),
    edits: fc.array(edit, { minLength: 1, maxLength: 6 }),
  });
  const property = fc.asyncProperty(drawn, async (one) => {
    const input = inputOf(one);
    onInput(input);
    await checkInput(target, input, one.from);
  });
  const options = { seed, numRuns: runs, ...(path !== undefined && { path, endOnFailure: true }) };
  const { failed, counterexample, counterexamplePath, errorInstance } = await fc.check(property, options);
  if (!failed) return undefined;
  const [one] = counterexample ?? [];
  const replay = `npm run fuzz -- ${target.name} --seed ${seed} --path ${counterexamplePath}`;
  const { message, cause } = errorInstance as Error;
  const stack = cause instanceof Error ? `\n${cause.stack}` : "";
  return `${target.name}: ${message}\nInput: ${one === undefined ? "none" : shown(inputOf(one))}\nRepeat it with: ${replay}${stack}`;
};
