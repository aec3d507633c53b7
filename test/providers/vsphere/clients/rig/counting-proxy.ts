// A vCenter with a certificate, in front of vcsim: it counts the calls of a manager, and delays each.

import { createAuthority } from "../../../../../src/pki/authority.ts";
import { systemClock } from "../../../../../src/platform/clock.ts";
import { systemRandom } from "../../../../../src/platform/random.ts";

export class CountingProxy implements AsyncDisposable {
  readonly port: number;
  readonly #server: Bun.Server<undefined>;
  #counts = new Map<string, number>();

  constructor(host: string, delay: number) {
    const { cert, key } = createAuthority("vcsim", systemClock, systemRandom).issueServer("vcsim", [
      "127.0.0.1",
    ]);
    this.#server = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      tls: { cert, key },
      idleTimeout: 0,
      fetch: async (request) => {
        const { pathname, search } = new URL(request.url);
        const body = await request.text();
        const soap = /<(?:\w+:)?Body[^>]*>\s*<(?:\w+:)?(\w+)/.exec(body)?.[1];
        const name = soap ?? `${request.method} ${pathname.replace(/id:.*/, "{id}")}`;
        this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
        await Bun.sleep(delay);
        const { method, headers } = request;
        const forwarded = await fetch(`http://${host}${pathname}${search}`, {
          method,
          headers,
          ...(body !== "" && { body }),
        });
        // Bun has decoded the body.
        const answered = new Headers(forwarded.headers);
        for (const one of ["content-encoding", "content-length", "transfer-encoding"]) answered.delete(one);
        return new Response(await forwarded.arrayBuffer(), { status: forwarded.status, headers: answered });
      },
    });
    this.port = this.#server.port ?? 0;
  }

  /** The calls since the last call of this function, by method. */
  take(): { readonly total: number; readonly byName: Readonly<Record<string, number>> } {
    const byName = Object.fromEntries(this.#counts);
    this.#counts = new Map();
    return { total: Object.values(byName).reduce((sum, one) => sum + one, 0), byName };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.stop(true);
  }
}
