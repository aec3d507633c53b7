// Serves the simulated Rancher over HTTP on the loopback interface, for other processes, with its event socket.

import { answerRequest, type ServedCloud, SocketError } from "#ccm/testing";
import { isEventSocket } from "./events.ts";
import type { RancherCloud } from "./rancher-cloud.ts";

/** The messages of an event socket, until it is closed. */
interface EventSocket {
  readonly texts: AsyncIterator<string>;
  readonly closed: AbortController;
}

/** The first text of a subscription is empty and shows that the socket is open. */
async function subscribe(cloud: RancherCloud, request: Request): Promise<EventSocket | Response> {
  const authorization = request.headers.get("authorization") ?? undefined;
  const closed = new AbortController();
  const texts = cloud.events.subscribe(authorization, cloud.clock, closed.signal)[Symbol.asyncIterator]();
  try {
    await texts.next();
    return { texts, closed };
  } catch (error) {
    return new Response(String(error), {
      status: error instanceof SocketError ? (error.status ?? 502) : 502,
    });
  }
}

export function serveRancherCloud(cloud: RancherCloud, port: number): ServedCloud {
  const server = Bun.serve<EventSocket>({
    hostname: "127.0.0.1",
    port,
    // A `hang` fault may last forever; the client decides when to give up.
    idleTimeout: 0,
    fetch: async (request, serving) => {
      if (!isEventSocket(request.url) || request.headers.get("upgrade") === null)
        return answerRequest(cloud, request);
      const data = await subscribe(cloud, request);
      if (data instanceof Response) return data;
      if (serving.upgrade(request, { data })) return undefined;
      data.closed.abort();
      return new Response("The WebSocket cannot be opened.", { status: 400 });
    },
    websocket: {
      open: async (socket) => {
        const { texts } = socket.data;
        try {
          for (let next = await texts.next(); next.done !== true; next = await texts.next())
            socket.send(next.value);
          socket.close();
        } catch {
          // Ends the connection as a failing server does.
          socket.terminate();
        }
      },
      message: () => undefined,
      close: ({ data }) => data.closed.abort(),
    },
  });
  return { url: server.url.origin, [Symbol.asyncDispose]: () => server.stop(true) };
}
