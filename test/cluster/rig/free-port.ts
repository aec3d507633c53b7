// A port of the loopback that nothing listens on, below the range of outgoing connections: what stops and comes back on its
// port finds it free again. It reserves nothing.

const first = 20_000;
const count = 12_000;

export const freePort = (): number => {
  for (let tries = 0; tries < 100; tries += 1) {
    const port = first + Math.floor(Math.random() * count);
    try {
      Bun.listen({ hostname: "127.0.0.1", port, socket: { data: () => undefined } }).stop(true);
      return port;
    } catch {
      // Taken; another one then.
    }
  }
  throw new Error(`Found no free port between ${first} and ${first + count} in 100 tries.`);
};
