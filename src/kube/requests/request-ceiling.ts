// A process-wide limit of requests in flight, watches included, below the number at which Bun queues without a word.
// Some places are kept for leases, health and authentication; it knows nothing of rates or of how a server feels.

import { WaitingLine } from "./waiting-line.ts";

/** "reserved" may use every place, "normal" only those that are not kept back. */
export type Lane = "normal" | "reserved";

export interface RequestCeiling {
  readonly inFlight: number;
  readonly waiting: number;
  /** Resolves with the function that gives the place back; calling it twice does no harm. */
  enter(lane: Lane, signal: AbortSignal): Promise<() => void>;
}

export function createRequestCeiling({ limit = 200, reserved = 16 } = {}): RequestCeiling {
  const lines: Record<Lane, WaitingLine> = { normal: new WaitingLine(), reserved: new WaitingLine() };
  let inFlight = 0;
  const fits = (lane: Lane): boolean => inFlight < (lane === "reserved" ? limit : limit - reserved);

  const take = (): (() => void) => {
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      inFlight--;
      admit();
    };
  };
  const admit = (): void => {
    // The place is counted when the turn is given, or two callers could take one place.
    for (const lane of ["reserved", "normal"] as const) {
      while (fits(lane) && lines[lane].length > 0) {
        inFlight++;
        lines[lane].next();
      }
    }
  };

  return {
    get inFlight() {
      return inFlight;
    },
    get waiting() {
      return lines.normal.length + lines.reserved.length;
    },
    enter: async (lane, signal) => {
      signal.throwIfAborted();
      if (fits(lane) && lines[lane].length === 0) inFlight++;
      else await lines[lane].join(signal);
      return take();
    },
  };
}
