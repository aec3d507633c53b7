// The simulated cloud: one project of Hetzner Cloud below `/v1`, and Robot elsewhere, each with its own tokens and kinds of
// faults.

import { type Milliseconds, seconds } from "#ccm";
import {
  type Answer,
  type Clock,
  type Delivery,
  type Operations,
  OperationTable,
  type Refused,
  RequestLimit,
  RestApi,
  type SimulatedRequest,
} from "#ccm/testing";
import { allHandlers, operationsOf } from "./api/handlers.ts";
import { type ErrorCode, toAnswer } from "./base/answer.ts";
import { Robot, type RobotOptions } from "./robot.ts";
import { Project } from "./state/project.ts";

export interface HetznerOptions {
  readonly clock: Clock;
  /** The duration of an action; default 1 s. With zero, the action ends with the request. */
  readonly actionTime?: Milliseconds;
  readonly latency?: Milliseconds;
  /** Default 3,600, as in the real cloud. */
  readonly requestsPerHour?: number;
  readonly robot?: Partial<RobotOptions>;
}

const robotTable = new OperationTable(["GET /server", "GET /server/{id}", "GET /reset/{id}"]);

export class HetznerCloud extends RestApi {
  readonly project: Project;
  readonly robot: Robot;
  readonly rateLimit: RequestLimit;
  /** The code of a change with a read-only token. The API returned `token_readonly` until 2026. */
  readonlyCode: ErrorCode = "forbidden";
  protected readonly limits: readonly RequestLimit[];
  protected readonly operations: Operations;
  protected override readonly base = "/v1";

  constructor({ clock, actionTime, latency, requestsPerHour = 3600, robot }: HetznerOptions) {
    super({ clock, latency });
    this.project = new Project(clock, actionTime ?? seconds(1));
    this.robot = new Robot(clock, this.project.robot, {
      user: "robot",
      password: "robot",
      requestsPerHour: 200,
      ...robot,
    });
    this.rateLimit = new RequestLimit(clock, requestsPerHour);
    this.limits = [this.rateLimit];
    this.operations = operationsOf(allHandlers(this.project));
  }

  /** Ends the actions that are due, as the next request would. */
  override settle(): void {
    this.project.actions.settle();
  }

  /** Requests to Robot have operations such as `robot GET /server`. */
  override receive(request: SimulatedRequest): Delivery {
    const { method, url, authorization } = request;
    if (url.pathname.startsWith(`${this.base}/`)) return super.receive(request);
    this.settle();
    const match = robotTable.match(method, url.pathname);
    const name = match?.operation ?? `${method} ${url.pathname}`;
    const operation = `robot ${name}`;
    const fault = this.faults.next(operation);
    const serve = () => this.robot.handle(name, Number(match?.params[0] ?? 0), authorization);
    return this.respond(request, { operation, path: url.pathname + url.search, fault, serve }, () => ({
      "x-correlation-id": `${this.seen.length}`,
    }));
  }

  protected refusal(refused: Refused): Answer {
    return toAnswer(refused, this.readonlyCode);
  }

  protected override headers(): Readonly<Record<string, string>> {
    return { "x-correlation-id": `${this.seen.length}`, ...super.headers() };
  }
}
