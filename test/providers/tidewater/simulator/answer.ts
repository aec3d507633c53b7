// Requests and responses of the simulated cloud, independent of HTTP. An error response is thrown as a Refusal.

export interface Query {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly body: unknown;
}

export interface Answer {
  readonly status: number;
  readonly body: unknown;
}

export class Refusal extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, text: string) {
    super(text);
    this.status = status;
    this.code = code;
  }

  toAnswer(): Answer {
    return { status: this.status, body: { fault: { code: this.code, text: this.message } } };
  }
}

type Checks = Readonly<Record<string, (value: unknown) => boolean>>;

export const isText = (value: unknown): boolean => typeof value === "string" && value !== "";
export const isTextList = (value: unknown): boolean => Array.isArray(value) && value.every(isText);

/** The body, if it has these members with valid values and no others. */
export function readBody<T>(body: unknown, required: Checks, optional: Checks = {}): T {
  const checks = { ...required, ...optional };
  const entries = Object.entries(typeof body === "object" && body !== null ? body : {});
  const names = entries.map(([name]) => name);
  const wrong =
    Object.keys(required).find((name) => !names.includes(name)) ??
    entries.find(([name, value]) => checks[name]?.(value) !== true)?.[0];
  if (wrong !== undefined) throw new Refusal(400, "bad_body", `${wrong} is missing, invalid or unknown`);
  return body as T;
}

/** One page of a listing; `next` is the path of the next one. */
export function pageOf(all: readonly unknown[], pageSize: number, { path, query }: Query): Answer {
  const from = Number(query.get("from") ?? 0);
  if (!Number.isSafeInteger(from)) throw new Refusal(400, "bad_cursor", "from is not a cursor");
  const end = from + pageSize;
  const next = end < all.length ? `${path}?from=${end}` : null;
  return { status: 200, body: { entries: all.slice(from, end), total: all.length, next } };
}
