// Serves the simulated cloud by HTTP on the loopback interface, for other processes: the cloud below `/v1`, Robot elsewhere.

import type { HetznerCloud } from "./hetzner-cloud.ts";
import { deliver, route } from "./transport.ts";

export interface ServedCloud extends AsyncDisposable {
  /** Without `/v1`. */
  readonly url: string;
}

export function serveHetznerCloud(cloud: HetznerCloud, port: number): ServedCloud {
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port,
    // A `hang` fault may last forever; the client decides when to give up.
    idleTimeout: 0,
    fetch: async (request) => {
      try {
        const authorization = request.headers.get("authorization") ?? undefined;
        const sent = { body: await request.text(), authorization };
        const delivery = route(cloud, request.method, new URL(request.url), sent);
        return await deliver(delivery, cloud.clock, request.signal);
      } catch (error) {
        // Bun cannot close a connection without a response. A response that is not from the API replaces it.
        return new Response(String(error), { status: 502 });
      }
    },
  });
  return {
    url: server.url.origin,
    [Symbol.asyncDispose]: () => server.stop(true),
  };
}
