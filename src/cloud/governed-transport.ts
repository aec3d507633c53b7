// The only way to a cloud: adds rate budget, circuit breaker, signature, write fence, deadline and metrics to a plain transport.
// Providers do not see these mechanisms; every failure is a CloudError.

import { type Announcement, announcedIn } from "../core/announcements.ts";
import { type Milliseconds, minutes, seconds } from "../core/brand.ts";
import { defined } from "../core/defined.ts";
import { isTlsCode, messageOf, promiseOf, runtimeCodeOf, textOf } from "../core/error-message.ts";
import type { Redaction } from "../core/redaction.ts";
import { willRetry, willRetrySoon, willRetryThen } from "../core/retry-promise.ts";
import type { Clock } from "../platform/clock.ts";
import type { Random } from "../platform/random.ts";
import type { Transport } from "../platform/transport.ts";
import type { Call, CloudRequest, CloudTransport } from "../provider/call.ts";
import { CloudError } from "../provider/errors.ts";
import type { Account } from "../provider/provider.ts";
import { Breaker, type BreakerState } from "../runtime/breaker.ts";
import { type AdmittedCall, type Budget, WaitTooLongError } from "../runtime/budget.ts";
import { DeadlineError, withDeadline } from "../runtime/deadline.ts";
import { turn } from "../runtime/turns.ts";
import type { WriteGate } from "../runtime/write-gate.ts";
import {
  BodyTooLargeError,
  type BufferedResponse,
  bufferedResponse,
  redactionOf,
} from "./buffered-response.ts";
import type { CredentialHint } from "./credential-hint.ts";
import { defaultDelay, delayUntil, rateLimitOf, reportedRateLimit } from "./read-rate-limit.ts";
import { maxWaitInWorker, urgencyRanks } from "./urgency.ts";

/** A request to the cloud and its outcome, for metrics and the log. */
export interface CloudCallReport {
  readonly account: string;
  readonly operation: string;
  readonly mutates: boolean;
  /** The HTTP status; unset without a response. */
  readonly status?: number;
  /** The kind of failure; unset on success. */
  readonly failure?: string;
  /** The problem and the manager's next action; set whenever `failure` is. */
  readonly message?: string;
  readonly promise?: string | undefined;
  readonly durationMs: number;
  /** The response size in bytes; unset without a response. */
  readonly size?: number;
  /** The response's announcements about the operation. */
  readonly announced?: readonly Announcement[];
  /** True if the request fetches a credential. */
  readonly isCredentialFetch?: boolean;
  /** True if the request is repeated with a new credential, because the former credential was rejected. */
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
  /** True if the transport's requests fetch the credential. */
  readonly isCredentialFetch?: boolean;
  readonly sign: (request: CloudRequest, call: Call) => Promise<CloudRequest>;
  /** How the provider reads the rate limit. If undefined, or if it returns undefined for a response, the usual headers apply. */
  readonly rateLimit?: Account<never>["rateLimit"];
  readonly report: (call: CloudCallReport) => void;
  /** Removes secrets from errors before a provider parses or truncates the text. */
  readonly redaction: Redaction;
  /** Advice for rejected credentials and denied operations, which is appended to the error. */
  readonly credentialHint?: CredentialHint | undefined;
}

/** Limits are often counted per minute. A longer wait fails with an error that can be reported on the object. */
const maxWait = minutes(2);
/** The maximum wait after an outage ends, in addition to the time of one probe. */
const breakerBackoff = { first: seconds(2), cap: seconds(15) };

export class GovernedTransport {
  readonly #options: GovernedTransportOptions;
  readonly #breakers = new Map<string, Breaker>();

  constructor(options: GovernedTransportOptions) {
    this.#options = options;
  }

