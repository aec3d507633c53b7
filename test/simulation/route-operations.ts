// The fake cloud as one that accepts a change of a route and takes seconds to apply it. Its report about
// an operation may be incorrect, and it may forget the operation.

import type { Answer } from "#ccm/testing";
import { type Query, Refusal } from "../../providers/fake/simulator/answer.ts";
import { FakeCloud, type FakeCloudOptions, type Fault } from "../../providers/fake/simulator/fake-cloud.ts";
import type { SimulatedRoute } from "../../providers/fake/simulator/routes.ts";
import { milliseconds } from "../../src/core/brand.ts";
import { type JobState, jobStarted, pendingJobs } from "../../src/kit/job-operations.ts";
import { type JsonRequest, jsonApi } from "../../src/kit/json-api.ts";
import type { Random } from "../../src/platform/random.ts";
import type { Call, CloudTransport } from "../../src/provider/call.ts";
import { CloudError } from "../../src/provider/errors.ts";
import type { Pending } from "../../src/provider/plan.ts";
import type { RouteOutcome, RoutesOneByOne } from "../../src/provider/routes.ts";

type Route = Omit<SimulatedRoute, "id">;

/** How an operation proceeds. */
export interface Course {
  /** The time after which the operation ends and has its effect. */
  readonly takes: number;
  /** `without effect`: the operation only seems to be done. */
  readonly ends: "done" | "failed" | "without effect";
  /** The time after which the cloud does not know the operation any more. */
  readonly forgottenAfter?: number;
}

export interface Operation {
  readonly id: string;
  readonly do: "create" | "remove";
  readonly route: SimulatedRoute | Route;
  readonly course: Course;
  readonly beganAt: number;
  status: "running" | "done" | "failed";
  endedAt?: number;
  /** The time when a client last learned that the cloud works on the operation, or does not know it any more (monotonic). */
  newsAt: number;
}

/** Operations rarely take longer. */
const usualTime = { min: 500, max: 9_000 };

export class CloudWithRouteOperations extends FakeCloud {
  /** The courses of the next operations. */
  readonly next: Course[] = [];
  readonly operations: Operation[] = [];
  /** Called when an operation begins, and when a client learns that it is done. */
  onOperation: (operation: Operation, what: "began" | "done") => void = () => undefined;
  /** Whether the cloud rejects a change while it works on another one. */
  readonly oneAtATime: boolean;
  readonly #random: Random;

  constructor(options: FakeCloudOptions, random: Random, oneAtATime: boolean) {
    super(options);
    this.#random = random;
    this.oneAtATime = oneAtATime;
  }

  protected override serve(query: Query, operation: string, id: string, fault: Fault | undefined): Answer {
    const isWithoutEffect = fault?.kind === "no-effect";
    switch (operation) {
      case "POST /routes":
        return this.#begin("create", query.body as Route, isWithoutEffect);
      case "DELETE /routes/{id}": {
        const route = this.routes.list().find((one) => one.id === id);
        if (route === undefined) throw new Refusal(404, "not_found", `there is no route ${id}`);
        return this.#begin("remove", route, isWithoutEffect);
      }
      case "GET /operations":
        return this.#states(query.query.get("ids")?.split(",") ?? []);
    }
    return super.serve(query, operation, id, fault);
  }

