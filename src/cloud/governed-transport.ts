// The one way to a cloud: budget, breaker, signature, fence, deadline and measurements around a plain transport. A
// provider sees none of it; what goes wrong on the way comes out as a CloudError.

import { type Milliseconds, milliseconds, minutes, seconds } from "../core/brand.ts";
import { messageOf } from "../core/message-of.ts";
import type { Clock } from "../platform/clock.ts";
import type { Random } from "../platform/random.ts";
import type { Transport } from "../platform/transport.ts";
import type { Call, CloudRequest, CloudTransport } from "../provider/call.ts";
import { CloudError } from "../provider/errors.ts";
import { Breaker } from "../runtime/breaker.ts";
import type { Budget } from "../runtime/budget.ts";
import { DeadlineError, withDeadline } from "../runtime/deadline.ts";
import { budgetNewsOf, defaultBackoff } from "./rate-headers.ts";
import { backoffFor } from "./rest-for.ts";
import { addressOf, brokenOff, unreachable } from "./unanswered.ts";
import { ranks } from "./urgency.ts";

export interface CloudCallReport {
  readonly account: string;
  readonly operation: string;
  readonly mutates: boolean;
  /** Status of the answer; absent when there was none. */
  readonly status?: number;
  /** Kind of the error it ended in; absent when it went well. */
  readonly failure?: string;
  /** In words, for people; there whenever `failure` is. */
  readonly message?: string;
  readonly durationMs: number;
}

/** Whether a change may be sent now: leadership, mode. */
export type MutationGate = () => { readonly may: true } | { readonly may: false; readonly why: string };

export interface Governance {
  readonly account: string;
  readonly transport: Transport;
  readonly budget: Budget;
  readonly clock: Clock;
  readonly random: Random;
  readonly deadline: Milliseconds;
  /** Asked directly before a mutating request is handed over. */
  readonly mayMutate: MutationGate;
  readonly sign: (request: CloudRequest, call: Call) => Promise<CloudRequest>;
  readonly report: (call: CloudCallReport) => void;
  /** By origin; those that are shown, or some of its own. */
  readonly breakers?: Map<string, Breaker>;
}

/** Limits are often counted by the minute; beyond that it is kinder to say so than to be silent. */
const longestWait = minutes(2);
const backoffLimits = { first: seconds(2), cap: seconds(60) };

export function governedTransport(governance: Governance): CloudTransport {
  const { clock, random, budget, transport, deadline } = governance;
  const { breakers = new Map<string, Breaker>() } = governance;
  const breakerOf = (url: string): Breaker => {
    const { origin } = new URL(url);
    const known = breakers.get(origin) ?? new Breaker({ clock, random, failures: 5, rest: backoffLimits });
    breakers.set(origin, known);
    return known;
  };

  /** The answer, whole, within the deadline: a cloud that stops in the middle of one is as bad as a silent one. */
  const exchange = async (request: CloudRequest, signed: CloudRequest, call: Call): Promise<Response> => {
    const fence = request.mutates ? governance.mayMutate() : { may: true as const };
    if (!fence.may) throw refusal(request, `was not sent: ${fence.why}.`, { cause: "fenced" });
    const lost = (words: typeof unreachable) => (error: unknown) => {
      if (CloudError.is(error)) throw error;
      throw refusal(request, `failed: ${words(error, request.url)}`, { cause: error });
    };
    const what = `${request.operation} at ${addressOf(request.url)}`;
    const response = await withDeadline(clock, deadline, what, call.signal, async (signal) => {
      const answer = await transport(signed, signal).catch(lost(unreachable));
      return whole(answer).catch(lost(brokenOff));
    });
    budget.learn(budgetNewsOf(response, clock.now()));
    return response;
  };

  /** The head of a 429 has been read already; a refusal that only the body tells counts as well. */
  const learnFrom = (error: CloudError, status: number | undefined): void => {
    const { retryAfter } = error.detail;
    if (error.kind !== "rate-limited" || (retryAfter === undefined && status === 429)) return;
    budget.learn({
      closedFor: retryAfter === undefined ? defaultBackoff : backoffFor(retryAfter, clock.now()),
    });
  };

  const guarded = async <T>(
    request: CloudRequest,
    call: Call,
    read: (response: Response) => Promise<T>,
    seen: (status: number) => void,
  ): Promise<T> => {
    // A credential that cannot be had says nothing about the endpoint that wants it.
    const signed = await withDeadline(clock, longestWait, "The credential", call.signal, () =>
      governance.sign(request, call),
    );
    const leave = breakerOf(request.url).ask();
    if (!leave.may) {
      const wait = milliseconds(leave.retryAfter);
      // No time in the words: whoever says them once would say them again at each change.
      const text = `was not sent: the cloud at ${addressOf(request.url)} did not answer several times in a row; it is asked again within a minute.`;
      throw refusal(request, text, { cause: "breaker", retryAfter: { in: wait } });
    }
    const { attempt } = leave;
    let status: number | undefined;
    try {
      const response = await exchange(request, signed, call);
      status = response.status;
      seen(status);
      const result = await read(response);
      attempt.succeeded();
      return result;
    } catch (error) {
      if (call.signal.aborted) {
        attempt.abandoned();
        throw error;
      }
      const reported = CloudError.is(error)
        ? error
        : refusal(request, `failed: ${messageOf(error)}`, { cause: error });
      learnFrom(reported, status);
      // Any answer that could be understood shows that the endpoint lives.
      if (reported.detail.cause === "fenced") attempt.abandoned();
      else if (reported.kind === "unavailable") attempt.failed();
      else attempt.succeeded();
      throw reported;
    }
  };

  /** Who would have to wait for long is told so, and can say it on the object; a short wait is waited here. */
  const enter = async (request: CloudRequest, call: Call): Promise<void> => {
    const rank = ranks[call.urgency];
    const wait = budget.waitFor(rank);
    if (wait > longestWait) {
      const text = `${request.operation} was not sent: the cloud's limit of requests is used up for ${Math.ceil(wait / 1000)} s.`;
      throw new CloudError("rate-limited", text, { operation: request.operation, retryAfter: { in: wait } });
    }
    await budget.enter(rank, call.signal);
  };

  return async (request, call, read) => {
    await enter(request, call);
    const started = clock.monotonic();
    let status: number | undefined;
    const report = (failure?: string, message?: string): void =>
      governance.report({
        account: governance.account,
        operation: request.operation,
        mutates: request.mutates,
        durationMs: clock.monotonic() - started,
        ...(status !== undefined && { status }),
        ...(failure !== undefined && { failure }),
        ...(message !== undefined && { message }),
      });
    try {
      const result = await guarded(request, call, read, (code) => {
        status = code;
      });
      report();
      return result;
    } catch (error) {
      report(failureOf(error, call), messageOf(error));
      throw error;
    } finally {
      budget.leave();
    }
  };
}

function refusal(
  { operation }: CloudRequest,
  text: string,
  detail: Pick<CloudError["detail"], "cause" | "retryAfter">,
): CloudError {
  return new CloudError("unavailable", `${operation} ${text}`, { operation, ...detail });
}

async function whole(response: Response): Promise<Response> {
  const body = await response.arrayBuffer();
  const { status, statusText, headers } = response;
  return new Response(body.byteLength === 0 ? null : body, { status, statusText, headers });
}

function failureOf(error: unknown, call: Call): string {
  if (call.signal.aborted) return "aborted";
  if (!CloudError.is(error)) return "unexpected";
  const { cause } = error.detail;
  if (cause === "breaker" || cause === "fenced") return cause;
  return cause instanceof DeadlineError ? "deadline" : error.kind;
}
