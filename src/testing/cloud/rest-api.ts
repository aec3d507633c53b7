// A simulated cloud as a table of operations: `"GET /v2/things/{id}": (request) => answer`. Finds the operation of a request,
// checks the token and the rate limit, and applies injected faults. Also contains the tokens and the delayed work of a simulated
// cloud.

import type { Milliseconds } from "../../core/brand.ts";
import type { Clock } from "../../platform/clock.ts";
import { type CloudFault, type CommonFault, commonFaults } from "./faults.ts";
import { type ListLie, listLies } from "./paging.ts";
import { Refused } from "./refused.ts";
import { type Answer, type Delivery, SimulatedApi, type SimulatedRequest } from "./simulated-api.ts";
import type { RequestLimit } from "./simulated-rate-limit.ts";

/** A request as an operation receives it. */
export interface OperationRequest {
  readonly url: URL;
  readonly query: URLSearchParams;
  /** The values of `{…}` in the path, in order. The first value is also the `id`. */
  readonly params: readonly string[];
  readonly id: string;
  readonly body: unknown;
  readonly fault: CloudFault<RestFault> | undefined;
  readonly lie: ListLie | undefined;
  /** The value of a header. */
  readonly header: (name: string) => string | undefined;
  /** Whether an injected fault hides this resource from this request. */
  readonly isHidden: (resource: { readonly id: number | string; readonly name: string }) => boolean;
}

/** The operations of a cloud by method and path, such as `GET /v2/things/{id}`. */
export type Operations = Readonly<Record<string, (request: OperationRequest) => Answer>>;

/** The operation of a request, and the values of the variable parts of its path. */
export interface Match {
  readonly operation: string;
  readonly params: readonly string[];
}

/** Finds the operation of a path. Segments that are not variable take precedence. */
export class OperationTable {
  readonly #operations: readonly { readonly name: string; readonly parts: readonly string[] }[];

  constructor(names: readonly string[]) {
    const variables = (name: string) => name.split("{").length;
    this.#operations = names
      .toSorted((one, other) => variables(one) - variables(other))
      .map((name) => ({ name, parts: name.split("/") }));
  }

  match(method: string, path: string): Match | undefined {
    const parts = `${method} ${path}`.split("/");
    for (const { name, parts: wanted } of this.#operations) {
      if (wanted.length !== parts.length) continue;
      const params: string[] = [];
      const matches = wanted.every((part, index) => {
        const actual = parts[index] ?? "";
        if (!part.startsWith("{")) return part === actual;
        params.push(decodeURIComponent(actual));
        return actual !== "";
      });
      if (matches) return { operation: name, params };
    }
    return undefined;
  }
}

/** The faults of every cloud, and the lies of listings. */
export type RestFault = CommonFault | ListLie;

/** A simulated cloud that consists of operations. A subclass adds its state and the format of rejections. */
export abstract class RestApi extends SimulatedApi<RestFault> {
  readonly tokens = new Tokens();
  /** Work that a request starts and a later request completes. */
  readonly later: DueWork;
  #table: OperationTable | undefined;

  constructor(options: ConstructorParameters<typeof SimulatedApi>[0]) {
    super(options, [...commonFaults, ...listLies]);
    this.later = new DueWork(options.clock);
  }

  protected abstract readonly operations: Operations;

  /** Rejects a request without valid credentials. By default, requires a bearer token. */
  protected authenticate({ authorization, method }: SimulatedRequest, _operation: string): void {
    this.tokens.check(authorization, method);
  }

  /** The common prefix of all paths, which operation names omit. */
  protected readonly base: string = "";

  /** The rate limits. The headers of each response show the first one. */
  protected abstract readonly limits: readonly RequestLimit[];

  /** The cloud's response for a rejection. */
  protected abstract refusal(refused: Refused): Answer;

  /** Completes due work, as the next request would. */
  settle(): void {
    this.later.settle();
  }

