// The bodies that the admin API takes, read strictly: a body that is another one is answered with 400, what was expected
// and what came, since an order that does nothing would pass for one that was carried out.

import { type Query, Refusal } from "./answer.ts";
import { type Fault, faultKinds, type Lie } from "./faults.ts";

type Body = Readonly<Record<string, unknown>>;

export const expected = {
  add: '{"machines": ["name", …]} or {"count": 3, "prefix": "node-"}',
  machines: '{"machines": ["id or name", …]}',
  fault: `{"kind": one of ${faultKinds.join(", ")}} and, if wanted, "operation": "GET /machines", "after", "calls", "status", "milliseconds"`,
  lie: '{"machine": "id or name", "milliseconds": 60000}',
  pace: '{"latency": milliseconds} or {"actionTime": milliseconds} or both',
} as const;

const isText = (value: unknown): value is string => typeof value === "string" && value !== "";
const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;
function areTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.length > 0 && value.every(isText);
}

/** The body if it has no other keys than these and each that is there is as wanted. */
function read(
  { method, path, body }: Query,
  what: string,
  keys: Readonly<Record<string, (value: unknown) => boolean>>,
  needs: (body: Body) => boolean,
): Body {
  const isMap = typeof body === "object" && body !== null && !Array.isArray(body);
  const entries = isMap ? Object.entries(body) : [];
  const isRight = entries.every(([key, value]) => Object.hasOwn(keys, key) && keys[key]?.(value) === true);
  if (isMap && isRight && needs(body as Body)) return body as Body;
  const came = body === undefined ? "nothing" : JSON.stringify(body).slice(0, 200);
  throw new Refusal(400, "invalid_order", `${method} ${path} expects ${what}; got ${came}`);
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
    { machines: areTexts, count: isCount, prefix: isText },
    ({ machines, count }) => machines !== undefined || count !== undefined,
  );
}

export function readMachines(query: Query): readonly string[] {
  return read(query, expected.machines, { machines: areTexts }, ({ machines }) => machines !== undefined)[
    "machines"
  ] as readonly string[];
}

export function readFault(query: Query): Fault {
  return read(
    query,
    expected.fault,
    {
      kind: (value) => faultKinds.some((kind) => kind === value),
      operation: isText,
      ...{ after: isCount, calls: isCount, status: isCount, milliseconds: isCount },
    },
    ({ kind }) => kind !== undefined,
  ) as unknown as Fault;
}

export function readLie(query: Query): Lie {
  return read(
    query,
    expected.lie,
    { machine: isText, milliseconds: isCount },
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
