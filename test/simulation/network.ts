// The network between a simulated process and a server: requests and responses take time, a request may reach the
// server after its sender gave up, and streams can be cut or go silent.

import { type Milliseconds, milliseconds } from "../../src/core/brand.ts";
import type { Clock } from "../../src/platform/clock.ts";
import type { Random } from "../../src/platform/random.ts";
import type { Transport, TransportRequest } from "../../src/platform/transport.ts";
import { ConnectionLostError } from "../../src/testing/apiserver/api-server.ts";
import type { SimulatedProcess } from "./simulated-process.ts";

/** The outcome of a request, as its sender sees it. */
export type RequestOutcome = "accepted" | "refused" | "broken" | "aborted";

export interface NetworkDeps {
  readonly world: Clock;
  readonly process: SimulatedProcess;
  readonly random: Random;
  /** The server; it answers synchronously. */
  readonly server: Transport;
  /** Milliseconds in one direction, before jitter. */
  readonly latency: () => number;
  /** Called when the process sends a request; the returned function is called with its outcome. */
  readonly onSend: (request: TransportRequest) => (ending: RequestOutcome) => void;
}

interface OpenStream {
  readonly url: string;
  cut(): void;
  stall(): void;
}

export class Network {
  readonly #deps: NetworkDeps;
  readonly #streams = new Set<OpenStream>();
  #silent: { readonly until: number; readonly part: string } = { until: 0, part: "" };

  constructor(deps: NetworkDeps) {
    this.#deps = deps;
  }

  /** Breaks every open stream. */
  cutStreams(): void {
    for (const stream of [...this.#streams]) stream.cut();
  }

  /** Makes streams with this part in their URL go silent without an error, as on a half-open connection; for some time, new ones too. */
  stallStreams(milliseconds = 0, part = ""): void {
    this.#silent = { until: this.#deps.world.monotonic() + milliseconds, part };
    for (const stream of [...this.#streams]) if (stream.url.includes(part)) stream.stall();
  }

  readonly transport: Transport = (request, signal) => {
    const { world, process, random, server, onSend } = this.#deps;
    if (signal.aborted) return Promise.reject(signal.reason);
    const done = onSend(request);
    const delay = this.#delay();
    // A sent request cannot be taken back: half of the aborted ones still reach the server.
    const arrivesAnyway = random.fraction() < 0.5;
    return new Promise<Response>((resolve, reject) => {
      const connection = new AbortController();
      let hasArrived = false;
      const onAbort = () => {
        if (hasArrived || !arrivesAnyway) connection.abort(signal.reason);
        done("aborted");
        reject(signal.reason);
      };
      signal.addEventListener("abort", onAbort, { once: true });
      const removeListener = process.onDeath(() => {
        if (hasArrived || !arrivesAnyway) connection.abort(new ConnectionLostError());
      });
      const deliver = (ending: RequestOutcome, work: () => void) =>
        world.after(this.#delay(), () =>
          process.deliver("answer", () => {
            removeListener();
            if (signal.aborted) return;
            signal.removeEventListener("abort", onAbort);
            done(ending);
            work();
          }),
        );
      world.after(delay, () => {
        if (connection.signal.aborted) return;
        hasArrived = true;
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
    const { latency, random } = this.#deps;
    return milliseconds(Math.round(latency() * (0.5 + random.fraction())));
  }

  #received(
    response: Response,
    request: TransportRequest,
    connection: AbortController,
    signal: AbortSignal,
  ): Response {
    const { body, status, headers } = response;
    if (body === null || !request.url.includes("watch=")) return response;
    return new Response(this.#stream(request.url, body, connection, signal), { status, headers });
  }

  #stream(
    url: string,
    body: ReadableStream<Uint8Array<ArrayBuffer>>,
    connection: AbortController,
    signal: AbortSignal,
  ): ReadableStream<Uint8Array<ArrayBuffer>> {
    const { world, process } = this.#deps;
    const reader = body.getReader();
    let isOpen = true;
    let isSilent = world.monotonic() < this.#silent.until && url.includes(this.#silent.part);
    let lastArrival = 0;
    const close = (): void => {
      if (!isOpen) return;
      isOpen = false;
      this.#streams.delete(handle);
      removeListener();
      connection.abort(new ConnectionLostError());
    };
    const handle: OpenStream = { url, cut: () => cut(), stall: () => (isSilent = true) };
    let cut = close;
    const removeListener = process.onDeath(close);
    /** Delivers in order, each after the latency. */
    const arrive = (work: () => void): void => {
      lastArrival = Math.max(world.monotonic() + this.#delay(), lastArrival);
      world.after(milliseconds(lastArrival - world.monotonic()), () =>
        process.deliver("answer", () => {
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
        cut = () => process.deliver("answer", () => isOpen && fail(new ConnectionLostError()));
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
