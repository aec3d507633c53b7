// The two ways to reach a simulated cloud: a transport without a network, in the time of its clock, and an HTTP server on the
// loopback interface for other processes. A broken connection rejects like a real one.

import { type Clock, sleep } from "../../platform/clock.ts";
import type { Transport, TransportRequest } from "../../platform/transport.ts";
import { abortable } from "../../runtime/abortable.ts";
import type { Delivery, SimulatedRequest } from "./simulated-api.ts";

/** A cloud that can be reached. */
export interface Reachable {
  readonly clock: Clock;
  receive(request: SimulatedRequest): Delivery;
  /** Other processes plan faults at `faultsPath`. */
  readonly faults?: { addWritten(written: unknown): string | undefined; clear(): void };
  /** Other processes add and revoke bearer tokens below `tokensPath`. */
  readonly tokens?: { add(token: string): void; revoke(token: string): void };
}

function requestOf(
  method: string,
  url: URL,
  text: string,
  header: (name: string) => string | undefined,
): SimulatedRequest {
  const common = { method, url, header, text, authorization: header("authorization") };
  try {
    return { ...common, body: text === "" ? undefined : JSON.parse(text), isMalformed: false };
  } catch {
    return { ...common, body: undefined, isMalformed: true };
  }
}

/** Applies the delay and the fate of a response. */
async function deliver(
  { answer, delay, fate }: Delivery,
  clock: Clock,
  signal: AbortSignal,
): Promise<Response> {
  if (fate === "never") return abortable(new Promise<never>(() => {}), signal);
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

/** The value of a header, whatever its spelling. */
export function headerIn(headers: TransportRequest["headers"], wanted: string): string | undefined {
  return Object.entries(headers ?? {}).find(([name]) => name.toLowerCase() === wanted)?.[1];
}

/** Ignores the host of the URL. */
export function asTransport(cloud: Reachable): Transport {
  return async ({ method, url, body, headers }, signal) => {
    signal.throwIfAborted();
    const header = (name: string) => headerIn(headers, name);
    const delivery = cloud.receive(requestOf(method, new URL(url), textOf(body), header));
    return deliver(delivery, cloud.clock, signal);
  };
}

/** POST plans a fault in the format of `CloudFaults.addWritten`, and DELETE removes all faults. No real cloud has this path. */
export const faultsPath = "/simulator/faults";

async function changeFaults(faults: NonNullable<Reachable["faults"]>, request: Request): Promise<Response> {
  const isRemoval = request.method === "DELETE";
  if (isRemoval) faults.clear();
  const expected = isRemoval ? undefined : faults.addWritten(await request.json().catch(() => undefined));
  if (expected === undefined) return new Response(null, { status: 204 });
  return new Response(`${expected}\n`, { status: 400 });
}

/** `PUT /simulator/tokens/TOKEN` makes a token valid, and DELETE revokes it. No real cloud has this path. */
export const tokensPath = "/simulator/tokens/";

function changeTokens(tokens: NonNullable<Reachable["tokens"]>, { url, method }: Request): Response {
  const token = decodeURIComponent(new URL(url).pathname.slice(tokensPath.length));
  if (token === "" || (method !== "PUT" && method !== "DELETE"))
    return new Response(`Expected PUT or DELETE of ${tokensPath}TOKEN.\n`, { status: 400 });
  if (method === "PUT") tokens.add(token);
  else tokens.revoke(token);
  return new Response(null, { status: 204 });
}

/** Answers a request that arrived over HTTP. */
export async function answerRequest(cloud: Reachable, request: Request): Promise<Response> {
  const { faults, tokens } = cloud;
  const { pathname } = new URL(request.url);
  if (faults !== undefined && pathname === faultsPath) return changeFaults(faults, request);
  if (tokens !== undefined && pathname.startsWith(tokensPath)) return changeTokens(tokens, request);
  try {
    const header = (name: string) => request.headers.get(name) ?? undefined;
    const received = requestOf(request.method, new URL(request.url), await request.text(), header);
    return await deliver(cloud.receive(received), cloud.clock, request.signal);
  } catch (error) {
    // Bun cannot close a connection without a response, so a response that is not from the API replaces it.
    return new Response(String(error), { status: 502 });
  }
}

/** A simulated cloud that other processes can reach. */
export interface ServedCloud extends AsyncDisposable {
  /** The URL without a path. */
  readonly url: string;
}

/** Serves a cloud by HTTP on the loopback interface. */
export function serveCloud(cloud: Reachable, port: number): ServedCloud {
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port,
    // A `hang` fault may last forever; the client decides when to give up.
    idleTimeout: 0,
    fetch: (request) => answerRequest(cloud, request),
  });
  return { url: server.url.origin, [Symbol.asyncDispose]: () => server.stop(true) };
}
