// A transport to the simulated cloud without a network, in the time of its clock. A broken connection rejects as a real one
// does.

import { type Clock, sleep, type Transport, type TransportRequest } from "#ccm/testing";
import { type Delivery, type HetznerCloud, invalidJson, type Query } from "./hetzner-cloud.ts";

function parse(text: string): unknown {
  if (text === "") return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return invalidJson;
  }
}

/** Paths below `/v1` are the cloud's, and all others are Robot's. */
export function route(
  cloud: HetznerCloud,
  method: string,
  url: URL,
  { body, authorization }: { readonly body: string; readonly authorization: string | undefined },
): Delivery {
  const isCloud = url.pathname.startsWith("/v1/");
  const path = isCloud ? url.pathname.slice("/v1".length) : url.pathname;
  const query: Query = { method, path, query: url.searchParams, body: parse(body), authorization };
  return cloud.handle(query, isCloud ? "cloud" : "robot");
}

function never(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    else signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}

/** Delivers a response: applies its delay and its fate. */
export async function deliver(
  { answer, delay, fate }: Delivery,
  clock: Clock,
  signal: AbortSignal,
): Promise<Response> {
  if (fate === "never") return never(signal);
  if (fate === "refused") throw new TypeError("Unable to connect. The connection was refused.");
  if (delay > 0) await sleep(clock, delay, signal);
  if (fate === "reset") throw new TypeError("The connection was closed before the response.");
  const { status, body, headers } = answer;
  const text = body === undefined ? null : typeof body === "string" ? body : JSON.stringify(body);
  const sent = fate === "cut" && text !== null ? text.slice(0, text.length / 2) : text;
  return new Response(sent, {
    status,
    headers: { ...(text !== null && { "content-type": "application/json" }), ...headers },
  });
}

function textOf(body: TransportRequest["body"]): string {
  return body === undefined ? "" : typeof body === "string" ? body : new TextDecoder().decode(body);
}

/** For the cloud and Robot, whatever the host of the URL is. */
export function asTransport(cloud: HetznerCloud): Transport {
  return async ({ method, url, body, headers = {} }, signal) => {
    signal.throwIfAborted();
    const named = Object.entries(headers).find(([name]) => name.toLowerCase() === "authorization");
    const request = { body: textOf(body), authorization: named?.[1] };
    return deliver(route(cloud, method, new URL(url), request), cloud.clock, signal);
  };
}
