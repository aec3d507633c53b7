// Notices that connections to a server are dead without a word, and moves to a new pool: two deadlines in a row without
// an answer in between. Bun keys its pools by the content of the TLS options, so a harmless change of them is enough.

import type { TlsMaterial } from "../../platform/transport.ts";

export interface PoolKey {
  /** Which pool is used now; pass it back with the outcome. */
  readonly generation: number;
  answered(): void;
  timedOut(generation: number): void;
}

const tolerated = 2;

export function createPoolKey(): PoolKey {
  let generation = 0;
  let inARow = 0;
  return {
    get generation() {
      return generation;
    },
    answered: () => {
      inARow = 0;
    },
    timedOut: (of) => {
      // A late deadline of a pool already left says nothing about the new one.
      if (of !== generation || ++inARow < tolerated) return;
      inARow = 0;
      generation++;
    },
  };
}

/** Names are compared without regard to case, so each spelling is the same server and another pool. */
function spelled(host: string, generation: number): string {
  let bits = generation;
  return host.replace(/[a-z]/gi, (letter) => {
    const isUpper = (bits & 1) === 1;
    bits >>>= 1;
    return isUpper ? letter.toUpperCase() : letter.toLowerCase();
  });
}

/** Plain HTTP has no TLS options, so there a dead pool is only left as its connections run into their deadlines. */
export function keyedTls(
  tls: TlsMaterial | undefined,
  generation: number,
  host: string,
): TlsMaterial | undefined {
  if (tls === undefined || generation === 0) return tls;
  const fresh = "\n".repeat(generation % 64);
  if (tls.ca !== undefined) return { ...tls, ca: `${tls.ca}${fresh}` };
  if (tls.cert !== undefined) return { ...tls, cert: `${tls.cert}${fresh}` };
  return { ...tls, serverName: spelled(tls.serverName ?? host, generation % 64) };
}
