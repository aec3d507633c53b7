// The transport of the system, against a server that closes connections.

import { expect, test } from "bun:test";
import { createServer, type Socket } from "node:net";
import { systemTransport, type TransportRequest } from "../../src/platform/transport.ts";

const never = new AbortController().signal;

/** Answers the first request of a connection if it is for `/warm`, and closes the connection at any other request. */
async function openServer() {
  const seen: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.on("error", () => undefined));
    socket.on("data", (data) => {
      const [line = ""] = data.toString().split(" HTTP/");
      seen.push(line);
      if (line === "GET /warm") socket.write("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
      else socket.destroy();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  return {
    seen,
    send: async (path: string, request: Omit<TransportRequest, "url">) => {
      const response = await systemTransport({ url: `http://127.0.0.1:${port}${path}`, ...request }, never);
      await response.text();
    },
    [Symbol.dispose]: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

test.each([
  ["PUT", true, 1],
  ["DELETE", true, 1],
  ["POST", true, 1],
  ["PATCH", true, 1],
  // Bun itself repeats this request, which is why `once` exists.
  ["PUT", false, 2],
  ["DELETE", false, 2],
])(
  "sends a %s with once=%p %d times when the connection is closed without a response",
  async (method, once, times) => {
    using server = await openServer();
    await server.send("/warm", { method: "GET" });
    await expect(server.send("/change", { method, body: "{}", once })).rejects.toThrow();
    expect(server.seen.filter((line) => line === `${method} /change`)).toHaveLength(times);
  },
);
