// One request to the API server from the first byte to the last: window, rate, ceiling, credentials, fence, deadline,
// and every failure a KubeError. It retries nothing but a 401, once, with credentials read anew.

import { type Milliseconds, milliseconds, seconds } from "../../core/brand.ts";
import { momentOfSeconds, retryAfterIn, untilMoment } from "../../core/moment.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Transport } from "../../platform/transport.ts";
import { abortable, linkedController } from "../../runtime/abortable.ts";
import type { Connection } from "../connection/connection.ts";
import { KubeError, type KubeErrorFacts } from "../errors/kube-error.ts";
import { readStatus, statusError } from "../errors/status-error.ts";
import { transportError } from "../errors/transport-error.ts";
import { withQuery } from "../resources.ts";
import { createPoolKey, keyedTls } from "./pool-key.ts";
import {
  type KubeRequest,
  methodOf,
  type OpenStream,
  type RequestObservation,
  type Verb,
} from "./request.ts";
import type { RequestCeiling } from "./request-ceiling.ts";
import type { TokenBucket } from "./token-bucket.ts";
import { type WriteWindow, writeOutcomeOf } from "./write-window.ts";

export interface Requests {
  readonly origin: string;
  /** The decoded JSON of a success; undefined for an empty body. */
  send(request: KubeRequest, signal: AbortSignal): Promise<unknown>;
  /** Resolves with the head; the body has no deadline. */
  open(request: KubeRequest, signal: AbortSignal): Promise<OpenStream>;
  /** Resolves at the next answer to anything, unless it says that the server is not well. */
  whenAnswered(signal: AbortSignal): Promise<void>;
}

export interface RequestsOptions {
  readonly connection: Connection;
  readonly transport: Transport;
  readonly clock: Clock;
  readonly ceiling: RequestCeiling;
  readonly writes: WriteWindow;
  readonly rate?: TokenBucket;
  readonly deadline?: Milliseconds;
  readonly onRequest?: (observation: RequestObservation) => void;
  /** Told how much was decoded, and what a request takes besides: most of it is garbage a moment later. */
  readonly onDecoded?: (bytes: number) => void;
}

/** What a request leaves behind besides its answer: promises, closures, headers, its own text; measured with 5,000 events. */
const requestGarbage = 8192;

const isWrite = (verb: Verb): boolean => methodOf[verb] !== "GET";

interface Head {
  readonly response: Response;
  readonly controller: AbortController;
  readonly generation: number;
  finish(): void;
}

