// Reads sequences that Quint wrote in the Informal Trace Format, and replays them.

import { Replay } from "./replay.ts";
import { type Memory, type Model, memoryOf, type Row, stepOf } from "./vocabulary.ts";

type Value = string | number | boolean | readonly Value[] | { readonly [key: string]: Value | undefined };

interface State {
  readonly last: {
    readonly name: string;
    readonly ids: readonly number[];
    readonly arg: string;
    readonly outcome: string;
  };
  readonly m: Omit<Memory, "account"> & { readonly account: string };
}

/** Sets become sorted lists. */
function plain(value: Value): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== "object") return value;
  const { "#bigint": number, "#set": set, "#map": map, ...fields } = value as Record<string, Value>;
  if (number !== undefined) return Number(number);
  if (set !== undefined) return (set as readonly Value[]).map(plain).toSorted();
  if (map !== undefined) return plain(map);
  return Object.fromEntries(
    Object.entries(fields).map(([name, field]) => [name.replace(/^.*::/, ""), plain(field)]),
  );
}

const accountOf = (account: string): string => (account === "shown" || account === "none" ? "free" : account);

/** The sequence of a file that Quint wrote, without its first state. */
export function rowsOf(text: string): readonly Row[] {
  const { states } = JSON.parse(text) as { readonly states: readonly Value[] };
  return states.slice(1).map((state): Row => {
    const { last, m } = plain(state) as State;
    const { total, endedAt, held, account } = m;
    return [last.name, last.ids, last.arg, last.outcome, total, endedAt, held, accountOf(account)];
  });
}

export interface Difference {
  readonly index: number;
  readonly expected: Memory & { readonly outcome: string };
  readonly actual: Memory & { readonly outcome: string };
}

/** The first step after which the controllers do not agree with the model. */
export async function firstDifference(model: Model, rows: readonly Row[]): Promise<Difference | undefined> {
  const replay = new Replay(model);
  for (const [index, row] of rows.entries()) {
    const step = stepOf(row);
    const [outcome, memory] = await replay.apply(step);
    const expected = { outcome: step.outcome, ...memoryOf(row) };
    const actual = { outcome, ...memory };
    if (!Bun.deepEquals(actual, expected)) return { index, expected, actual };
  }
  return undefined;
}

/** The recorded sequences. `npm run model -- --record` writes them. */
export async function recordedTraces(model: Model): Promise<readonly (readonly Row[])[]> {
  const lines = await Bun.file(new URL("traces.jsonl", import.meta.url)).text();
  const all = lines
    .trimEnd()
    .split("\n")
    .map((line): Trace => JSON.parse(line));
  return all.flatMap((trace) => (trace.model === model ? [trace.rows] : []));
}

interface Trace {
  readonly model: Model;
  readonly rows: readonly Row[];
}
