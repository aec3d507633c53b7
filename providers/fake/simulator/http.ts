// Serves the simulated cloud and its admin API by HTTP on the loopback interface, for other processes.

import { type Milliseconds, milliseconds } from "#ccm";
import { handleAdmin } from "./admin.ts";
import type { FakeCloud } from "./fake-cloud.ts";
import { deliver, queryOf, tokenOf } from "./transport.ts";

export interface ServedCloud extends AsyncDisposable {
  readonly url: string;
}

const immediately: Milliseconds = milliseconds(0);

export function serveFakeCloud(cloud: FakeCloud, port: number): ServedCloud {
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port,
    // A `hang` fault may last forever; the client decides when to give up.
    idleTimeout: 0,
    fetch: async (request) => {
      const url = new URL(request.url);
      try {
        const query = queryOf(request.method, url, await request.text());
        const admin = handleAdmin(cloud, query);
        const delivery =
          admin === undefined
            ? cloud.handle(query, tokenOf(request.headers.get("authorization")))
            : { answer: admin, delay: immediately, fate: "whole" as const };
        return await deliver(delivery, cloud.clock, request.signal);
      } catch (error) {
        // Bun cannot close a connection without a response. A response that is not from the cloud API replaces it.
        return new Response(String(error), { status: error instanceof SyntaxError ? 400 : 502 });
      }
    },
  });
  return {
    url: server.url.origin,
    [Symbol.asyncDispose]: () => server.stop(true),
  };
}
