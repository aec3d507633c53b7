// The simulated cloud: turns a request into a response synchronously, with time from the given clock. It only decides on
// delays and broken connections; `transport.ts` applies them.

import { type Milliseconds, milliseconds, seconds } from "#ccm";
import type { Clock } from "#ccm/testing";
import { allHandlers, operationOf } from "./api/handlers.ts";
import type { Handlers } from "./api/request.ts";
import { type Answer, errorStatuses, Refusal } from "./base/answer.ts";
import { type ListLie, listLies } from "./base/listing.ts";
import { type Fault, Faults } from "./faults.ts";
import { RateLimit } from "./rate-limit.ts";
import { Robot, type RobotOptions } from "./robot.ts";
import { Project } from "./state/project.ts";
import { Tokens } from "./tokens.ts";

export interface HetznerOptions {
  readonly clock: Clock;
  /** How long an action takes; default 1 s. Zero: it ends with the request. */
  readonly actionTime?: Milliseconds;
  readonly latency?: Milliseconds;
  /** Default 3,600, as in the real cloud. */
  readonly requestsPerHour?: number;
  readonly robot?: Partial<RobotOptions>;
}

export interface Query {
  readonly method: string;
  /** As in the URL, without `/v1` for the cloud. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** Undefined without a body, and `invalidJson` for one that is no JSON. */
  readonly body: unknown;
  readonly authorization: string | undefined;
}

export const invalidJson = Symbol("invalid JSON");

/** A response and how it is delivered. */
export interface Delivery {
  readonly answer: Answer;
  readonly delay: Milliseconds;
  readonly fate: "whole" | "cut" | "reset" | "refused" | "never";
}

/** A request that was handled. */
export interface Seen {
  /** Such as `GET /servers/{id}`; those to Robot are `robot GET /server`. */
  readonly operation: string;
  /** With ids and query. */
  readonly path: string;
  readonly mutates: boolean;
  readonly status: number;
  readonly body: unknown;
}

function injected({ status = 503, code }: Fault): Answer {
  const fitting = Object.entries(errorStatuses).find(([, each]) => each === status)?.[0];
  return { status, body: { error: { code: code ?? fitting ?? "server_error", message: "injected fault" } } };
}

const fates: Partial<Record<Fault["kind"], Delivery["fate"]>> = {
  ...{ hang: "never", reset: "reset", "lost-answer": "reset", refused: "refused", cut: "cut" },
};

export class HetznerCloud {
  readonly clock: Clock;
  readonly project: Project;
  readonly robot: Robot;
  readonly faults: Faults;
  readonly rateLimit: RateLimit;
  readonly tokens = new Tokens();
  /** All requests since the last `forget`, in order. */
  seen: Seen[] = [];
  latency: Milliseconds;
  readonly #handlers: Handlers;

  constructor({ clock, actionTime, latency, requestsPerHour = 3600, robot }: HetznerOptions) {
    this.clock = clock;
    this.latency = latency ?? milliseconds(0);
    this.project = new Project(clock, actionTime ?? seconds(1));
    this.robot = new Robot(clock, this.project.robot, {
      ...{ user: "robot", password: "robot", requestsPerHour: 200 },
      ...robot,
    });
    this.faults = new Faults(clock);
    this.rateLimit = new RateLimit(clock, requestsPerHour);
    this.#handlers = allHandlers(this.project);
  }

  /** The number of requests by operation. */
  counts(): Readonly<Record<string, number>> {
    const counts: Record<string, number> = {};
    for (const { operation } of this.seen) counts[operation] = (counts[operation] ?? 0) + 1;
    return counts;
  }

  /** The number of requests that are not GET. */
  get mutations(): number {
    return this.seen.filter(({ mutates }) => mutates).length;
  }

  /** Forgets the requests that were seen. */
  forget(): void {
    this.seen = [];
  }

  /** Ends the actions that are due, as the next request would. */
  settle(): void {
    this.project.actions.settle();
  }

  handle(query: Query, to: "cloud" | "robot" = "cloud"): Delivery {
    this.settle();
    const { name, id, actionID } = operationOf(query.method, query.path);
    const operation = to === "robot" ? `robot ${name}` : name;
    const fault = this.faults.next(operation);
    const serve = () =>
      to === "robot"
        ? this.robot.handle(name, id, query.authorization)
        : this.#serve(query, name, { id, actionID }, fault);
    const answer = this.#answer(serve, fault);
    const path = query.query.size === 0 ? query.path : `${query.path}?${query.query}`;
    const mutates = query.method !== "GET";
    this.seen.push({ operation, path, mutates, status: answer.status, body: query.body });
    const headers = {
      "x-correlation-id": `${this.seen.length}`,
      ...(to === "cloud" && this.rateLimit.headers()),
    };
    return {
      answer: { ...answer, headers: { ...headers, ...answer.headers } },
      delay: milliseconds(this.latency + (fault?.kind === "slow" ? (fault.milliseconds ?? 0) : 0)),
      fate: fates[fault?.kind ?? "slow"] ?? "whole",
    };
  }

  #answer(serve: () => Answer, fault: Fault | undefined): Answer {
    switch (fault?.kind) {
      case "reset":
      case "refused":
      case "hang":
        return { status: 599 };
      case "status":
        return injected(fault);
      case "page":
        return {
          status: fault.status ?? 502,
          body: "<html>proxy</html>",
          headers: { "content-type": "text/html" },
        };
    }
    try {
      const answer = serve();
      return fault?.kind === "false-error" ? injected(fault) : answer;
    } catch (error) {
      if (error instanceof Refusal) return error.toAnswer();
      throw error;
    }
  }

  #serve(
    { method, query, body, authorization }: Query,
    operation: string,
    ids: { readonly id: number; readonly actionID: number },
    fault: Fault | undefined,
  ): Answer {
    this.tokens.check(authorization, method);
    if (!this.rateLimit.take()) throw new Refusal("rate_limit_exceeded", "rate limit exceeded");
    const handler = this.#handlers[operation];
    if (handler === undefined) throw new Refusal("not_found", `${operation} not found`);
    if (body === invalidJson) throw new Refusal("json_error", "invalid JSON in the request");
    const lie: ListLie | undefined = listLies.find((each) => each === fault?.kind);
    const kind = ids.id === 0 ? "listings" : "lookups";
    const isHidden = (resource: { readonly id: number; readonly name: string }) =>
      this.faults.isHidden(resource, kind);
    return handler({ ...ids, query, body, lie, isHidden });
  }
}
