// The page /status of the demo, over plain HTTP on loopback: all its data is simulated, so it needs no credentials. The
// executable serves the same page only on its secure port.

import type { Manager } from "../../src/app/manager/manager.ts";
import { statusPage } from "../../src/inspect/status/status-page.ts";
import type { Clock } from "../../src/platform/clock.ts";

export interface StatusServer extends AsyncDisposable {
  readonly url: string;
}

export function serveStatus(manager: Manager, program: string, clock: Clock): StatusServer {
  const page = statusPage({ manager, program, clock });
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: async (request) => {
      const { host, pathname: path, searchParams: query } = new URL(request.url);
      // A website can point its own host name to this address; a browser then sends that name.
      if (host !== `127.0.0.1:${server.port}` || path !== "/status")
        return new Response("Not found. The page is /status.\n", { status: 404 });
      const { method } = request;
      const { status, headers, body } = await page({
        method,
        path,
        query,
        headers: [],
        body: async () => "",
      });
      return new Response(body, { status, headers: { ...headers } });
    },
  });
  return {
    url: `http://127.0.0.1:${server.port}/status`,
    [Symbol.asyncDispose]: () => server.stop(true),
  };
}
