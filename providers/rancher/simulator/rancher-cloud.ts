// The simulated Rancher: its keys, the failures that tests cause, and the mapping of requests to operations.

import { type Milliseconds, seconds } from "#ccm";
import {
  type Answer,
  type Clock,
  type CloudFault,
  type Delivery,
  SimulatedApi,
  type SimulatedRequest,
} from "#ccm/testing";
import { type ApiRequest, serve, viewsOf } from "./api/requests.ts";
import type { CollectionType } from "./api/schemas.ts";
import type { View } from "./api/views.ts";
import { Events } from "./events.ts";
import { Refusal } from "./refusal.ts";
import { Environment } from "./state/environment.ts";

export interface RancherOptions {
  readonly clock: Clock;
  /** How long a service stays in each state; default 1 s. */
  readonly stateTime?: Milliseconds;
  readonly latency?: Milliseconds;
  /** Maximum rows per page, regardless of the request; default 3,000. */
  readonly maxLimit?: number;
}

const keyIn = (authorization: string | undefined): string | undefined =>
  /^Basic (\S+)$/i.exec(authorization ?? "")?.[1];

export class RancherCloud extends SimulatedApi {
  readonly environment: Environment;
  /** The server side of the event socket. */
  readonly events = new Events(this);
  maxLimit: number;
  /** Tests set this to disable a listing's filters, or `include`. */
  ignoresFilters = false;
  ignoresInclude = false;
  readonly #keys = new Set<string>();
  readonly #accountKeys = new Set<string>();
  #withholdsUntil = Number.NEGATIVE_INFINITY;
  #withheldPolls = 0;

  constructor({ clock, stateTime = seconds(1), latency, maxLimit = 3000 }: RancherOptions) {
    super({ clock, latency });
    this.maxLimit = maxLimit;
    this.environment = new Environment(clock, stateTime);
  }

  /** Until a key is added, every key is valid. */
  addKey(access: string, secret: string): void {
    this.#keys.add(Buffer.from(`${access}:${secret}`).toString("base64"));
  }

  /** An account key: it sees the account's environments, and has hosts and services only within an environment. */
  addAccountKey(access: string, secret: string): void {
    this.addKey(access, secret);
    this.#accountKeys.add(Buffer.from(`${access}:${secret}`).toString("base64"));
  }

  revokeKeys(): void {
    this.#keys.clear();
    this.#keys.add("none");
  }

  /** For some time, the action `activate` is neither offered nor accepted. */
  withholdActivate(time: Milliseconds): void {
    this.#withholdsUntil = this.clock.monotonic() + time;
  }

  /** Like `withholdActivate`, for the next requests that read services. */
  withholdActivateForPolls(count: number): void {
    this.#withheldPolls = count;
  }

  /** Ends the states that are due, as the next request would. */
  settle(): void {
    this.environment.services.settle();
  }

  /** The objects of a collection as the API shows them, without a request. */
  objects(type: CollectionType): readonly View[] {
    this.settle();
    const url = new URL("http://rancher/v2-beta");
    const request = { method: "GET", url, body: undefined, isMalformed: false, authorization: undefined };
    return viewsOf(type, this.#requestOf(request));
  }

  accepts(authorization: string | undefined): boolean {
    const key = keyIn(authorization);
    return key !== undefined && (this.#keys.size === 0 || this.#keys.has(key));
  }

  receive(received: SimulatedRequest): Delivery {
    this.settle();
    const request = this.#requestOf(received);
    const { method, url, collection, operation } = request;
    if (method === "GET" && /services$/i.test(collection)) this.#withheldPolls -= 1;
    const fault = this.faults.next(operation);
    return this.respond(received, {
      operation,
      path: url.pathname + url.search,
      fault,
      serve: () => {
        if (!this.accepts(received.authorization)) throw new Refusal("Unauthorized", "Unauthorized");
        if (received.isMalformed) throw new Refusal("InvalidBodyContent", "The body is not JSON");
        return serve(request);
      },
    });
  }

  protected injected({ status = 503, code = "ServerError" }: CloudFault): Answer {
    return { status, body: { type: "error", status, code, message: "injected fault", detail: null } };
  }

  #requestOf({ method, url, body, authorization }: SimulatedRequest): ApiRequest {
    const [, base = "/v2-beta", project, rest = ""] =
      /^(\/v2-beta(?:\/projects\/([^/]+)(?=\/|$))?)(.*)$/.exec(url.pathname) ?? [];
    const [collection = "", id, link] = rest.split("/").filter((part) => part !== "");
    const action = url.searchParams.get("action");
    const path = [collection, ...(id === undefined ? [] : ["{id}"]), ...(link === undefined ? [] : [link])];
    const operation = `${method} /${path.join("/")}${action === null ? "" : `?action=${action}`}`;
    const { environment, maxLimit, ignoresFilters, ignoresInclude } = this;
    const isActivateWithheld = this.clock.monotonic() < this.#withholdsUntil || this.#withheldPolls > 0;
    const isAccount = project === undefined && this.#accountKeys.has(keyIn(authorization) ?? "");
    const options = { environment, maxLimit, ignoresFilters, ignoresInclude, isActivateWithheld, isAccount };
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
}
