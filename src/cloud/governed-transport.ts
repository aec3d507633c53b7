// The only way to a cloud: adds rate budget, circuit breaker, signature, write fence, deadline and metrics to a plain
// transport. A provider sees none of it; every failure is a CloudError.

import { type Milliseconds, minutes, seconds } from "../core/brand.ts";
import { defined } from "../core/defined.ts";
import { messageOf } from "../core/errors.ts";
import type { Clock } from "../platform/clock.ts";
import type { Random } from "../platform/random.ts";
import type { Transport } from "../platform/transport.ts";
import type { Call, CloudRequest, CloudTransport } from "../provider/call.ts";
import { CloudError } from "../provider/errors.ts";
import { Breaker, type BreakerState } from "../runtime/breaker.ts";
import { type Budget, WaitTooLongError } from "../runtime/budget.ts";
import { DeadlineError, withDeadline } from "../runtime/deadline.ts";
import type { WriteGate } from "../runtime/write-gate.ts";
import type { CredentialHint } from "./credential-hint.ts";
import { defaultDelay, delayUntil, rateLimitOf } from "./rate-limit-headers.ts";
import { describeTruncated, describeUnreachable, hostAndPort } from "./transport-errors.ts";
import { maxWaitInWorker, urgencyRanks } from "./urgency.ts";

/** One request to the cloud and how it ended, for metrics and the log. */
export interface CloudCallReport {
  readonly account: string;
  readonly operation: string;
  readonly mutates: boolean;
  /** HTTP status; absent without a response. */
  readonly status?: number;
  /** Kind of failure; absent on success. */
  readonly failure?: string;
  /** The error message; present whenever `failure` is. */
  readonly message?: string;
  readonly durationMs: number;
  /** The request fetches a credential. */
  readonly isCredentialFetch?: boolean;
  /** The credential was rejected, and the request is sent again with a new one. */
  readonly isRepeated?: boolean;
}

export interface GovernedTransportOptions {
  readonly account: string;
  readonly transport: Transport;
  readonly budget: Budget;
  readonly clock: Clock;
  readonly random: Random;
  readonly deadline: Milliseconds;
  /** Called immediately before a mutating request is sent. */
  readonly mayMutate: WriteGate;
  /** Its requests fetch the credential. */
  readonly isCredentialFetch?: boolean;
  readonly sign: (request: CloudRequest, call: Call) => Promise<CloudRequest>;
  readonly report: (call: CloudCallReport) => void;
  /** What to check when the cloud rejects the credentials or refuses an operation; appended to the error. */
  readonly credentialHint?: CredentialHint | undefined;
}

/** Limits are often counted per minute. A longer wait fails with an error, which can be reported on the object. */
const maxWait = minutes(2);
const breakerBackoff = { first: seconds(2), cap: seconds(60) };

export class GovernedTransport {
  readonly #options: GovernedTransportOptions;
  readonly #breakers = new Map<string, Breaker>();

  constructor(options: GovernedTransportOptions) {
    this.#options = options;
  }

  /** The circuit breaker of each endpoint (by origin) that has been called. */
  get breakers(): readonly { readonly endpoint: string; readonly state: BreakerState }[] {
    return [...this.#breakers].map(([endpoint, { state }]) => ({ endpoint, state }));
  }

  readonly send: CloudTransport = (request, call, read) => this.#send(request, call, read, false);

  /** For a request that the caller sends again with a new credential if this one is rejected. */
  readonly sendFirst: CloudTransport = (request, call, read) => this.#send(request, call, read, true);

  async #send<T>(
    request: CloudRequest,
    call: Call,
    read: (response: Response) => Promise<T>,
    isFirst: boolean,
  ): Promise<T> {
    const { account, clock, budget, isCredentialFetch } = this.#options;
    await this.#enterBudget(request, call);
    const started = clock.monotonic();
    let status: number | undefined;
    const report = (failure?: string, message?: string): void => {
      const { operation, mutates } = request;
      const durationMs = clock.monotonic() - started;
      const isRepeated = isFirst && failure === "unauthorized" && status !== undefined ? true : undefined;
      const outcome = { durationMs, status, failure, message, isCredentialFetch, isRepeated };
      this.#options.report(defined({ account, operation, mutates, ...outcome }));
    };
    try {
      const result = await this.#sendGuarded(request, call, read, (code) => {
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
  }

  /** Waits for the budget; a wait that would be too long fails with an error. */
  async #enterBudget({ operation, mutates }: CloudRequest, call: Call): Promise<void> {
    const { budget } = this.#options;
    const rank = urgencyRanks[call.urgency];
    const limit = call.maxWait ?? (mutates ? maxWaitInWorker : maxWait);
    try {
      await budget.enter({ rank, operation, maxWait: limit }, call.signal);
    } catch (error) {
      if (!(error instanceof WaitTooLongError)) throw error;
      const { wait } = error;
      const scope = budget.waitOf(operation) > budget.waitFor(rank) ? "this operation" : "the cloud API";
      const text = `${operation} was not sent: the rate limit of ${scope} is used up for ${Math.ceil(wait / 1000)}s. Fairlead will retry then.`;
      throw new CloudError("rate-limited", text, { operation, retryAfter: { in: wait } });
    }
  }

