// Detects dead connections to a server (two consecutive deadlines without a response) and switches to a new connection
// pool. Bun keys its pools by the TLS options, so a harmless change of these opens a new pool.

import type { TlsMaterial } from "../../platform/transport.ts";

const maxTimeouts = 2;

export class PoolGeneration {
  #current = 0;
  #timeoutsInARow = 0;

  /** The pool in use. A request that gets no response in time passes the value that it began with to `timedOut`. */
  get current(): number {
    return this.#current;
  }

  answered(): void {
    this.#timeoutsInARow = 0;
  }

  timedOut(generation: number): void {
    // A deadline that ends late in an earlier pool does not affect the current pool.
    if (generation !== this.#current || ++this.#timeoutsInARow < maxTimeouts) return;
    this.#timeoutsInARow = 0;
    this.#current++;
  }
}

/** Host names are case-insensitive, so each spelling is the same server with a different pool. */
function respell(host: string, generation: number): string {
  let bits = generation;
  return host.replace(/[a-z]/gi, (letter) => {
    const isUpper = (bits & 1) === 1;
    bits >>>= 1;
    return isUpper ? letter.toUpperCase() : letter.toLowerCase();
  });
}

/** TLS options of this generation's pool. Plain HTTP has none, so a dead pool ends only as its connections time out. */
export function tlsOfGeneration(
  tls: TlsMaterial | undefined,
  generation: number,
  host: string,
): TlsMaterial | undefined {
  if (tls === undefined || generation === 0) return tls;
  const newlines = "\n".repeat(generation % 64);
  if (tls.ca !== undefined) return { ...tls, ca: `${tls.ca}${newlines}` };
  if (tls.cert !== undefined) return { ...tls, cert: `${tls.cert}${newlines}` };
  return { ...tls, serverName: respell(tls.serverName ?? host, generation % 64) };
}
