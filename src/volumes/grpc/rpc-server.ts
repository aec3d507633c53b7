// Serves unary gRPC calls: framing, deadlines and status codes. See decision 0003.

import { milliseconds } from "../../core/brand.ts";
import { messageOf } from "../../core/error-message.ts";
import type { Clock } from "../../platform/clock.ts";
import type { HandleStream, StreamRequest, StreamResponse } from "../../platform/http2-socket.ts";
import { DeadlineError, withDeadline } from "../../runtime/deadline.ts";
import { Codec, MalformedMessage, type Received, type Schema, type Sent } from "./messages.ts";
import { encodeStatusMessage, RpcError, type StatusCode, statusCodes, timeoutOf } from "./status.ts";

/** The methods of a service: the names of request and response. */
export type Methods = Readonly<Record<string, readonly [request: string, response: string]>>;

/** The metadata that a handler gets in addition to the request. */
export interface RpcCall {
  /** Aborted at the deadline of the client, and when it cancels the call. */
  readonly signal: AbortSignal;
}

/** A method without a handler is answered with UNIMPLEMENTED. A handler that throws no RpcError fails as INTERNAL. */
export type Handlers<S extends Schema, M extends Methods> = {
  readonly [N in keyof M]?: (
    request: Received<S, M[N][0]>,
    call: RpcCall,
  ) => Promise<Sent<S, M[N][1]>> | Sent<S, M[N][1]>;
};

interface Method {
  readonly response: string;
  readonly decode: (bytes: Uint8Array) => unknown;
  readonly encode: (message: unknown) => Uint8Array;
  readonly handle: (request: unknown, call: RpcCall) => unknown;
}

/** A completed call, for metrics and the log. */
export interface RpcReport {
  /** The method as in the request: `/csi.v1.Node/NodeGetInfo`. */
  readonly method: string;
  readonly code: StatusCode;
  /** Empty if the code is OK. */
  readonly message: string;
  readonly milliseconds: number;
}

export interface RpcServerOptions {
  readonly clock: Clock;
  readonly report: (report: RpcReport) => void;
  /** Removes secrets from the message of a status. */
  readonly redact: (text: string) => string;
}

/** The default limit of gRPC clients. */
const maxMessage = 4 * 1024 * 1024;
/** Applies to clients that set no deadline; Kubernetes clients set at most 5 minutes. */
const longest = milliseconds(15 * 60_000);
const contentType = { "content-type": "application/grpc" };

export class RpcServer {
  readonly #options: RpcServerOptions;
  readonly #methods = new Map<string, Method>();

  constructor(options: RpcServerOptions) {
    this.#options = options;
  }

  add<const S extends Schema, const M extends Methods>(
    service: string,
    schema: S,
    methods: M,
    handlers: Handlers<S, M>,
  ): void {
    const codec = new Codec<Schema>(schema);
    for (const [name, [request, response]] of Object.entries(methods)) {
      const handle = handlers[name]?.bind(handlers);
      if (handle === undefined) continue;
      this.#methods.set(`/${service}/${name}`, {
        response,
        decode: (bytes) => codec.decode(request, bytes),
        encode: (message) => codec.encode(response, message as Sent<Schema, string>),
        handle: handle as Method["handle"],
      });
    }
  }

  readonly handle: HandleStream = async (request) => {
    const { clock, report, redact } = this.#options;
    const started = clock.monotonic();
    const { code, message, body } = await this.#answer(request).then(
      (body) => ({ code: "OK" as const, message: "", body }),
      (error: unknown) => ({ ...statusOf(error, request.cancelled), body: undefined }),
    );
    const text = redact(message);
    report({ method: request.path, code, message: text, milliseconds: clock.monotonic() - started });
    return respond(code, text, body);
  };

  async #answer(request: StreamRequest): Promise<Uint8Array> {
    const method = this.#methods.get(request.path);
    if (method === undefined || request.method !== "POST")
      throw new RpcError("UNIMPLEMENTED", `${request.path} is not supported.`);
    const { "grpc-timeout": timeout, "grpc-encoding": encoding = "identity" } = request.headers;
    if (encoding !== "identity")
      throw new RpcError(
        "UNIMPLEMENTED",
        `The compression ${encoding} is not supported. Send messages as they are.`,
      );
    const bytes = await request.body(maxMessage + framing);
    if (bytes === undefined)
      throw new RpcError("RESOURCE_EXHAUSTED", `The request is larger than ${maxMessage} bytes.`);
    const message = decodeRequest(method, unframe(bytes));
    const limit = timeout === undefined ? undefined : timeoutOf(timeout);
    if (timeout !== undefined && limit === undefined)
      throw new RpcError(
        "INVALID_ARGUMENT",
        `Invalid grpc-timeout ${JSON.stringify(timeout)}; expected "10S".`,
      );
    const deadline = milliseconds(Math.min(limit ?? longest, longest));
    const answered = await withDeadline(
      this.#options.clock,
      deadline,
      request.path,
      request.cancelled,
      async (signal) => method.handle(message, { signal }),
    );
    return method.encode(answered);
  }
}

/** The bytes before each message: whether it is compressed, and its length. */
const framing = 5;

function unframe(body: Uint8Array): Uint8Array {
  const view = new DataView(body.buffer, body.byteOffset, body.length);
  if (body.length < framing || view.getUint32(1) !== body.length - framing)
    throw new RpcError("INTERNAL", "Expected one message with the length that precedes it.");
  if (view.getUint8(0) !== 0) throw new RpcError("UNIMPLEMENTED", "Compressed messages are not supported.");
  return body.subarray(framing);
}

function frame(message: Uint8Array): Uint8Array {
  const body = Buffer.alloc(framing + message.length);
  body.writeUInt32BE(message.length, 1);
  body.set(message, framing);
  return body;
}

function decodeRequest(method: Method, bytes: Uint8Array): unknown {
  try {
    return method.decode(bytes);
  } catch (error) {
    if (!(error instanceof MalformedMessage)) throw error;
    throw new RpcError("INTERNAL", `The request cannot be decoded: ${error.message}`, { cause: error });
  }
}

function statusOf(
  error: unknown,
  cancelled: AbortSignal,
): { readonly code: StatusCode; readonly message: string } {
  if (error instanceof RpcError) return { code: error.code, message: error.message };
  if (error instanceof DeadlineError) return { code: "DEADLINE_EXCEEDED", message: error.message };
  if (cancelled.aborted) return { code: "CANCELLED", message: messageOf(error) };
  return { code: "INTERNAL", message: messageOf(error) };
}

function respond(code: StatusCode, message: string, body: Uint8Array | undefined): StreamResponse {
  const text = message === "" ? {} : { "grpc-message": encodeStatusMessage(message) };
  return {
    headers: contentType,
    body: body && frame(body),
    trailers: { "grpc-status": String(statusCodes[code]), ...text },
  };
}