  async #sendGuarded<T>(
    request: CloudRequest,
    call: Call,
    read: (response: Response) => Promise<T>,
    onStatus: (status: number) => void,
  ): Promise<T> {
    const { clock, credentialHint, account } = this.#options;
    const credentialFetch = `The request for the credentials of account ${account}`;
    // Outside the breaker: a failed fetch of the credential does not mean that this endpoint is down.
    const signed = await withDeadline(clock, maxWait, credentialFetch, call.signal, () =>
      this.#options.sign(request, call),
    );
    const permission = this.#breakerOf(request.url).ask();
    if (!permission.may) {
      // The text is the same at every call, without the remaining time, so that events are not repeated.
      const text = `was not sent: the cloud API at ${hostAndPort(request.url)} failed to respond several times in a row. Fairlead will retry within a minute.`;
      throw unavailable(request, text, { cause: "breaker", retryAfter: { in: permission.retryAfter } });
    }
    const { attempt } = permission;
    let status: number | undefined;
    let hasResponded = false;
    try {
      const response = await this.#exchange(request, signed, call, () => {
        hasResponded = true;
        attempt.succeeded();
      });
      status = response.status;
      onStatus(status);
      return await read(response);
    } catch (error) {
      if (call.signal.aborted) {
        attempt.abandoned();
        throw error;
      }
      const failure = CloudError.is(error)
        ? withHint(error, credentialHint)
        : unavailable(request, `failed: ${messageOf(error)}`, { cause: error });
      this.#learnFromRefusal(request, failure, status);
      // Any response shows that the endpoint is up, also a 500: that operation fails, and others may succeed.
      if (failure.detail.cause === "fenced") attempt.abandoned();
      else if (!hasResponded) attempt.failed();
      throw failure;
    }
  }

  /** The complete response, within the deadline: a response that stalls is treated like no response. */
  async #exchange(
    request: CloudRequest,
    signed: CloudRequest,
    call: Call,
    onResponse: () => void,
  ): Promise<Response> {
    const { clock, budget, transport, deadline, mayMutate } = this.#options;
    const allowed = request.mutates ? mayMutate() : true;
    if (allowed !== true) throw unavailable(request, `was not sent: ${allowed.reason}`, { cause: "fenced" });
    const failWith = (describe: typeof describeUnreachable) => (error: unknown) => {
      if (CloudError.is(error)) throw error;
      throw unavailable(request, `failed: ${describe(error, request.url)}`, { cause: error });
    };
    const what = `The cloud API at ${hostAndPort(request.url)}`;
    const response = await withDeadline(clock, deadline, what, call.signal, async (signal) => {
      const head = await transport(signed, signal).catch(failWith(describeUnreachable));
      onResponse();
      return buffered(head).catch(failWith(describeTruncated));
    });
    const { closedFor, ...limit } = rateLimitOf(response, clock.now());
    budget.learn(limit);
    if (closedFor !== undefined) budget.close(request.operation, closedFor);
    return response;
  }

  /** For refusals, and their scope, that only the provider recognizes. The headers of a 429 have been processed already. */
  #learnFromRefusal({ operation }: CloudRequest, error: CloudError, status: number | undefined): void {
    const { clock, budget } = this.#options;
    const { retryAfter, scope } = error.detail;
    if (error.kind !== "rate-limited") return;
    const named = retryAfter && delayUntil(retryAfter, clock.now());
    const delay = named ?? (status === 429 ? budget.waitOf(operation) : defaultDelay);
    if (scope === "account") budget.learn({ closedFor: delay });
    else budget.close(operation, delay);
  }

  #breakerOf(url: string): Breaker {
    const { clock, random } = this.#options;
    const { origin } = new URL(url);
    const breaker =
      this.#breakers.get(origin) ?? new Breaker({ clock, random, failures: 5, backoff: breakerBackoff });
    this.#breakers.set(origin, breaker);
    return breaker;
  }
}

function unavailable(
  { operation }: CloudRequest,
  text: string,
  detail: Pick<CloudError["detail"], "cause" | "retryAfter">,
): CloudError {
  return new CloudError("unavailable", `${operation} ${text}`, { operation, ...detail });
}

function withHint(error: CloudError, hintFor: CredentialHint | undefined): CloudError {
  const hint = hintFor?.(error);
  return hint === undefined ? error : new CloudError(error.kind, `${error.message} ${hint}`, error.detail);
}

async function buffered(response: Response): Promise<Response> {
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
