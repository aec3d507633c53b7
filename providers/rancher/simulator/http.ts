// Serves the simulated Rancher by HTTP on the loopback interface, for other processes.

import type { RancherCloud } from "./rancher-cloud.ts";
import { deliver, route } from "./transport.ts";

export interface ServedRancher extends AsyncDisposable {
  /** Without `/v2-beta`. */
  readonly url: string;
}

export async function answer(cloud: RancherCloud, request: Request): Promise<Response> {
  try {
    const authorization = request.headers.get("authorization") ?? undefined;
    const sent = { body: await request.text(), authorization };
    const delivery = route(cloud, request.method, new URL(request.url), sent);
    return await deliver(delivery, cloud.clock, request.signal);
  } catch (error) {
    // Bun cannot close a connection without a response. A response that is not from the API replaces it.
    return new Response(String(error), { status: 502 });
  }
}

export function serveRancherCloud(cloud: RancherCloud, port: number): ServedRancher {
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port,
    // A `hang` fault may last forever; the client decides when to give up.
    idleTimeout: 0,
    fetch: (request) => answer(cloud, request),
  });
  return { url: server.url.origin, [Symbol.asyncDispose]: () => server.stop(true) };
}
