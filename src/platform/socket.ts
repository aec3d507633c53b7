// The only way to open a WebSocket: receives text messages from a server, in order, with limits. Sends nothing.

import { defined } from "../core/defined.ts";
import { type Clock, systemClock } from "./clock.ts";
import { type TransportRequest, toBunTls } from "./transport.ts";

/** Where to open a WebSocket, with the headers of the HTTP request that opens it. */
export type SocketRequest = Pick<TransportRequest, "url" | "headers" | "tls" | "proxy">;

/**
 * Opens a WebSocket at an `http:`, `https:`, `ws:` or `wss:` URL. Yields an empty text when it is open, then each message. Ends when
 * the server closes it; throws a `SocketError` when it breaks, and the signal's reason when that is aborted.
 */
export type OpenSocket = (request: SocketRequest, signal: AbortSignal) => AsyncIterable<string>;

/** A WebSocket could not be opened, or broke. */
export class SocketError extends Error {
  /** The HTTP status with which the server rejected the WebSocket. */
  readonly status: number | undefined;

  constructor(message: string, status?: number) {
    super(message);
    this.status = status;
  }
}

export interface SocketLimits {
  /** The maximum number of characters in one message, and in all unread messages. */
  readonly unread: number;
  /** The maximum number of characters within ten seconds. */
  readonly perTenSeconds: number;
}

const defaultLimits: SocketLimits = { unread: 8 * 1024 * 1024, perTenSeconds: 64 * 1024 * 1024 };
const tenSeconds = 10_000;

/** Received messages that have not been read yet. */
class Inbox {
  readonly #limits: SocketLimits;
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #messages: string[] = [];
  #unread = 0;
  #received = 0;
  #windowBegan = Number.NEGATIVE_INFINITY;
  #end: { readonly error: unknown } | undefined;
  #wake: () => void = () => undefined;

  constructor(limits: SocketLimits, clock: Pick<Clock, "monotonic">) {
    this.#limits = limits;
    this.#clock = clock;
  }

  add(message: unknown): void {
    if (this.#end !== undefined) return;
    if (typeof message !== "string") {
      this.end(new SocketError("The server sent a binary message."));
      return;
    }
    const now = this.#clock.monotonic();
    if (now - this.#windowBegan >= tenSeconds) {
      this.#windowBegan = now;
      this.#received = 0;
    }
    this.#received += message.length;
    this.#unread += message.length;
    const { unread, perTenSeconds } = this.#limits;
    if (this.#unread > unread || this.#received > perTenSeconds) {
      this.end(new SocketError("The server sends more than Fairlead reads."));
      return;
    }
    this.#messages.push(message);
    this.#wake();
  }

  /** Without an error, the messages so far are still read. */
  end(error?: unknown): void {
    this.#end ??= { error };
    if (error !== undefined) this.#messages.length = 0;
    this.#wake();
  }

  /** Returns undefined at the end. Throws the error that ended the connection. */
  async take(): Promise<string | undefined> {
    while (this.#messages.length === 0 && this.#end === undefined) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    const message = this.#messages.shift();
    if (message === undefined && this.#end?.error !== undefined) throw this.#end.error;
    this.#unread -= message?.length ?? 0;
    return message;
  }
}

/** Bun's messages contain the URL; only the status or the TLS error in them is new. */
function describeFailure(message: string): SocketError {
  const status = /status code: (\d{3})/.exec(message)?.[1];
  if (status !== undefined)
    return new SocketError(`The server refused the WebSocket (${status}).`, Number(status));
  const why = /failed: (.{1,200})/.exec(message)?.[1];
  return new SocketError(`The WebSocket failed${why === undefined ? "" : `: ${why}`}.`);
}

export function openSocketWith(limits: SocketLimits, clock: Pick<Clock, "monotonic">): OpenSocket {
  return async function* open({ url, headers, tls, proxy }, signal) {
    signal.throwIfAborted();
    const inbox = new Inbox(limits, clock);
    const options = defined({ headers, proxy, tls: tls === undefined ? undefined : toBunTls(tls) });
    const socket = new WebSocket(url.replace(/^http/, "ws"), options as Bun.WebSocketOptions);
    const onAbort = (): void => inbox.end(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    socket.addEventListener("open", () => inbox.add(""));
    socket.addEventListener("message", ({ data }) => inbox.add(data));
    socket.addEventListener("error", (event) => inbox.end(describeFailure((event as ErrorEvent).message)));
    socket.addEventListener("close", ({ code }) =>
      // 1006: the connection broke without a close frame.
      inbox.end(code === 1006 ? new SocketError("The connection broke.") : undefined),
    );
    try {
      for (let next = await inbox.take(); next !== undefined; next = await inbox.take()) yield next;
    } finally {
      signal.removeEventListener("abort", onAbort);
      // Closing with a handshake could wait for a peer that does not respond.
      socket.terminate();
    }
  };
}

export const systemSocket: OpenSocket = openSocketWith(defaultLimits, systemClock);
