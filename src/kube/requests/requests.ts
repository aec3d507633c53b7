// Sends requests to the API server and opens its streams, within the limits for rate, requests in flight and concurrent
// writes. Retries only a 401, once, with reloaded credentials.

import { milliseconds } from "../../core/brand.ts";
import { KubeError } from "../errors/kube-error.ts";
import { type ExchangeDeps, Exchanges, isWrite, type ResponseHead } from "./exchange.ts";
import type { KubeRequest, OpenStream, RequestObservation, Sending } from "./request.ts";
import type { RequestLimit, TokenBucket } from "./request-limit.ts";
import { type WriteConcurrency, writeOutcomeOf } from "./write-concurrency.ts";

export interface RequestsOptions extends ExchangeDeps {
  readonly requestLimit: RequestLimit;
  readonly writes: WriteConcurrency;
  readonly rate?: TokenBucket;
  readonly onRequest?: (observation: RequestObservation) => void;
  /** See `Sending`; called for each request that is about to be sent. */
  readonly traceparent?: () => string | undefined;
  /** Receives the number of decoded bytes plus the garbage of the request, to pace garbage collection. */
  readonly onDecoded?: (bytes: number) => void;
}

/** Promises, closures, headers and the text of one request, in bytes; measured with 5,000 events. */
const requestGarbage = 8192;

export class Requests {
  readonly #options: RequestsOptions;
  readonly #exchanges: Exchanges;

  constructor(options: RequestsOptions) {
    this.#options = options;
    this.#exchanges = new Exchanges(options);
  }

  get origin(): string {
    return this.#options.connection.origin;
  }

  /** The decoded JSON of a success; undefined for an empty body. */
  async send(request: KubeRequest, signal: AbortSignal): Promise<unknown> {
    const { writes, clock } = this.#options;
    const isLimited = isWrite(request.verb) && request.lane !== "reserved";
    const leaveWrites = isLimited ? await writes.enter(request.priority, signal) : undefined;
    let leave: (() => void) | undefined;
    try {
      leave = await this.#enter(request, signal);
      const started = clock.monotonic();
      const result = await this.#authenticated(request, (sending) =>
        this.#exchanges.run(request, { use: (head) => this.#readBody(request, head), ...sending }, signal),
      );
      leaveWrites?.({ kind: "success", latency: milliseconds(clock.monotonic() - started) });
      return result;
    } catch (error) {
      leaveWrites?.(writeOutcomeOf(error));
      throw error;
    } finally {
      leave?.();
    }
  }

  /** Resolves with the head of the response; reading the body has no deadline. */
  async open(request: KubeRequest, signal: AbortSignal): Promise<OpenStream> {
    const leave = await this.#enter(request, signal);
    const accept = async (head: ResponseHead): Promise<OpenStream> => {
      const { response, controller, generation } = head;
      if (!response.ok) throw await this.#exchanges.refusal(request, response);
      // From here on, the reader follows the caller's signal and closes the stream.
      head.endDeadline();
      let isOpen = true;
      return {
        body: response.body ?? new ReadableStream({ start: (to) => to.close() }),
        close: () => {
          if (!isOpen) return;
          isOpen = false;
          leave();
          controller.abort();
        },
        decoded: (bytes) => this.#options.onDecoded?.(bytes),
        stalled: () => this.#exchanges.stalled(generation),
      };
    };
    try {
      return await this.#authenticated(request, (sending) =>
        this.#exchanges.run(request, { use: accept, ...sending }, signal),
      );
    } catch (error) {
      leave();
      throw error;
    }
  }

  /** Resolves on the next response to any request, except a 5xx. */
  whenAnswered(signal: AbortSignal): Promise<void> {
    return this.#exchanges.whenAnswered(signal);
  }

  #enter({ lane }: KubeRequest, signal: AbortSignal): Promise<() => void> {
    const { rate, requestLimit } = this.#options;
    const enter = () => requestLimit.enter(lane, signal);
    return lane === "normal" && rate !== undefined ? rate.take(signal).then(enter) : enter();
  }

  /** The server does not act on requests that it answers with 401, so requests with any verb may be repeated. */
  async #authenticated<T>(request: KubeRequest, work: (sending: Sending) => Promise<T>): Promise<T> {
    try {
      return await this.#observed(request, work);
    } catch (error) {
      if (!(error instanceof KubeError) || error.status !== 401) throw error;
      this.#options.connection.refresh();
      return this.#observed(request, work);
    }
  }

  /** A sent request may have been applied, so it is reported even if the caller is aborted before the response. */
  async #observed<T>(
    { verb, resource, object }: KubeRequest,
    work: (sending: Sending) => Promise<T>,
  ): Promise<T> {
    const { clock, onRequest } = this.#options;
    const traceparent = this.#options.traceparent?.();
    const started = clock.monotonic();
    let wasSent = false;
    const report = (code: string, refusal: Pick<RequestObservation, "denial" | "refusedUser"> = {}): void => {
      const duration = milliseconds(clock.monotonic() - started);
      onRequest?.({ verb, resource, object, code, duration, traceparent, ...refusal });
    };
    try {
      const onSent = () => {
        wasSent = true;
      };
      const result = await work({ onSent, traceparent });
      report(verb === "create" ? "201" : "200");
      return result;
    } catch (error) {
      if (error instanceof KubeError) {
        const { status, kind, denial, refusedUser } = error;
        report(status === undefined ? kind : String(status), { denial, refusedUser });
      } else if (wasSent) report("aborted");
      throw error;
    }
  }

  async #readBody(request: KubeRequest, head: ResponseHead): Promise<unknown> {
    const { response } = head;
    if (!response.ok) throw await this.#exchanges.refusal(request, response);
    const text = await textOf(response, request);
    head.endDeadline();
    this.#options.onDecoded?.(text.length + requestGarbage);
    if (text === "") return undefined;
    try {
      return JSON.parse(text);
    } catch {
      // /healthz, /livez and /readyz answer with plain text.
      return text;
    }
  }
}

async function textOf(response: Response, { verb, resource, maxBytes }: KubeRequest): Promise<string> {
  if (maxBytes === undefined || response.body === null) return response.text();
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body) {
    size += chunk.length;
    if (size > maxBytes)
      throw new KubeError("too-large", `The list of ${resource} exceeds ${maxBytes} bytes.`, {
        operation: `${verb} ${resource}`,
      });
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}
