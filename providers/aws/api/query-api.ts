// AWS's Query APIs: requests are signed forms, and responses are XML. A request names an action of the service and has the parameters
// of AWS's API reference.

import {
  type BodyFormat,
  type Call,
  type CloudTransport,
  type Context,
  codeOf,
  collect,
  type ErrorReport,
  type Fetched,
  type JsonApi,
  type JsonRequest,
  jsonApi,
  pagesByCursor,
  readXml,
} from "#ccm";
import { kindOfCode, mayBeClock } from "./error-codes.ts";
import { type AccessKey, signed } from "./signature.ts";

/** A parameter. A list is numbered from 1 on; a record has its names after a dot. */
export type Parameter =
  | string
  | number
  | boolean
  | undefined
  | readonly Parameter[]
  | { readonly [name: string]: Parameter };

/** Request parameters, by their names in AWS's API reference. */
export type Parameters = Readonly<Record<string, Parameter>>;

/** An access key, and the region of requests. */
export interface Session {
  readonly key: AccessKey;
  readonly region: string;
}

/** Where a service is, and what its signatures are valid for. */
export interface Endpoint {
  readonly url: string;
  readonly signingName: string;
  readonly signingRegion: string;
}

/** One of AWS's services. */
export interface Service<A extends string> {
  /** The name in `[ServiceOverride]`. */
  readonly name: string;
  /** The name of its account, in messages and metrics. */
  readonly account: string;
  /** The name in hosts, in permissions and in signatures. */
  readonly id: string;
  readonly version: string;
  /** The separator before the index of a list entry; empty for EC2. */
  readonly entry?: "member";
  readonly actions: Readonly<Record<A, unknown>>;
}

/** How the pages of an action are requested. */
export interface Paging {
  /** The member of the response with the entries. */
  readonly list: string;
  /** The parameter with the size of a page, and its value. If absent, AWS decides. */
  readonly size?: Parameters;
  /** The names of the cursor in requests and responses. */
  readonly cursor: readonly [request: string, response: string];
}

function* fields(
  name: string,
  value: Parameter,
  entry: Service<string>["entry"],
): Generator<readonly [string, string]> {
  if (value === undefined) return;
  if (typeof value !== "object") yield [name, String(value)];
  else if (Array.isArray(value)) {
    // No request of EC2 distinguishes an empty list from an absent one.
    if (value.length === 0 && entry !== undefined) yield [name, ""];
    const list = entry === undefined ? name : `${name}.${entry}`;
    for (const [index, one] of (value as readonly Parameter[]).entries())
      yield* fields(`${list}.${index + 1}`, one, entry);
  } else for (const [inner, one] of Object.entries(value)) yield* fields(`${name}.${inner}`, one, entry);
}

function formatOf(entry: Service<string>["entry"]): BodyFormat {
  return {
    name: "XML",
    accept: "application/xml",
    contentType: "application/x-www-form-urlencoded; charset=utf-8",
    write: (body) => {
      const form = new URLSearchParams();
      for (const [name, one] of Object.entries(body as Parameters))
        for (const [field, value] of fields(name, one, entry)) form.append(field, value);
      return form.toString();
    },
    parse: (text) => readXml(text, { entries: ["item", "member"] }),
  };
}

interface AwsError {
  readonly Code?: string | null;
  readonly Message?: string | null;
}

/** EC2 returns a list of errors in `Response`; other services return a single error in `ErrorResponse`. */
function errorIn(body: unknown): AwsError | undefined {
  const { Response, ErrorResponse } = Object(body) as {
    readonly Response?: { readonly Errors?: { readonly Error?: AwsError } };
    readonly ErrorResponse?: { readonly Error?: AwsError };
  };
  return Response?.Errors?.Error ?? ErrorResponse?.Error;
}

function readError(body: unknown): ErrorReport | undefined {
  const error = errorIn(body);
  const { Code: code, Message: message } = error ?? {};
  if (!code) return error && {};
  return { message: `${message ?? "no message"} [${code}]`, code, kind: kindOfCode(code) };
}

/** The difference between AWS's clock and this machine's clock, from the last request that was rejected because of its timestamp. */
class ClockDifference {
  #milliseconds = 0;
  #signedAt: number | undefined;

  timeFor(now: number): number {
    this.#signedAt = now;
    return now + this.#milliseconds;
  }

