// Parses the request bodies of the admin API strictly. Any other body is rejected with 400 and the expected form, so
// that a typo never looks like success.

import { type Query, Refusal } from "./answer.ts";

/** The cloud reports for a while that this machine does not exist. */
export interface Lie {
  readonly machine: string;
  readonly milliseconds: number;
}

type Body = Readonly<Record<string, unknown>>;

export const expected = {
  add: '{"machines": ["name", …]} or {"count": 3, "prefix": "node-"}',
  machines: '{"machines": ["id or name", …]}',
  resize: '{"machines": ["id or name", …], "type": "large-4"}',
  lie: '{"machine": "id or name", "milliseconds": 60000}',
  pace: '{"latency": milliseconds} or {"actionTime": milliseconds} or both',
} as const;

const isNonEmpty = (value: unknown): value is string => typeof value === "string" && value !== "";
const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;
function areNonEmpty(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.length > 0 && value.every(isNonEmpty);
}

/** The body, if it has only these keys, with valid values. */
function read(
  { method, path, body }: Query,
  expectation: string,
  keys: Readonly<Record<string, (value: unknown) => boolean>>,
  isComplete: (body: Body) => boolean,
): Body {
  const isMap = typeof body === "object" && body !== null && !Array.isArray(body);
  const entries = isMap ? Object.entries(body) : [];
  const isValid = entries.every(([key, value]) => Object.hasOwn(keys, key) && keys[key]?.(value) === true);
  if (isMap && isValid && isComplete(body as Body)) return body as Body;
  const actual = body === undefined ? "nothing" : JSON.stringify(body).slice(0, 200);
  throw new Refusal(400, "invalid_request", `${method} ${path} expects ${expectation}; got ${actual}`);
}

export interface Addition {
  readonly machines?: readonly string[];
  readonly count?: number;
  readonly prefix?: string;
}

export function readAddition(query: Query): Addition {
  return read(
    query,
    expected.add,
    { machines: areNonEmpty, count: isCount, prefix: isNonEmpty },
    ({ machines, count }) => machines !== undefined || count !== undefined,
  );
}

export function readMachines(query: Query): readonly string[] {
  return read(query, expected.machines, { machines: areNonEmpty }, ({ machines }) => machines !== undefined)[
    "machines"
  ] as readonly string[];
}

export interface Resize {
  readonly machines: readonly string[];
  readonly type: string;
}

export function readResize(query: Query): Resize {
  return read(
    query,
    expected.resize,
    { machines: areNonEmpty, type: isNonEmpty },
    ({ machines, type }) => machines !== undefined && type !== undefined,
  ) as unknown as Resize;
}

export function readLie(query: Query): Lie {
  return read(
    query,
    expected.lie,
    { machine: isNonEmpty, milliseconds: isCount },
    ({ machine, milliseconds }) => machine !== undefined && milliseconds !== undefined,
  ) as unknown as Lie;
}

export function readPace(query: Query): { readonly latency?: number; readonly actionTime?: number } {
  return read(
    query,
    expected.pace,
    { latency: isCount, actionTime: isCount },
    ({ latency, actionTime }) => latency !== undefined || actionTime !== undefined,
  );
}
