// A TCP relay between a client and the API server that a test can cut or freeze to simulate a broken network.

import type { Socket } from "bun";

export interface TcpRelay extends AsyncDisposable {
  readonly port: number;
  readonly connections: number;
  /** Breaks every connection. New connections work. */
  cut(): void;
  /** Stops forwarding on all connections without closing them, as with a half-open peer. New connections work. */
  freeze(): void;
}

interface Side {
  other: Socket<Side> | undefined;
  /** Data that waits until the other side is connected and writable. */
  waiting: Uint8Array[];
}

export const startTcpRelay = (target: { readonly hostname: string; readonly port: number }): TcpRelay => {
  const sockets = new Set<Socket<Side>>();
  /** Data that clients sent before the connection to the server was open. */
  const early = new Map<Socket<Side>, Uint8Array[]>();
  const frozen = new WeakSet<Socket<Side>>();

  const drain = (socket: Socket<Side>): void => {
    if (frozen.has(socket)) return;
    const { waiting } = socket.data;
    while (waiting.length > 0) {
      const part = waiting[0] as Uint8Array;
      const written = Math.max(0, socket.write(part));
      if (written < part.length) {
        waiting[0] = part.subarray(written);
        return;
      }
      waiting.shift();
    }
  };
  const pass = (socket: Socket<Side> | undefined, part: Uint8Array): void => {
    if (socket === undefined) return;
    socket.data.waiting.push(Uint8Array.from(part));
    drain(socket);
  };
  const end = (socket: Socket<Side>): void => {
    sockets.delete(socket);
    const { other } = socket.data;
    if (other !== undefined && sockets.has(other) && !frozen.has(other)) {
      sockets.delete(other);
      drain(other);
      other.end();
    }
  };
  const common = { drain, close: end, end, error: end };

  const listener = Bun.listen<Side>({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      ...common,
      open: (client) => {
        client.data = { other: undefined, waiting: [] };
        sockets.add(client);
        Bun.connect<Side>({
          ...target,
          data: { other: client, waiting: [] },
          socket: {
            ...common,
            open: (server) => {
              sockets.add(server);
              client.data.other = server;
              for (const part of early.get(client) ?? []) pass(server, part);
              early.delete(client);
            },
            data: (server, part) => pass(server.data.other, part),
            connectError: () => client.terminate(),
          },
        }).catch(() => client.terminate());
      },
      data: (client, part) => {
        if (client.data.other !== undefined) pass(client.data.other, part);
        else early.set(client, [...(early.get(client) ?? []), Uint8Array.from(part)]);
      },
    },
  });

  const cut = (): void => {
    for (const socket of sockets) socket.terminate();
    sockets.clear();
  };
  return {
    port: listener.port,
    get connections() {
      return sockets.size / 2;
    },
    cut,
    freeze: () => {
      for (const socket of sockets) frozen.add(socket);
    },
    [Symbol.asyncDispose]: async () => {
      cut();
      listener.stop(true);
    },
  };
};