  learn(date: string | null): void {
    const actual = Date.parse(date ?? "");
    if (!Number.isNaN(actual) && this.#signedAt !== undefined) this.#milliseconds = actual - this.#signedAt;
  }
}

/** State that the services of a cloud share. */
export interface Access {
  /** Gets an access key. */
  session(plain: CloudTransport, call: Call): Promise<Fetched<Session>>;
  endpointOf(service: Service<string>, region: string): Endpoint;
}

/** A client without the parts that are the same in every request. */
function clientOf(service: Service<string>, base: string, transport: CloudTransport): JsonApi {
  const requestIDHeaders = ["x-amzn-requestid"];
  return jsonApi({
    base,
    transport,
    format: formatOf(service.entry),
    readError,
    requestIDHeaders,
  });
}

/** Sends a request; returns the members of the response. */
async function send<T extends object>(
  api: JsonApi,
  { version, entry }: Service<string>,
  action: string,
  { parameters, headers }: { readonly parameters: Parameters; readonly headers?: JsonRequest["headers"] },
  call: Call,
): Promise<T> {
  const root = `${action}Response`;
  const request = { operation: action, method: "POST", path: "/", headers, expects: [root] } as const;
  const body = await api.call<Readonly<Record<string, Readonly<Record<string, unknown>> | null>>>(
    {
      ...request,
      mutates: !/^(Describe|AssumeRole)/.test(action),
      body: { Action: action, Version: version, ...parameters },
    },
    call,
  );
  const result = entry === undefined ? body[root] : body[root]?.[`${action}Result`];
  return (result ?? {}) as T;
}

/** Sends a request that has no signature. */
export function callUnsigned<T extends object, A extends string>(
  service: Service<A>,
  url: string,
  { action, parameters }: { readonly action: A; readonly parameters: Parameters },
  plain: CloudTransport,
  call: Call,
): Promise<T> {
  return send(clientOf(service, url, plain), service, action, { parameters }, call);
}

/** A service with a separate account, so that its outage does not affect other services. */
export class QueryApi<A extends string> {
  readonly #service: Service<A>;
  readonly #api: (call: Call) => Promise<JsonApi>;

  constructor(service: Service<A>, { session, endpointOf }: Access, account: Context["account"]) {
    this.#service = service;
    const clock = new ClockDifference();
    const opened = account<Session>({
      name: service.account,
      fetch: session,
      sign: (request, { key, region }, now) => {
        const { signingName, signingRegion } = endpointOf(service, region);
        return signed(request, key, { service: signingName, region: signingRegion }, clock.timeFor(now));
      },
    });
    const transport: CloudTransport = (request, call, read) =>
      opened.transport(request, call, async (response) => {
        try {
          return await read(response);
        } catch (error) {
          // The error is `unauthorized`, so the account signs the request again.
          if (mayBeClock(codeOf(error))) clock.learn(response.headers.get("date"));
          throw error;
        }
      });
    this.#api = async (call) => {
      const { region } = await opened.credential(call);
      return clientOf(service, endpointOf(service, region).url, transport);
    };
  }

  /** Sends a request; returns the members of the response. */
  async call<T extends object>(
    action: A,
    parameters: Parameters,
    call: Call,
    headers?: JsonRequest["headers"],
  ): Promise<T> {
    return send(await this.#api(call), this.#service, action, { parameters, headers }, call);
  }

  /** The pages of a listing. It throws when the list is missing in one of them. */
  pages<T>(
    action: A,
    parameters: Parameters,
    { list, size = {}, cursor: [parameter, member] }: Paging,
    call: Call,
  ): AsyncGenerator<readonly T[], void, undefined> {
    return pagesByCursor<T>({ operation: action }, async (cursor) => {
      const all = { ...parameters, ...size, [parameter]: cursor };
      const body = await this.call<Readonly<Record<string, unknown>>>(action, all, call);
      // An empty element is an empty list.
      const items = body[list] === null ? [] : (body[list] as readonly T[] | undefined);
      return { items, next: body[member] as string | null | undefined };
    });
  }

  /** The entries of a response that has no pages. */
  async entries<T>(action: A, parameters: Parameters, list: string, call: Call): Promise<readonly T[]> {
    const body = await this.call<Readonly<Record<string, readonly T[] | null>>>(action, parameters, call);
    return body[list] ?? [];
  }

  /** All entries of a listing. */
  list<T>(action: A, parameters: Parameters, paging: Paging, call: Call): Promise<readonly T[]> {
    return collect(this.pages<T>(action, parameters, paging, call));
  }
}
