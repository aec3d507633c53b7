// HTTP without TLS for probes and scrapers of the same machine or pod network.

import type { ServedResponse } from "./listener.ts";

export interface PlainListener {
  readonly port: number;
  close(): Promise<void>;
}

export interface PlainOptions {
  /** Empty: all addresses. */
  readonly host: string;
  /** 0 selects a free port. */
  readonly port: number;
  /** Undefined: there is no such page. */
  readonly answer: (path: string) => ServedResponse | Promise<ServedResponse> | undefined;
}

/** No page here has a body to read. */
const maxBody = 1024;

/** Rejects with an error that has the system's `code`, such as `EADDRINUSE`. */
export async function listenPlain({ host, port, answer }: PlainOptions): Promise<PlainListener> {
  const server = Bun.serve({
    ...(host !== "" && { hostname: host }),
    port,
    maxRequestBodySize: maxBody,
    development: false,
    fetch: async (request) => {
      if (request.method !== "GET" && request.method !== "HEAD")
        return new Response("Only GET is allowed.\n", { status: 405 });
      const page = await answer(new URL(request.url).pathname);
      if (page === undefined) return new Response("Page not found.\n", { status: 404 });
      return new Response(page.body, { status: page.status, headers: page.headers });
    },
  });
  return { port: server.port ?? port, close: () => server.stop(true) };
}
