// The simulated cloud: one project of Hetzner Cloud below `/v1`, and Robot elsewhere, with tokens and their own kinds of faults.

import { type Milliseconds, seconds } from "#ccm";
import {
  type Answer,
  type Clock,
  type CloudFault,
  type CommonFault,
  commonFaults,
  type Delivery,
  RequestLimit,
  SimulatedApi,
  type SimulatedRequest,
} from "#ccm/testing";
import { allHandlers, operationOf } from "./api/handlers.ts";
import type { Handlers } from "./api/request.ts";
import { errorStatuses, Refusal } from "./base/answer.ts";
import { type ListLie, listLies } from "./base/listing.ts";
import { Robot, type RobotOptions } from "./robot.ts";
import { Project } from "./state/project.ts";

export type Permission = "read" | "read-write";

export class Tokens {
  readonly #byToken = new Map<string, Permission>();
  #isStrict = false;
  /** The code of a change with a token for reading. The API returned `token_readonly` until 2026. */
  readonlyCode: "forbidden" | "token_readonly" = "forbidden";

  /** Until a token is added, every token is valid. */
  add(token: string, permission: Permission = "read-write"): void {
    this.#byToken.set(token, permission);
  }

  revoke(token: string): void {
    this.#byToken.delete(token);
    this.#isStrict = true;
  }

  /** Throws a Refusal unless the request is allowed. */
  check(authorization: string | undefined, method: string): void {
    const token = /^Bearer (\S+)$/i.exec(authorization ?? "")?.[1];
    const isOpen = this.#byToken.size === 0 && !this.#isStrict;
    const permission = token === undefined ? undefined : isOpen ? "read-write" : this.#byToken.get(token);
    if (permission === undefined) throw new Refusal("unauthorized", "unable to authenticate");
    if (permission === "read" && method !== "GET")
      throw new Refusal(this.readonlyCode, "the token is only allowed to perform GET requests");
  }
}

/** The faults of every cloud, and the lies of listings. */
export type FaultKind = CommonFault | ListLie;
export const faultKinds: readonly FaultKind[] = [...commonFaults, ...listLies];
export type Fault = CloudFault<FaultKind>;

export interface HetznerOptions {
  readonly clock: Clock;
  /** How long an action takes; default 1 s. Zero: it ends with the request. */
  readonly actionTime?: Milliseconds;
  readonly latency?: Milliseconds;
  /** Default 3,600, as in the real cloud. */
  readonly requestsPerHour?: number;
  readonly robot?: Partial<RobotOptions>;
}

export class HetznerCloud extends SimulatedApi<FaultKind> {
  readonly project: Project;
  readonly robot: Robot;
  readonly rateLimit: RequestLimit;
  readonly tokens = new Tokens();
  readonly #handlers: Handlers;

  constructor({ clock, actionTime, latency, requestsPerHour = 3600, robot }: HetznerOptions) {
    super({ clock, latency }, faultKinds);
    this.project = new Project(clock, actionTime ?? seconds(1));
    this.robot = new Robot(clock, this.project.robot, {
      ...{ user: "robot", password: "robot", requestsPerHour: 200 },
      ...robot,
    });
    this.rateLimit = new RequestLimit(clock, requestsPerHour);
    this.#handlers = allHandlers(this.project);
  }

  /** Ends the actions that are due, as the next request would. */
  settle(): void {
    this.project.actions.settle();
  }

  /** Requests to Robot have operations such as `robot GET /server`. */
  receive(request: SimulatedRequest): Delivery {
    this.settle();
    const { method, url, authorization } = request;
    const isCloud = url.pathname.startsWith("/v1/");
    const pathname = isCloud ? url.pathname.slice("/v1".length) : url.pathname;
    const { name, ...ids } = operationOf(method, pathname);
    const operation = isCloud ? name : `robot ${name}`;
    const fault = this.faults.next(operation);
    const serve = () =>
      isCloud ? this.#serve(request, name, ids, fault) : this.robot.handle(name, ids.id, authorization);
    return this.respond(request, { operation, path: pathname + url.search, fault, serve }, () => ({
      "x-correlation-id": `${this.seen.length}`,
      ...(isCloud && this.rateLimit.headers()),
    }));
  }

  protected injected({ status = 503, code }: Fault): Answer {
    const fitting = Object.entries(errorStatuses).find(([, each]) => each === status)?.[0];
    return {
      status,
      body: { error: { code: code ?? fitting ?? "server_error", message: "injected fault" } },
    };
  }

  #serve(
    { method, url, body, isMalformed, authorization }: SimulatedRequest,
    operation: string,
    ids: { readonly id: number; readonly actionID: number },
    fault: Fault | undefined,
  ): Answer {
    this.tokens.check(authorization, method);
    if (!this.rateLimit.take()) throw new Refusal("rate_limit_exceeded", "rate limit exceeded");
    const handler = this.#handlers[operation];
    if (handler === undefined) throw new Refusal("not_found", `${operation} not found`);
    if (isMalformed) throw new Refusal("json_error", "invalid JSON in the request");
    const lie: ListLie | undefined = listLies.find((each) => each === fault?.kind);
    const kind = ids.id === 0 ? "listings" : "lookups";
    const isHidden = (resource: { readonly id: number; readonly name: string }) =>
      this.faults.isHidden(resource, kind);
    return handler({ ...ids, query: url.searchParams, body, lie, isHidden });
  }
}
