// The one way to a cloud: fence, budget, breaker, deadline, journal and measurements around a plain transport. A
// provider sees none of it; what goes wrong on the way comes out as a CloudError.

import { type Milliseconds, seconds } from "../core/brand.ts";
import type { Call, CloudRequest, CloudTransport, Urgency } from "../provider/call.ts";
import { CloudError } from "../provider/errors.ts";
import { Breaker } from "../runtime/breaker.ts";
import type { Budget } from "../runtime/budget.ts";
import { DeadlineError, withDeadline } from "../runtime/deadline.ts";
import type { Clock } from "../seams/clock.ts";
import type { Random } from "../seams/random.ts";
import type { Transport } from "../seams/transport.ts";
import { budgetNewsOf } from "./rate-headers.ts";

/** Rank in the budget, and the share of the limit that is kept for those before it. */
const ranks = {
  "user-change": 0,
  "new-node": 1,
  "deletion-proof": 2,
  refresh: 3,
} as const satisfies Record<Urgency, number>;
export const reserveByRank = [0, 0.05, 0.1, 0.25] as const;

export interface CloudCallReport {
  readonly operation: string;
  readonly mutates: boolean;
  /** Status of the answer; absent when there was none. */
  readonly status?: number;
  readonly failure?: "deadline" | "network" | "breaker" | "fenced" | "aborted";
  readonly durationMs: number;
}

export interface Governance {
  readonly transport: Transport;
  readonly budget: Budget;
  readonly clock: Clock;
  readonly random: Random;
  readonly deadline: Milliseconds;
  /** Checked directly before a mutating request is handed over: leadership, mode. */
  readonly mayMutate: () => { readonly may: true } | { readonly may: false; readonly why: string };
  readonly report: (call: CloudCallReport) => void;
}

const restLimits = { first: seconds(2), cap: seconds(60) };

export const governedTransport = (governance: Governance): CloudTransport => {
  const { clock, random, budget, transport, deadline } = governance;
  const breakers = new Map<string, Breaker>();
  const breakerOf = (url: string): Breaker => {
    const origin = new URL(url).origin;
    const known = breakers.get(origin) ?? new Breaker({ clock, random, failures: 5, rest: restLimits });
    breakers.set(origin, known);
    return known;
  };

  const send = async (request: CloudRequest, call: Call, breaker: Breaker): Promise<Response> => {
    const leave = breaker.ask();
    if (!leave.may) {
      throw new CloudError(
        "unavailable",
        `${request.operation}: ${new URL(request.url).host} did not answer several times in a row; asked again in ${Math.ceil(leave.retryAfter / 1000)} s.`,
        { operation: request.operation, retryAfter: leave.retryAfter, cause: "breaker" },
      );
    }
    const fence = request.mutates ? governance.mayMutate() : { may: true as const };
    if (!fence.may) {
      breaker.abandoned();
      throw new CloudError("unavailable", `${request.operation} was not sent: ${fence.why}.`, {
        operation: request.operation,
        cause: "fenced",
      });
    }
    try {
      const response = await withDeadline(clock, deadline, request.operation, call.signal, async (signal) =>
        whole(await transport(request, signal)),
      );
      if (response.status >= 500) breaker.failed();
      else breaker.succeeded();
      budget.learn(budgetNewsOf(response, clock.now()));
      return response;
    } catch (error) {
      if (call.signal.aborted) {
        breaker.abandoned();
        throw error;
      }
      breaker.failed();
      throw new CloudError("unavailable", `${request.operation}: ${messageOf(error)}`, {
        operation: request.operation,
        cause: error,
      });
    }
  };

  return async (request, call) => {
    await budget.enter(ranks[call.urgency], call.signal);
    const started = clock.monotonic();
    const told = { operation: request.operation, mutates: request.mutates };
    try {
      const response = await send(request, call, breakerOf(request.url));
      governance.report({ ...told, status: response.status, durationMs: clock.monotonic() - started });
      return response;
    } catch (error) {
      governance.report({
        ...told,
        failure: failureOf(error, call),
        durationMs: clock.monotonic() - started,
      });
      throw error;
    } finally {
      budget.leave();
    }
  };
};

/** The body is read within the deadline too: a cloud that stops in the middle of an answer is as bad as a silent one. */
const whole = async (response: Response): Promise<Response> => {
  const body = await response.arrayBuffer();
  const { status, statusText, headers } = response;
  return new Response(body.byteLength === 0 ? null : body, { status, statusText, headers });
};

const failureOf = (error: unknown, call: Call): NonNullable<CloudCallReport["failure"]> => {
  if (call.signal.aborted) return "aborted";
  if (!CloudError.is(error)) return "network";
  const { cause } = error.detail;
  if (cause === "breaker" || cause === "fenced") return cause;
  return cause instanceof DeadlineError ? "deadline" : "network";
};

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