  /** The headers of each response. */
  protected headers(): Readonly<Record<string, string>> {
    return this.limits[0]?.headers() ?? {};
  }

  receive(request: SimulatedRequest): Delivery {
    this.settle();
    const { method, url } = request;
    this.#table ??= new OperationTable(Object.keys(this.operations));
    const pathname = url.pathname.slice(this.base.length);
    const match = this.#table.match(method, pathname);
    const operation = match?.operation ?? `${method} ${pathname}`;
    const fault = this.faults.next(operation);
    const serve = (): Answer => {
      try {
        return this.#serve(request, match, fault);
      } catch (error) {
        if (error instanceof Refused) return this.refusal(error);
        throw error;
      }
    };
    const path = pathname + url.search;
    return this.respond(request, { operation, path, fault, serve }, () => this.headers());
  }

  protected injected({ status = 503, code }: CloudFault<RestFault>): Answer {
    return this.refusal(new Refused(status, "injected fault", code));
  }

  #serve(
    request: SimulatedRequest,
    match: Match | undefined,
    fault: CloudFault<RestFault> | undefined,
  ): Answer {
    const { method, url, body, isMalformed, header = () => undefined } = request;
    this.authenticate(request, match?.operation ?? "");
    for (const limit of this.limits) if (!limit.take()) throw new Refused(429, "rate limit exceeded");
    const serve = this.operations[match?.operation ?? ""];
    if (match === undefined || serve === undefined)
      throw new Refused(404, `${method} ${url.pathname} is not an operation of this API`);
    if (isMalformed) throw new Refused(400, "the body is not JSON");
    const lie: ListLie | undefined = listLies.find((each) => each === fault?.kind);
    const { params } = match;
    const kind = params.length === 0 ? "listings" : "lookups";
    const isHidden: OperationRequest["isHidden"] = (resource) => this.faults.isHidden(resource, kind);
    const [id = ""] = params;
    return serve({ url, query: url.searchParams, params, id, body, fault, lie, header, isHidden });
  }
}

/** The access that a token grants. */
export type Permission = "read" | "read-write";

/** The tokens of a simulated account. */
export class Tokens {
  readonly #byToken = new Map<string, Permission>();
  #isStrict = false;

  /** Until a token is added or revoked, every token is valid. */
  add(token: string, permission: Permission = "read-write"): void {
    this.#byToken.set(token, permission);
  }

  revoke(token: string): void {
    this.#byToken.delete(token);
    this.#isStrict = true;
  }

  /** Throws unless the request is allowed: 401 for an unknown token, 403 for a change with a read token. */
  check(authorization: string | undefined, method: string): void {
    const token = /^Bearer (\S+)$/i.exec(authorization ?? "")?.[1];
    const isOpen = this.#byToken.size === 0 && !this.#isStrict;
    const permission = token === undefined ? undefined : isOpen ? "read-write" : this.#byToken.get(token);
    if (permission === undefined) throw new Refused(401, "unable to authenticate");
    if (permission === "read" && method !== "GET")
      throw new Refused(403, "the token is only allowed to perform GET requests");
  }
}

/**
 * Work of a simulated cloud that is completed later. There are no timers: `settle`, called by the next request, completes due
 * work.
 */
export class DueWork {
  readonly #clock: Clock;
  #pending: readonly { readonly due: number; readonly complete: () => void }[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Without a delay, the work is completed immediately. */
  add(delay: Milliseconds, complete: () => void): void {
    if (delay <= 0) complete();
    else this.#pending = [...this.#pending, { due: this.#clock.monotonic() + delay, complete }];
  }

  /** Completes due work, in the order in which it became due. */
  settle(): void {
    const now = this.#clock.monotonic();
    const due = this.#pending.filter((work) => work.due <= now);
    if (due.length === 0) return;
    this.#pending = this.#pending.filter((work) => work.due > now);
    for (const { complete } of due.toSorted((one, other) => one.due - other.due)) complete();
  }
}
