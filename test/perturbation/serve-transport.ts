// Serves a transport over HTTP on the loopback interface, so that a manager in another process can use a perturbed server.

import type { Transport, TransportRequest } from "../../src/platform/transport.ts";

export interface ServedTransport extends AsyncDisposable {
  readonly url: string;
}

const ofConnection = ["host", "connection", "accept-encoding", "content-length", "transfer-encoding"];

const blankLine = Uint8Array.of(0x0a);

const isWatch = /[?&]watch=(1|true)(&|$)/;

/** The headers of a response that the transport has decoded. */
const decoded = (headers: Headers): Headers => {
  const kept = new Headers(headers);
  for (const name of ["content-encoding", "content-length", "transfer-encoding"]) kept.delete(name);
  return kept;
};

/** Requests go to the same path of `target`. */
export const serveTransport = (send: Transport, target: string): ServedTransport => {
  const answer = async (request: Request): Promise<Response> => {
    const { pathname, search } = new URL(request.url);
    const headers = [...request.headers].filter(([name]) => !ofConnection.includes(name));
    const body = request.body === null ? undefined : Uint8Array.from(await request.bytes());
    const forwarded: TransportRequest = {
      method: request.method,
      url: `${target}${pathname}${search}`,
      headers: Object.fromEntries(headers),
      body,
    };
    const response = await send(forwarded, request.signal);
    const { status } = response;
    // Bun delays the headers until the first byte of the body. Readers of JSON lines skip an empty line.
    const opened =
      isWatch.test(search) && response.body !== null
        ? response.body.pipeThrough(
            new TransformStream({ start: (controller) => controller.enqueue(blankLine) }),
          )
        : response.body;
    return new Response(opened, { status, headers: decoded(response.headers) });
  };
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 0,
    development: false,
    fetch: (request) =>
      answer(request).catch((error: unknown) => new Response(String(error), { status: 502 })),
  });
  return { url: server.url.origin, [Symbol.asyncDispose]: () => server.stop(true) };
};