export function createRequests(options: RequestsOptions): Requests {
  const { connection, transport, clock, ceiling, writes, rate, onRequest, onDecoded } = options;
  const pool = createPoolKey();
  let nextAnswer = Promise.withResolvers<void>();
  const host = new URL(connection.server).hostname;

  const factsOf = ({ verb, resource, object }: KubeRequest): KubeErrorFacts => ({
    operation: `${verb} ${resource}`,
    ...(object !== undefined && { object }),
  });

  const checkGate = (request: KubeRequest): void => {
    const answer = isWrite(request.verb) && request.mayWrite !== undefined ? request.mayWrite() : true;
    if (answer === true) return;
    const { operation, object } = factsOf(request);
    throw new KubeError("fenced", `Did not ${operation} ${object ?? ""}: ${answer.reason}`, factsOf(request));
  };

  /** Runs up to the response's head, and on through `use`, under one deadline. */
  const exchange = async <T>(
    request: KubeRequest,
    use: (head: Head) => Promise<T>,
    signal: AbortSignal,
  ): Promise<T> => {
    const access = await connection.access(signal);
    const deadline = request.deadline ?? options.deadline ?? seconds(30);
    const { controller, unlink } = linkedController(signal);
    const generation = pool.generation;
    let isLate = false;
    const cancel = clock.after(deadline, () => {
      isLate = true;
      controller.abort(new DOMException("deadline", "TimeoutError"));
    });
    const finish = () => {
      cancel();
      unlink();
    };
    const tls = keyedTls(access.tls, generation, host);
    try {
      // Nothing may be awaited between this check and the network.
      checkGate(request);
      const answer = transport(
        {
          method: methodOf[request.verb],
          url: `${connection.server}${withQuery(request.path, request.query)}`,
          headers: {
            accept: request.accept ?? "application/json",
            // Compressing costs the API server more than the bytes cost a network nearby.
            "accept-encoding": "identity",
            "user-agent": request.userAgent,
            ...access.headers,
            ...(request.body !== undefined && { "content-type": request.contentType ?? "application/json" }),
          },
          ...(request.body !== undefined && { body: request.body }),
          ...(tls !== undefined && { tls }),
          ...(connection.proxy !== undefined && { proxy: connection.proxy }),
        },
        controller.signal,
      );
      const response = await abortable(answer, controller.signal);
      pool.answered();
      if (response.status < 500) {
        nextAnswer.resolve();
        nextAnswer = Promise.withResolvers();
      }
      return await use({ response, controller, generation, finish });
    } catch (error) {
      finish();
      controller.abort();
      if (error instanceof KubeError) throw error;
      if (signal.aborted) throw signal.reason;
      if (!isLate) throw transportError(error, connection.origin, factsOf(request));
      pool.timedOut(generation);
      throw new KubeError(
        "timeout",
        `The API server at ${connection.origin} did not answer ${request.verb} ${request.resource} within ${deadline / 1000} s. We try again.`,
        { ...factsOf(request), cause: error },
      );
    }
  };

  const refused = async (request: KubeRequest, response: Response): Promise<KubeError> => {
    const body = readStatus(await response.text());
    const inBody = body?.details?.retryAfterSeconds;
    const stated =
      retryAfterIn(response.headers) ?? (inBody === undefined ? undefined : momentOfSeconds(inBody));
    const retryAfter = stated === undefined ? undefined : untilMoment(stated, clock.now());
    const suspicion = response.status === 401 ? connection.suspicion() : undefined;
    const facts = { ...factsOf(request), ...(retryAfter !== undefined && { retryAfter }) };
    const said = suspicion === undefined ? body : { ...body, message: suspicion };
    return statusError(response.status, said, facts, request.contentType === "application/json-patch+json");
  };

  const observed = async <T>(request: KubeRequest, work: () => Promise<T>): Promise<T> => {
    const started = clock.monotonic();
    const report = (code: string): void =>
      onRequest?.({
        verb: request.verb,
        resource: request.resource,
        ...(request.object !== undefined && { object: request.object }),
        code,
        duration: milliseconds(clock.monotonic() - started),
      });
    try {
      const result = await work();
      report(request.verb === "create" ? "201" : "200");
      return result;
    } catch (error) {
      if (error instanceof KubeError) report(error.status === undefined ? error.kind : String(error.status));
      throw error;
    }
  };

  /** A 401 was not acted upon, so every verb may be sent again, once. */
  const authenticated = async <T>(request: KubeRequest, work: () => Promise<T>): Promise<T> => {
    try {
      return await observed(request, work);
    } catch (error) {
      if (!(error instanceof KubeError) || error.status !== 401) throw error;
      connection.refresh();
      return observed(request, work);
    }
  };

  const readBody = async (request: KubeRequest, { response, controller, finish }: Head): Promise<unknown> => {
    const text = await abortable(response.ok ? response.text() : Promise.resolve(""), controller.signal);
    if (!response.ok) throw await abortable(refused(request, response), controller.signal);
    finish();
    onDecoded?.(text.length + requestGarbage);
    if (text === "") return undefined;
    try {
      return JSON.parse(text);
    } catch {
      // /healthz and friends answer with plain text.
      return text;
    }
  };

  const placed = async <T>(request: KubeRequest, work: () => Promise<T>, signal: AbortSignal): Promise<T> => {
    if (rate !== undefined && request.lane === "normal") await rate.take(signal);
    const leave = await ceiling.enter(request.lane, signal);
    try {
      return await work();
    } finally {
      leave();
    }
  };

  const send = async (request: KubeRequest, signal: AbortSignal): Promise<unknown> => {
    const work = () =>
      authenticated(request, () => exchange(request, (head) => readBody(request, head), signal));
    if (!isWrite(request.verb) || request.lane === "reserved") return placed(request, work, signal);
    const report = await writes.enter(request.priority, signal);
    try {
      return await placed(
        request,
        async () => {
          const started = clock.monotonic();
          try {
            const result = await work();
            report({ kind: "fine", latency: milliseconds(clock.monotonic() - started) });
            return result;
          } catch (error) {
            report(writeOutcomeOf(error));
            throw error;
          }
        },
        signal,
      );
    } finally {
      // Only counts when it was not reported above: the caller left before its turn at the ceiling.
      report({ kind: "unknown" });
    }
  };

  const open = async (request: KubeRequest, signal: AbortSignal): Promise<OpenStream> => {
    if (rate !== undefined && request.lane === "normal") await rate.take(signal);
    const leave = await ceiling.enter(request.lane, signal);
    const accept = async ({ response, controller, generation, finish }: Head): Promise<OpenStream> => {
      if (!response.ok) throw await abortable(refused(request, response), controller.signal);
      // The deadline was for the head. The outer signal is followed by whoever reads, who then closes.
      finish();
      let isOpen = true;
      return {
        body: response.body ?? new ReadableStream({ start: (to) => to.close() }),
        close: () => {
          if (!isOpen) return;
          isOpen = false;
          leave();
          controller.abort();
        },
        decoded: (bytes) => onDecoded?.(bytes),
        stalled: () => pool.timedOut(generation),
      };
    };
    try {
      return await authenticated(request, () => exchange(request, accept, signal));
    } catch (error) {
      leave();
      throw error;
    }
  };

  return {
    origin: connection.origin,
    send,
    open,
    whenAnswered: (signal) => abortable(nextAnswer.promise, signal),
  };
}
