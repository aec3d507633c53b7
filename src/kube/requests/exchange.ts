// A single HTTP exchange with the API server under one deadline: credentials, write gate and transport. Every failure is a
// `KubeError`; nothing is retried.

import { type Announcement, announcedIn } from "../../core/announcements.ts";
import { type Milliseconds, seconds } from "../../core/brand.ts";
import { defined } from "../../core/defined.ts";
import { formatDuration, momentOfSeconds, retryAfterIn, untilMoment } from "../../core/duration.ts";
import { willRetry } from "../../core/retry-promise.ts";
import { describePage } from "../../core/text.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Transport, TransportRequest } from "../../platform/transport.ts";
import { abortable, linkedController } from "../../runtime/abortable.ts";
import type { WriteGate } from "../../runtime/write-gate.ts";
import type { Connection } from "../connection/connection.ts";
import type { Access } from "../connection/credentials.ts";
import { KubeError, type KubeErrorFacts } from "../errors/kube-error.ts";
import { type HowToGrant, readStatus, statusError } from "../errors/status-error.ts";
import { transportError } from "../errors/transport-error.ts";
import { withQuery } from "../resources.ts";
import { PoolGeneration, tlsOfGeneration } from "./pool-generation.ts";
import { type KubeRequest, methodOf, type Sending, type Verb } from "./request.ts";

export interface ExchangeDeps {
  readonly connection: Connection;
  readonly transport: Transport;
  readonly clock: Clock;
  /** The deadline of requests without their own. */
  readonly deadline?: Milliseconds;
  readonly howToGrant?: HowToGrant | undefined;
  /** Called for each deprecation or warning in the response headers. */
  readonly onAnnounced?: ((found: Announcement) => void) | undefined;
}

/** A response whose body has not been read. */
export interface ResponseHead {
  readonly response: Response;
  /** Ends the connection. */
  readonly controller: AbortController;
  /** The generation of the connection pool that it came through. */
  readonly generation: number;
  /** Ends the deadline, which otherwise covers the whole exchange. */
  endDeadline(): void;
}

export const isWrite = (verb: Verb): boolean => methodOf[verb] !== "GET";

function factsOf({ verb, resource, object }: KubeRequest): KubeErrorFacts {
  return { operation: `${verb} ${resource}`, ...defined({ object }) };
}

export class Exchanges {
  readonly #deps: ExchangeDeps;
  readonly #host: string;
  readonly #pool = new PoolGeneration();
  #nextAnswer: PromiseWithResolvers<void> | undefined;

  constructor(deps: ExchangeDeps) {
    this.#deps = deps;
    this.#host = new URL(deps.connection.server).hostname;
  }

  /** Sends the request and passes the head of its response to `use`, under one deadline. */
  async run<T>(
    request: KubeRequest,
    { use, onSent, traceparent }: Sending & { readonly use: (head: ResponseHead) => Promise<T> },
    signal: AbortSignal,
  ): Promise<T> {
    const { connection, transport, clock } = this.#deps;
    const access = await connection.access(signal);
    const deadline = request.deadline ?? this.#deps.deadline ?? seconds(30);
    const { controller, unlink } = linkedController(signal);
    const generation = this.#pool.current;
    let isLate = false;
    const cancel = clock.after(deadline, () => {
      isLate = true;
      controller.abort(new DOMException("deadline", "TimeoutError"));
    });
    const endDeadline = () => {
      cancel();
      unlink();
    };
    const sent = this.#transportRequest(request, access, { generation, traceparent });
    try {
      // Nothing may be awaited between these checks and sending.
      signal.throwIfAborted();
      if (isWrite(request.verb) && request.mayWrite !== undefined) {
        checkWriteGate(request.mayWrite, factsOf(request));
      }
      const used = transport(sent, controller.signal).then((response) => {
        controller.signal.throwIfAborted();
        this.#answered(response, request);
        return use({ response, controller, generation, endDeadline });
      });
      onSent();
      return await abortable(used, controller.signal);
    } catch (error) {
      endDeadline();
      controller.abort();
      if (error instanceof KubeError) throw error;
      if (signal.aborted) throw signal.reason;
      const facts = factsOf(request);
      if (!isLate) throw transportError(error, connection.origin, facts);
      this.#pool.timedOut(generation);
      throw new KubeError(
        "timeout",
        `No response from the API server at ${connection.origin} to ${facts.operation} within ${formatDuration(deadline)}.`,
        { ...facts, cause: error, promise: willRetry },
      );
    }
  }

  /** Converts an unsuccessful response into a KubeError. */
  async refusal(request: KubeRequest, response: Response): Promise<KubeError> {
    const { connection, clock, howToGrant } = this.#deps;
    const text = await response.text();
    const page = describePage(text);
    const status =
      page === undefined ? readStatus(text) : { message: `the answer is ${page}; check for a proxy` };
    const inBody = status?.details?.retryAfterSeconds;
    const moment =
      retryAfterIn(response.headers) ?? (inBody === undefined ? undefined : momentOfSeconds(inBody));
    const retryAfter = moment === undefined ? undefined : untilMoment(moment, clock.now());
    const cause = response.status === 401 ? connection.explainRefusal() : undefined;
    return statusError(
      response.status,
      cause === undefined ? status : { ...status, message: cause, isExplained: true },
      { ...factsOf(request), ...defined({ retryAfter }) },
      request.contentType === "application/json-patch+json",
      howToGrant,
    );
  }

  /** Reports that an open stream of this generation was silent for too long. */
  stalled(generation: number): void {
    this.#pool.timedOut(generation);
  }

  /** Resolves on the next response to any request, except a 5xx. */
  whenAnswered(signal: AbortSignal): Promise<void> {
    this.#nextAnswer ??= Promise.withResolvers();
    return abortable(this.#nextAnswer.promise, signal);
  }

  #transportRequest(
    request: KubeRequest,
    access: Access,
    { generation, traceparent }: { readonly generation: number } & Pick<Sending, "traceparent">,
  ): TransportRequest {
    const { server, proxy } = this.#deps.connection;
    const { body, contentType = "application/json" } = request;
    return {
      method: methodOf[request.verb],
      url: `${server}${withQuery(request.path, request.query)}`,
      headers: {
        accept: request.accept ?? "application/json",
        // Compression costs the API server more than it saves on a local network.
        "accept-encoding": "identity",
        "user-agent": request.userAgent,
        ...access.headers,
        ...defined({ "content-type": body === undefined ? undefined : contentType, traceparent }),
      },
      body,
      proxy,
      tls: tlsOfGeneration(access.tls, generation, this.#host),
    };
  }

  #answered({ status, headers }: Response, { verb, resource }: KubeRequest): void {
    this.#pool.answered();
    for (const found of announcedIn(headers, `${verb} ${resource}`)) this.#deps.onAnnounced?.(found);
    if (status >= 500) return;
    this.#nextAnswer?.resolve();
    this.#nextAnswer = undefined;
  }
}

/**
 * Blocks writes to the API server while this process must not write, for example after losing the Lease. Throws a
 * KubeError of kind "fenced" if the write is blocked.
 */
function checkWriteGate(mayWrite: WriteGate, facts: KubeErrorFacts): void {
  const allowed = mayWrite();
  if (allowed === true) return;
  const target = facts.object === undefined ? facts.operation : `${facts.operation} ${facts.object}`;
  throw new KubeError("fenced", `Did not ${target}: ${allowed.reason}`, facts);
}