  get #running(): readonly Operation[] {
    return this.operations.filter(({ status }) => status === "running");
  }

  #begin(what: Operation["do"], route: Operation["route"], isWithoutEffect: boolean): Answer {
    const isInTheWay = ({ route: other }: Operation): boolean =>
      this.oneAtATime || other.destination === route.destination;
    if (this.#running.some(isInTheWay)) throw new Refusal(423, "locked", "another change is in progress");
    const isTaken = this.routes.list().some(({ destination }) => destination === route.destination);
    if (what === "create" && isTaken)
      throw new Refusal(409, "uniqueness_error", `a route to ${route.destination} already exists`);
    const { min, max } = usualTime;
    const usual: Course = {
      takes: Math.round(min + this.#random.fraction() * (max - min)),
      ends: isWithoutEffect ? "without effect" : "done",
    };
    const now = this.clock.monotonic();
    const operation: Operation = {
      id: `op${this.operations.length + 1}`,
      do: what,
      route,
      course: this.next.shift() ?? usual,
      beganAt: now,
      status: "running",
      newsAt: now,
    };
    this.operations.push(operation);
    this.clock.after(milliseconds(operation.course.takes), () => this.#finish(operation));
    this.onOperation(operation, "began");
    return { status: 202, body: { operation: operation.id } };
  }

  /** Others may have changed the table in the meantime. */
  #finish(operation: Operation): void {
    const { ends } = operation.course;
    operation.status = ends === "failed" ? "failed" : "done";
    operation.endedAt = this.clock.monotonic();
    if (ends !== "done") return;
    try {
      if (operation.do === "create") this.routes.create(operation.route);
      else if ("id" in operation.route) this.routes.remove(operation.route.id);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      if (operation.do === "create") operation.status = "failed";
    }
  }

  #states(ids: readonly string[]): Answer {
    const now = this.clock.monotonic();
    const known = this.operations.filter(({ id }) => ids.includes(id));
    const shown = known.filter((operation) => {
      const { beganAt, course, status } = operation;
      const isForgotten = now - beganAt >= (course.forgottenAfter ?? Number.POSITIVE_INFINITY);
      if (isForgotten || status === "running") operation.newsAt = now;
      if (!isForgotten && status === "done") this.onOperation(operation, "done");
      return !isForgotten;
    });
    return { status: 200, body: { operations: shown.map(({ id, status }) => ({ id, status })) } };
  }
}

interface Accepted {
  readonly operation?: string;
}

/** The routes of a provider whose cloud answers a change with an operation. */
export function withOperations(
  routes: RoutesOneByOne,
  { base, transport }: { readonly base: string; readonly transport: CloudTransport },
  mark: { readonly cluster: string },
  oneAtATime: boolean,
): { readonly routes: RoutesOneByOne; readonly pending: Pending } {
  const api = jsonApi({ base: `${base}/v1`, transport });
  const begin = async (
    request: Pick<JsonRequest, "operation" | "method" | "path" | "body">,
    destination: string,
    call: Call,
  ): Promise<RouteOutcome> => {
    const { operation: job } = await api.call<Accepted>({ ...request, expects: ["operation"] }, call);
    return jobStarted({ job: job ?? "", waitingFor: `the route to ${destination}` });
  };
  return {
    routes: {
      ...routes,
      ...(oneAtATime && { oneAtATime }),
      create: ({ destination, target }, call) => {
        const body = { destination, machine: target.machine?.key, labels: { cluster: mark.cluster } };
        return begin({ operation: "POST /routes", method: "POST", path: "/routes", body }, destination, call);
      },
      remove: ({ handle, destination }, call) => {
        const operation = "DELETE /routes/{id}";
        return begin({ operation, method: "DELETE", path: `/routes/${handle}` }, destination, call);
      },
    },
    pending: pendingJobs({ limit: 4 }, async (jobs, call) => {
      const operation = "GET /operations";
      const query = { ids: jobs.join(",") };
      const { operations } = await api.call<{
        readonly operations: readonly Pick<Operation, "id" | "status">[];
      }>({ operation, method: "GET", path: "/operations", query, expects: ["operations"] }, call);
      const stateOf = ({ id, status }: Pick<Operation, "id" | "status">): JobState => {
        if (status === "running") return status;
        if (status === "done") return { facts: {} };
        return new CloudError("unavailable", `The operation ${id} has failed.`, { operation });
      };
      return new Map(operations.map((one) => [one.id, stateOf(one)]));
    }),
  };
}
