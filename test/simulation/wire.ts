// The network between one simulated process and a server: requests and answers take their time, a request that was handed
// over may land although its sender gave up, and streams can be cut or fall silent.

import type { Milliseconds } from "../../src/core/brand.ts";
import { milliseconds } from "../../src/core/brand.ts";
import type { Clock } from "../../src/platform/clock.ts";
import type { Random } from "../../src/platform/random.ts";
import type { Transport, TransportRequest } from "../../src/platform/transport.ts";
import { ConnectionLostError } from "../../src/testing/apiserver/faults.ts";
import type { Life } from "./life.ts";

/** How a request ended for the process that sent it. */
export type Ending = "accepted" | "refused" | "broken" | "given up";

export interface WireParts {
  readonly world: Clock;
  readonly life: Life;
  readonly random: Random;
  /** The server itself: synchronous up to its answer. */
  readonly server: Transport;
  /** One way, in milliseconds, before jitter. */
  readonly pace: () => number;
  /** The moment in which the request leaves the process; returns what is told when the process is done with it. */
  readonly onHandOver: (request: TransportRequest) => (ending: Ending) => void;
}

interface OpenStream {
  cut(): void;
  hush(): void;
}

export class Wire {
  readonly #parts: WireParts;
  readonly #streams = new Set<OpenStream>();

  constructor(parts: WireParts) {
    this.#parts = parts;
  }

  /** Breaks every open stream. */
  cutStreams(): void {
    for (const stream of [...this.#streams]) stream.cut();
  }

  /** A half-open connection: nothing comes any more, and nobody says so. */
  hushStreams(): void {
    for (const stream of [...this.#streams]) stream.hush();
  }

  readonly transport: Transport = (request, signal) => {
    const { world, life, random, server, onHandOver } = this.#parts;
    if (signal.aborted) return Promise.reject(signal.reason);
    const done = onHandOver(request);
    const there = this.#delay();
    // Bytes that left cannot be taken back: whether the server still sees them is a matter of luck.
    const landsAnyway = random.fraction() < 0.5;
    return new Promise<Response>((resolve, reject) => {
      const connection = new AbortController();
      let hasLanded = false;
      const onAbort = () => {
        if (hasLanded || !landsAnyway) connection.abort(signal.reason);
        done("given up");
        reject(signal.reason);
      };
      signal.addEventListener("abort", onAbort, { once: true });
      const forget = life.onDeath(() => {
        if (hasLanded || !landsAnyway) connection.abort(new ConnectionLostError());
      });
      const deliver = (ending: Ending, work: () => void) =>
        world.after(this.#delay(), () =>
          life.deliver("answer", () => {
            forget();
            if (signal.aborted) return;
            signal.removeEventListener("abort", onAbort);
            done(ending);
            work();
          }),
        );
      world.after(there, () => {
        if (connection.signal.aborted) return;
        hasLanded = true;
        server(request, connection.signal).then(
          (response) =>
            deliver(response.ok ? "accepted" : "refused", () =>
              resolve(this.#received(response, request, connection, signal)),
            ),
          (error) => deliver("broken", () => reject(error)),
        );
      });
    });
  };

  #delay(): Milliseconds {
    const { pace, random } = this.#parts;
    return milliseconds(Math.round(pace() * (0.5 + random.fraction())));
  }

  #received(
    response: Response,
    request: TransportRequest,
    connection: AbortController,
    signal: AbortSignal,
  ): Response {
    const { body, status, headers } = response;
    if (body === null || !request.url.includes("watch=")) return response;
    return new Response(this.#stream(body, connection, signal), { status, headers });
  }

  #stream(
    body: ReadableStream<Uint8Array<ArrayBuffer>>,
    connection: AbortController,
    signal: AbortSignal,
  ): ReadableStream<Uint8Array<ArrayBuffer>> {
    const { world, life } = this.#parts;
    const reader = body.getReader();
    let isOpen = true;
    let isSilent = false;
    let lastArrival = 0;
    const close = (): void => {
      if (!isOpen) return;
      isOpen = false;
      this.#streams.delete(handle);
      forget();
      connection.abort(new ConnectionLostError());
    };
    const handle: OpenStream = { cut: () => cut(), hush: () => (isSilent = true) };
    let cut = close;
    const forget = life.onDeath(close);
    /** In order, each after the time the network takes. */
    const arrive = (work: () => void): void => {
      lastArrival = Math.max(world.monotonic() + this.#delay(), lastArrival);
      world.after(milliseconds(lastArrival - world.monotonic()), () =>
        life.deliver("answer", () => {
          if (isOpen && !isSilent) work();
        }),
      );
    };
    this.#streams.add(handle);
    return new ReadableStream<Uint8Array<ArrayBuffer>>({
      start: (controller) => {
        const fail = (error: unknown): void => {
          close();
          controller.error(error);
        };
        cut = () => life.deliver("answer", () => isOpen && fail(new ConnectionLostError()));
        signal.addEventListener("abort", () => isOpen && fail(signal.reason), { once: true });
        const pump = async (): Promise<void> => {
          for (;;) {
            const { done, value } = await reader.read();
            if (done) break;
            arrive(() => controller.enqueue(value));
          }
          arrive(() => {
            close();
            controller.close();
          });
        };
        pump().catch((error) => arrive(() => fail(error)));
      },
      cancel: close,
    });
  }
}
