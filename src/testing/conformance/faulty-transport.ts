// A transport that fails one chosen request in a chosen way, and remembers every request. The cloud behind it stays as
// good as it is.

import type { Transport, TransportRequest } from "../../platform/transport.ts";

/** `lost-answer`: done, but nobody hears of it. `cut`: half a body. `nonsense`: 200 with JSON of somebody else. The others happen before anything is done. */
export type FaultHow = "reset" | "error" | "hang" | "cut" | "lost-answer" | "nonsense";

/** What may happen to any request. */
export const faultHows = [
  "reset",
  "error",
  "hang",
  "cut",
  "lost-answer",
] as const satisfies readonly FaultHow[];

/** What may happen to a reading one, besides. */
export const readFaultHows = [...faultHows, "nonsense"] as const satisfies readonly FaultHow[];

function hang(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}

export class FaultyTransport {
  readonly #inner: Transport;
  #fault: { readonly at: number; readonly how: FaultHow } | undefined;
  #isDown = false;
  readonly requests: TransportRequest[] = [];

  constructor(inner: Transport) {
    this.#inner = inner;
  }

  /** 0 is the next request. */
  failAt(position: number, how: FaultHow): void {
    this.#fault = { at: this.requests.length + position, how };
  }

  /** From now on every request fails, or none. */
  setDown(isDown: boolean): void {
    this.#isDown = isDown;
  }

  readonly transport: Transport = async (request, signal) => {
    const position = this.requests.push(request) - 1;
    const how = this.#isDown ? "reset" : this.#fault?.at === position ? this.#fault.how : undefined;
    switch (how) {
      case undefined:
        return this.#inner(request, signal);
      case "reset":
        throw new TypeError("The connection was reset.");
      case "hang":
        return hang(signal);
      case "error":
        return new Response("<html>Bad gateway</html>", { status: 502 });
      case "nonsense":
        return Response.json({ status: "captive" });
      case "lost-answer":
        await this.#inner(request, signal);
        throw new TypeError("The connection was closed before an answer came.");
      case "cut": {
        const { status, headers, ...response } = await this.#inner(request, signal).then(async (whole) => ({
          status: whole.status,
          headers: whole.headers,
          text: await whole.text(),
        }));
        const half = response.text.slice(0, response.text.length / 2);
        return new Response(response.text === "" ? null : half, { status, headers });
      }
    }
  };
}