  /** The circuit breakers of all called endpoints, by origin. */
  get breakers(): readonly { readonly endpoint: string; readonly state: BreakerState }[] {
    return [...this.#breakers].map(([endpoint, { state }]) => ({ endpoint, state }));
  }

  readonly send: CloudTransport = (request, call, read) => this.#send(request, call, read, false);

  /** Sends a request that the caller repeats with a new credential if this credential is rejected. */
  readonly sendFirst: CloudTransport = (request, call, read) => this.#send(request, call, read, true);

  async #send<T>(
    request: CloudRequest,
    call: Call,
    read: (response: Response) => Promise<T>,
    isFirst: boolean,
  ): Promise<T> {
    const { account, clock, budget, isCredentialFetch } = this.#options;
    const admission = await this.#enterBudget(request, call);
    const started = clock.monotonic();
    let status: number | undefined;
    let size: number | undefined;
    let announced: readonly Announcement[] | undefined;
    const report = (failure?: string, message?: string, promise?: string): void => {
      const { operation, mutates } = request;
      const durationMs = clock.monotonic() - started;
      const isRepeated = isFirst && failure === "unauthorized" && status !== undefined ? true : undefined;
      const outcome = { durationMs, size, status, failure, message, promise, isCredentialFetch, isRepeated };
      this.#options.report(defined({ account, operation, mutates, announced, ...outcome }));
    };
    try {
      const result = await this.#sendGuarded(request, call, read, (received) => {
        status = received.response.status;
        size = received.size;
        const found = announcedIn(received.response.headers, request.operation);
        announced = found.length > 0 ? found : undefined;
        return this.#learnLimit(received.response, admission);
      });
      report();
      return result;
    } catch (error) {
      report(failureOf(error, call), textOf(error), promiseOf(error));
      throw error;
    } finally {
      budget.leave();
    }
  }

  /** Waits for the rate budget; a wait that would be too long fails with an error. */
  async #enterBudget(request: CloudRequest, call: Call): Promise<AdmittedCall> {
    const { operation, mutates } = request;
    const { budget } = this.#options;
    const rank = urgencyRanks[call.urgency];
    const limit = call.maxWait ?? (mutates ? maxWaitInWorker : maxWait);
    try {
      return await budget.enter({ rank, operation, maxWait: limit }, call.signal);
    } catch (error) {
      if (!(error instanceof WaitTooLongError)) throw error;
      const { wait } = error;
      const scope = budget.waitOf(operation) > budget.waitFor(rank) ? "this operation" : "the cloud API";
      const text = `${operation} was not sent: the rate limit of ${scope} is used up for ${Math.ceil(wait / 1000)}s.`;
      const detail = { operation, retryAfter: { in: wait }, promise: willRetryThen };
      throw new CloudError("rate-limited", text, detail);
    }
  }

  async #sendGuarded<T>(
    request: CloudRequest,
    call: Call,
    read: (response: Response) => Promise<T>,
    onResponse: (received: BufferedResponse) => NamedDelay | undefined,
  ): Promise<T> {
    const { clock, credentialHint, account, budget, redaction: known } = this.#options;
    const credentialFetch = `The request for the credentials of account ${account}`;
    // Runs outside the breaker, because a failed credential fetch does not mean that this endpoint is down.
    const signed = await withDeadline(clock, maxWait, credentialFetch, call.signal, () =>
      this.#options.sign(request, call),
    );
    const redaction = redactionOf(signed, known);
    const permission = this.#breakerOf(request.url).ask();
    if (!permission.may) {
      // The text omits the remaining time, so that it is the same in every call and events are not repeated.
      const text = `was not sent: the cloud API at ${hostAndPort(request.url)} failed to respond several times in a row.`;
      const retryAfter = { in: permission.retryAfter };
      throw unavailable(request, text, { cause: "breaker", retryAfter, promise: willRetrySoon });
    }
    const { attempt } = permission;
    let status: number | undefined;
    let hasResponded = false;
    let named: NamedDelay | undefined;
    try {
      const received = await this.#exchange({ request, signed, redaction }, call, () => {
        hasResponded = true;
        attempt.succeeded();
      });
      const { response } = received;
      status = response.status;
      named = onResponse(received);
      // Many responses, such as the pages of a listing, may arrive at the same time.
      const pause = turn(clock);
      if (pause !== undefined) await pause;
      const result = await read(response);
      if (status === 429) budget.close(request.operation, named?.delay ?? defaultDelay);
      return result;
    } catch (error) {
      if (call.signal.aborted) {
        attempt.abandoned();
        throw error;
      }
      redaction.clean(error);
      const failure = CloudError.is(error)
        ? withDelay(withHint(error, credentialHint), named)
        : unavailable(request, `failed: ${textOf(error)}`, { cause: error, promise: promiseOf(error) });
      this.#learnFromRefusal(request, failure, { status, named });
      // Any response proves that the endpoint is up, even a 500: only that operation fails.
      if (failure.detail.cause === "fenced") attempt.abandoned();
      else if (!hasResponded) attempt.failed();
      throw failure;
    }
  }

  /** Returns the complete response within the deadline. A response that stalls is treated like a missing response. */
  async #exchange(
    { request, signed, redaction }: SignedRequest,
    call: Call,
    onResponse: () => void,
  ): Promise<BufferedResponse> {
    const { clock, transport, deadline, mayMutate, isCredentialFetch } = this.#options;
    const allowed = request.mutates ? mayMutate() : true;
    if (allowed !== true) throw unavailable(request, `was not sent: ${allowed.reason}`, { cause: "fenced" });
    const failWith = (describe: typeof describeUnreachable) => (error: unknown) => {
      if (CloudError.is(error)) throw error;
      throw unavailable(request, `failed: ${describe(error, request.url)}`, {
        cause: error,
        promise: willRetry,
      });
    };
    const what = `The cloud API at ${hostAndPort(request.url)}`;
    // A retry would bypass the gate, which may have closed while this process was paused.
    const once = request.mutates ? { ...signed, once: true } : signed;
    const sent = isCredentialFetch ? { ...once, isSignIn: true } : once;
    return withDeadline(clock, deadline, what, call.signal, async (signal) => {
      const head = await transport(sent, signal).catch(failWith(describeUnreachable));
      onResponse();
      return bufferedResponse(head, redaction.apply).catch(failWith(describeTruncated));
    });
  }

  /** The time when the cloud accepts requests again, if the response contains it. */
  #learnLimit(response: Response, admission: AdmittedCall): NamedDelay | undefined {
    const { clock, budget, rateLimit } = this.#options;
    const report = rateLimit?.(response);
    const now = clock.now();
    const { closedFor, ...limit } =
      report === undefined ? rateLimitOf(response, now) : reportedRateLimit(report, response.status, now);
    budget.learn(limit, admission);
    return closedFor === undefined ? undefined : { delay: closedFor, isDeclared: report !== undefined };
  }

  /** Handles a 429, or a rejection that only the provider recognizes. The provider also knows its scope. */
  #learnFromRefusal(
    { operation }: CloudRequest,
    { kind, detail: { retryAfter, scope } }: CloudError,
    { status, named }: { readonly status: number | undefined; readonly named: NamedDelay | undefined },
  ): void {
    const { clock, budget } = this.#options;
    const isRecognized = kind === "rate-limited";
    if (!isRecognized && status !== 429) return;
    const requested = isRecognized && retryAfter ? delayUntil(retryAfter, clock.now()) : named?.delay;
    const delay = requested ?? defaultDelay;
    if (isRecognized && scope === "account") budget.learn({ closedFor: delay });
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
  detail: Pick<CloudError["detail"], "cause" | "retryAfter" | "promise">,
): CloudError {
  return new CloudError("unavailable", `${operation} ${text}`, { operation, ...detail });
}

