// A transport to the simulated Rancher without a network, in the time of its clock.

import { type Clock, sleep, type Transport, type TransportRequest } from "#ccm/testing";
import type { Delivery, RancherCloud } from "./rancher-cloud.ts";

function parse(text: string): { readonly body: unknown; readonly isMalformed?: boolean } {
  if (text === "") return { body: undefined };
  try {
    return { body: JSON.parse(text) };
  } catch {
    return { body: undefined, isMalformed: true };
  }
}

export function route(
  cloud: RancherCloud,
  method: string,
  url: URL,
  { body, authorization }: { readonly body: string; readonly authorization: string | undefined },
): Delivery {
  return cloud.handle({ method, url, ...parse(body), authorization });
}

function never(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    else signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}

/** Delivers a response: applies its delay and its fate. */
export async function deliver(
  { status, body, headers, delay, fate }: Delivery,
  clock: Clock,
  signal: AbortSignal,
): Promise<Response> {
  if (fate === "never") return never(signal);
  if (delay > 0) await sleep(clock, delay, signal);
  if (fate === "reset") throw new TypeError("The connection was closed before the response.");
  const text = body === undefined ? null : typeof body === "string" ? body : JSON.stringify(body);
  return new Response(text, { status, headers: { "content-type": "application/json", ...headers } });
}

function textOf(body: TransportRequest["body"]): string {
  return body === undefined ? "" : typeof body === "string" ? body : new TextDecoder().decode(body);
}

export function asTransport(cloud: RancherCloud): Transport {
  return async ({ method, url, body, headers = {} }, signal) => {
    signal.throwIfAborted();
    const named = Object.entries(headers).find(([name]) => name.toLowerCase() === "authorization");
    const delivery = route(cloud, method, new URL(url), { body: textOf(body), authorization: named?.[1] });
    return deliver(delivery, cloud.clock, signal);
  };
}
