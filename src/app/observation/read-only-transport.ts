// Transports that cannot change anything, for commands that only look: requests with a writing method are refused before they reach
// the network, whatever the caller believes about them. What a cloud reads with POST, the governed transport decides.

import type { Transport, TransportRequest } from "../../platform/transport.ts";

/** Methods without effect. */
const reading = ["GET", "HEAD", "OPTIONS"];

export class ReadOnlyTransports {
  /** The refused requests, as method and URL without query. */
  readonly refused: string[] = [];
  #sent = 0;

  /** The number of requests that were sent, without watches. */
  get sent(): number {
    return this.#sent;
  }

  /** For the API server: reads only. */
  kube(transport: Transport): Transport {
    return (request, signal) => this.#send(transport, request, signal, reading);
  }

  /** For the cloud: some clouds read with POST and sign in with it, so the declaration of each request decides about POST. */
  cloud(transport: Transport): Transport {
    return (request, signal) => this.#send(transport, request, signal, [...reading, "POST"]);
  }

  async #send(
    transport: Transport,
    request: TransportRequest,
    signal: AbortSignal,
    allowed: readonly string[],
  ): Promise<Response> {
    const { method, url } = request;
    if (!allowed.includes(method.toUpperCase())) {
      const { origin, pathname } = new URL(url);
      this.refused.push(`${method} ${origin}${pathname}`);
      throw new Error(`${method} ${pathname} was not sent: this command changes nothing.`);
    }
    if (!url.includes("watch=true")) this.#sent += 1;
    return transport(request, signal);
  }
}