interface SignedRequest {
  readonly request: CloudRequest;
  readonly signed: CloudRequest;
  readonly redaction: Redaction;
}

/** When the cloud accepts requests again, as a response states it. */
interface NamedDelay {
  readonly delay: Milliseconds;
  /** Whether the provider declared the value, which takes precedence over the usual headers that `jsonApi` reads. */
  readonly isDeclared: boolean;
}

/** Adds the time of the next attempt to a rejection, so that nothing waits longer. */
function withDelay(error: CloudError, named: NamedDelay | undefined): CloudError {
  const { kind, message, detail } = error;
  if (kind !== "rate-limited" || named === undefined) return error;
  if (detail.retryAfter !== undefined && !named.isDeclared) return error;
  return new CloudError(kind, message, { ...detail, retryAfter: { in: named.delay } });
}

function withHint(error: CloudError, hintFor: CredentialHint | undefined): CloudError {
  const hint = hintFor?.(error);
  return hint === undefined ? error : new CloudError(error.kind, `${error.message} ${hint}`, error.detail);
}

function failureOf(error: unknown, call: Call): string {
  if (call.signal.aborted) return "aborted";
  if (!CloudError.is(error)) return "unexpected";
  const { cause } = error.detail;
  if (cause === "breaker" || cause === "fenced") return cause;
  return cause instanceof DeadlineError ? "deadline" : error.kind;
}

/** The host and the port of a URL. The port is always included, because firewall rules use it. */
function hostAndPort(url: string): string {
  const { protocol, hostname, port } = new URL(url);
  return `${hostname}:${port || (protocol === "http:" ? 80 : 443)}`;
}

/**
 * The message for a request without a response. Names the endpoint and the error code, because the runtime's own messages name
 * no endpoint.
 */
export function describeUnreachable(error: unknown, url: string): string {
  const code = runtimeCodeOf(error);
  const endpoint = hostAndPort(url);
  if (code === "CERT_FINGERPRINT_DIFFERS")
    return `TLS connection to the cloud API at ${endpoint} failed (${code}). ${messageOf(error)} The settings contain a different one. If the certificate was renewed, correct the setting; otherwise another server responds.`;
  if (code === "EPROTO")
    return `The TLS handshake with the cloud API at ${endpoint} failed (${code}). The port probably does not speak TLS: check it, and whether the endpoint setting needs http:// instead.`;
  if (isTlsCode(code)) {
    return `TLS connection to the cloud API at ${endpoint} failed (${code}). Check that its certificate is valid for this host name and signed by a CA that this machine trusts, and that this machine's clock is right.`;
  }
  return `The cloud API at ${endpoint} cannot be reached (${code || messageOf(error)}). Check the endpoint setting, DNS, firewall and proxy.`;
}

/** The message for a response that was truncated or too large. */
export function describeTruncated(error: unknown, url: string): string {
  if (error instanceof BodyTooLargeError)
    return `The response from the cloud API at ${hostAndPort(url)} was not read, because it has ${error.code}. Check for a proxy.`;
  return `The response from the cloud API at ${hostAndPort(url)} ended early (${runtimeCodeOf(error) || messageOf(error)}).`;
}
