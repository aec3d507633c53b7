// A transport to the simulated cloud without a network, in the time of its clock. A broken connection rejects as a real one
// does.

import { type Clock, sleep, type Transport, type TransportRequest } from "#ccm/testing";
import type { Query } from "./answer.ts";
import type { Delivery, FakeCloud } from "./fake-cloud.ts";

export function queryOf(method: string, url: URL, body: string): Query {
  return {
    method,
    path: url.pathname.replace(/^\/v1/, ""),
    query: url.searchParams,
    body: body === "" ? undefined : JSON.parse(body),
  };
}

function never(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    else signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}

/** Delivers a response: applies its delay and its fault. */
export async function deliver(
  { answer, delay, fate }: Delivery,
  clock: Clock,
  signal: AbortSignal,
): Promise<Response> {
  if (fate === "never") return never(signal);
  if (delay > 0) await sleep(clock, delay, signal);
  if (fate === "reset") throw new TypeError("The connection was closed before the response.");
  const { status, body, headers } = answer;
  const text = body === undefined ? null : JSON.stringify(body);
  const sent = fate === "cut" && text !== null ? text.slice(0, text.length / 2) : text;
  return new Response(sent, { status, headers: { "content-type": "application/json", ...headers } });
}

function textOf(body: TransportRequest["body"]): string {
  return body === undefined ? "" : typeof body === "string" ? body : new TextDecoder().decode(body);
}

export function tokenOf(authorization: string | null | undefined): string | undefined {
  return authorization?.replace(/^Bearer /i, "");
}

export function asTransport(cloud: FakeCloud): Transport {
  return async (request, signal) => {
    signal.throwIfAborted();
    const query = queryOf(request.method, new URL(request.url), textOf(request.body));
    const delivery = cloud.handle(query, tokenOf(request.headers?.["authorization"]));
    return deliver(delivery, cloud.clock, signal);
  };
}
