// A transport that records every request and fails one chosen request in a chosen way. The cloud behind it never fails.

import type { Transport, TransportRequest } from "../../platform/transport.ts";
import type { CloudRequest } from "../../provider/call.ts";
import { abortable } from "../../runtime/abortable.ts";
import { runsAllTests } from "../breadth.ts";

/**
 * How a request fails. `lost-answer`: the cloud applies the request, but its response is lost. `cut`: half of the body arrives.
 * `nonsense`: 200 with unrelated JSON. With `reset`, `error` (502) and `hang` the request never reaches the cloud. `outage`: this
 * request and all later requests of the same call fail, including requests that are sent at the same time.
 */
export type FaultKind = "reset" | "error" | "outage" | "hang" | "cut" | "lost-answer" | "nonsense";

/** Faults for any request. */
export const faultKinds = [
  "reset",
  "error",
  "outage",
  "hang",
  "cut",
  "lost-answer",
] as const satisfies readonly FaultKind[];

/** Faults for requests that only read. */
export const readFaultKinds = [...faultKinds, "nonsense"] as const satisfies readonly FaultKind[];

/**
 * The positions at which a test fails a request, given the requests of a run without faults. `npm run test:all` uses every
 * position. Otherwise each operation fails once, with a kind that rotates from operation to operation, and each kind occurs at
 * least once.
 */
export function faultPositions(
  requests: readonly Pick<CloudRequest, "operation">[],
  kind: FaultKind,
): readonly number[] {
  const all = [...requests.keys()];
  if (runsAllTests) return all;
  const index = readFaultKinds.indexOf(kind);
  const byOperation = [...Map.groupBy(all, (position) => requests[position]?.operation).values()];
  const chosen = byOperation.filter((_, at) => at % faultKinds.length === index % faultKinds.length);
  const some = chosen.length > 0 ? chosen : byOperation.slice(index % byOperation.length).slice(0, 1);
  return some.flatMap((positions) => positions[index % positions.length] ?? []);
}

/** The time limit, in ms, of a test that runs everything once per request, because a provider may need many requests. */
export const manyRuns = 300_000;

/** Wraps a transport: `failAt` fails one request, or all requests of a call, and `requests` lists every request so far. */
export class FaultyTransport {
  readonly #inner: Transport;
  #fault: { readonly at: number; readonly kind: FaultKind } | undefined;
  /** Whether an outage is in progress, which lasts until the call ends. */
  #isDown = false;
  readonly requests: TransportRequest[] = [];

  constructor(inner: Transport) {
    this.#inner = inner;
  }

  /** Position 0 is the next request. */
  failAt(position: number, kind: FaultKind): void {
    this.#fault = { at: this.requests.length + position, kind };
  }

  endCall(): void {
    this.#isDown = false;
  }

  /** Whether a fault was requested. */
  get isDisturbed(): boolean {
    return this.#fault !== undefined;
  }

  readonly transport: Transport = async (request, signal) => {
    const position = this.requests.push(request) - 1;
    const planned = this.#fault?.at === position ? this.#fault.kind : undefined;
    if (planned === "outage") this.#isDown = true;
    const kind = this.#isDown ? "outage" : planned;
    switch (kind) {
      case undefined:
        return this.#inner(request, signal);
      case "reset":
      case "outage":
        throw new TypeError("The connection was reset.");
      case "hang":
        return abortable(new Promise<never>(() => {}), signal);
      case "error":
        return new Response("<html>Bad gateway</html>", { status: 502 });
      case "nonsense":
        return Response.json({ status: "captive" });
      case "lost-answer":
        await this.#inner(request, signal);
        throw new TypeError("The connection was closed before the response arrived.");
      case "cut": {
        const whole = await this.#inner(request, signal);
        const { status, headers } = whole;
        const text = await whole.text();
        const half = text.slice(0, text.length / 2);
        return new Response(text === "" ? null : half, { status, headers });
      }
    }
  };
}
