// Finds a free loopback port below the range of outgoing connections, so that a restarted process finds it free. Does not
// reserve the port.

const first = 20_000;
const count = 12_000;

export const freePort = (): number => {
  for (let tries = 0; tries < 100; tries += 1) {
    const port = first + Math.floor(Math.random() * count);
    try {
      Bun.listen({ hostname: "127.0.0.1", port, socket: { data: () => undefined } }).stop(true);
      return port;
    } catch {
      // The port is in use; try another one.
    }
  }
  throw new Error(`No free port found between ${first} and ${first + count} in 100 attempts.`);
};
