// A fake API server that consists of one function, and clients in virtual time. Stores no objects.

import type { KubeApi } from "../../../src/kube/client/api.ts";
import { HttpKubeApi } from "../../../src/kube/client/http-api.ts";
import type { Connection } from "../../../src/kube/connection/connection.ts";
import { RequestLimit } from "../../../src/kube/requests/request-limit.ts";
import { Requests, type RequestsOptions } from "../../../src/kube/requests/requests.ts";
import { WriteConcurrency } from "../../../src/kube/requests/write-concurrency.ts";
import type { Transport, TransportRequest } from "../../../src/platform/transport.ts";
import { VirtualClock } from "../../../src/testing/virtual-time/virtual-clock.ts";

export type Answer = (request: TransportRequest, signal: AbortSignal) => Response | Promise<Response>;

export const scripted = (answer: Answer, changes: Partial<RequestsOptions> = {}) => {
  const clock = new VirtualClock();
  const seen: TransportRequest[] = [];
  let refreshed = 0;
  const connection: Connection = {
    server: "https://api.test:6443",
    origin: "https://api.test:6443",
    proxy: undefined,
    namespace: undefined,
    access: () => Promise.resolve({ headers: { authorization: `Bearer t${refreshed}` }, tls: { ca: "CA" } }),
    refresh: () => {
      refreshed++;
    },
    explainRefusal: () => undefined,
  };
  const transport: Transport = async (request, signal) => {
    seen.push(request);
    return answer(request, signal);
  };
  const requestLimit = new RequestLimit();
  const writes = new WriteConcurrency(clock);
  const requests = new Requests({ connection, transport, clock, requestLimit, writes, ...changes });
  const api: KubeApi = new HttpKubeApi(requests, { userAgent: "test" });
  return { api, clock, seen, requestLimit, writes, refreshed: () => refreshed };
};

export const json = (value: unknown, status = 200, headers: Record<string, string> = {}): Response =>
  new Response(JSON.stringify(value), { status, headers });

/** A response that stays pending until the request is aborted. */
export const silence = (signal: AbortSignal): Promise<Response> =>
  new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true }));

/** A watch whose lines a test sends one at a time. */
export const openLines = () => {
  const encoder = new TextEncoder();
  let to: ReadableStreamDefaultController<Uint8Array> | undefined;
  let cancelled = false;
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => {
      to = controller;
    },
    cancel: () => {
      cancelled = true;
    },
  });
  return {
    response: new Response(body),
    send: (...events: readonly unknown[]) => {
      for (const event of events) to?.enqueue(encoder.encode(`${JSON.stringify(event)}\n`));
    },
    raw: (text: string) => to?.enqueue(encoder.encode(text)),
    end: () => to?.close(),
    fail: (error: unknown) => to?.error(error),
    isCancelled: () => cancelled,
  };
};

export const failure = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => undefined,
    (error: unknown) => error,
  );
