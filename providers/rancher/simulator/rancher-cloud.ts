// The simulated Rancher: turns a request into a response synchronously, with time from the given clock. It only decides on
// delays and broken connections; `transport.ts` applies them.

import { type Milliseconds, milliseconds, seconds } from "#ccm";
import type { Clock } from "#ccm/testing";
import { type ApiRequest, type Served, serve } from "./api/requests.ts";
import { Events } from "./events.ts";
import { type Fault, Faults } from "./faults.ts";
import { Refusal } from "./refusal.ts";
import { Environment } from "./state/environment.ts";

export interface RancherOptions {
  readonly clock: Clock;
  /** How long each state of a service lasts; default 1 s. */
  readonly stateTime?: Milliseconds;
  readonly latency?: Milliseconds;
  /** Rows on a page at most, whatever the client asks for; default 3,000. */
  readonly maxLimit?: number;
}

export interface Query {
  readonly method: string;
  readonly url: URL;
  readonly body: unknown;
  /** There is a body, and it is no JSON. */
  readonly isMalformed?: boolean;
  readonly authorization: string | undefined;
}

/** A response and how it is delivered. */
export interface Delivery extends Served {
  readonly delay: Milliseconds;
  readonly fate: "whole" | "reset" | "never";
}

/** A request that was handled. */
export interface Seen {
  /** Such as `GET /hosts` or `POST /loadBalancerServices/{id}?action=activate`. */
  readonly operation: string;
  readonly path: string;
  readonly mutates: boolean;
  readonly status: number;
  readonly body: unknown;
}

const keyIn = (authorization: string | undefined): string | undefined =>
  /^Basic (\S+)$/i.exec(authorization ?? "")?.[1];

export class RancherCloud {
  readonly clock: Clock;
  readonly environment: Environment;
  readonly faults = new Faults();
  /** The event socket. */
  readonly events = new Events(this);
  /** All requests since the last `forget`, in order. */
  seen: Seen[] = [];
  latency: Milliseconds;
  maxLimit: number;
  /** For tests: no filter of a listing has an effect, or `include` has none. */
  ignoresFilters = false;
  ignoresInclude = false;
  readonly #keys = new Set<string>();
  readonly #accountKeys = new Set<string>();
  #withholdsUntil = Number.NEGATIVE_INFINITY;
  #withheldPolls = 0;

  constructor({ clock, stateTime = seconds(1), latency, maxLimit = 3000 }: RancherOptions) {
    this.clock = clock;
    this.latency = latency ?? milliseconds(0);
    this.maxLimit = maxLimit;
    this.environment = new Environment(clock, stateTime);
  }

  /** Until a key is added, every key is valid. */
  addKey(access: string, secret: string): void {
    this.#keys.add(Buffer.from(`${access}:${secret}`).toString("base64"));
  }

  /** A key of an account: it sees its environments, and has hosts and services only within one. */
  addAccountKey(access: string, secret: string): void {
    this.addKey(access, secret);
    this.#accountKeys.add(Buffer.from(`${access}:${secret}`).toString("base64"));
  }

  revokeKeys(): void {
    this.#keys.clear();
    this.#keys.add("none");
  }

  /** For a while, the action `activate` is not offered, and refused. */
  withholdActivate(time: Milliseconds): void {
    this.#withholdsUntil = this.clock.monotonic() + time;
  }

  /** As `withholdActivate`, for the next requests that read services. */
  withholdActivateForPolls(count: number): void {
    this.#withheldPolls = count;
  }

  /** The number of requests since the last `forget`, by operation. */
  counts(): Readonly<Record<string, number>> {
    const counts: Record<string, number> = {};
    for (const { operation } of this.seen) counts[operation] = (counts[operation] ?? 0) + 1;
    return counts;
  }

  /** Ends the states that are due, as the next request would. */
  settle(): void {
    this.environment.services.settle();
  }

  forget(): void {
    this.seen = [];
  }

  /** The objects of a collection as the API shows them, without a request. */
  objects(collection: string): readonly unknown[] {
    this.settle();
    const url = new URL(`http://rancher/v2-beta/${collection}?limit=${this.maxLimit}`);
    const all: unknown[] = [];
    for (let next: URL | undefined = url; next !== undefined; ) {
      const query = { method: "GET", url: next, body: undefined, authorization: undefined };
      const { body } = serve(this.#requestOf(query), this.environment);
      const { data, pagination } = body as {
        readonly data: readonly unknown[];
        readonly pagination: { readonly next?: string | null } | null;
      };
      all.push(...data);
      next = pagination?.next ? new URL(pagination.next) : undefined;
    }
    return all;
  }

  accepts(authorization: string | undefined): boolean {
    const key = keyIn(authorization);
    return key !== undefined && (this.#keys.size === 0 || this.#keys.has(key));
  }

  handle(query: Query): Delivery {
    this.settle();
    const request = this.#requestOf(query);
    if (request.method === "GET" && /services$/i.test(request.collection)) this.#withheldPolls -= 1;
    const fault = this.faults.next(request.operation);
    const served = this.#serve(request, query, fault);
    const { method, url, body, operation } = request;
    const path = url.pathname + url.search;
    this.seen.push({ operation, path, mutates: method !== "GET", status: served.status, body });
    const isLost = fault?.kind === "reset" || fault?.kind === "lost-answer";
    return {
      ...served,
      delay: this.latency,
      fate: fault?.kind === "hang" ? "never" : isLost ? "reset" : "whole",
    };
  }

  #requestOf({ method, url, body, authorization }: Query): ApiRequest {
    const [, base = "/v2-beta", project, rest = ""] =
      /^(\/v2-beta(?:\/projects\/([^/]+)(?=\/|$))?)(.*)$/.exec(url.pathname) ?? [];
    const [collection = "", id, link] = rest.split("/").filter((part) => part !== "");
    const action = url.searchParams.get("action");
    const path = [collection, ...(id === undefined ? [] : ["{id}"]), ...(link === undefined ? [] : [link])];
    const operation = `${method} /${path.join("/")}${action === null ? "" : `?action=${action}`}`;
    const { maxLimit, ignoresFilters, ignoresInclude } = this;
    const isActivateWithheld = this.clock.monotonic() < this.#withholdsUntil || this.#withheldPolls > 0;
    const isAccount = project === undefined && this.#accountKeys.has(keyIn(authorization) ?? "");
    const options = { maxLimit, ignoresFilters, ignoresInclude, isActivateWithheld, isAccount };
    return {
      ...options,
      method,
      url,
      base: url.origin + base,
      project,
      operation,
      collection,
      id,
      link,
      action,
      body,
    };
  }

  #serve(request: ApiRequest, { authorization, isMalformed }: Query, fault: Fault | undefined): Served {
    if (fault?.kind === "reset" || fault?.kind === "hang") return { status: 599, body: undefined };
    if (fault?.kind === "page") return { status: 502, body: "<html>proxy</html>" };
    const { status = 503, code = "ServerError" } = fault ?? {};
    if (fault?.kind === "status")
      return { status, body: { type: "error", status, code, message: "injected fault", detail: null } };
    try {
      if (!this.accepts(authorization)) throw new Refusal("Unauthorized", "Unauthorized");
      if (isMalformed === true) throw new Refusal("InvalidBodyContent", "The body is no JSON");
      return serve(request, this.environment);
    } catch (error) {
      if (error instanceof Refusal) return { status: error.status, body: error.body };
      throw error;
    }
  }
}
