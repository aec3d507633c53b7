// The API server that a bench runs against, whichever it is.

import type { ServerWrites } from "./server-writes.ts";

export interface BenchServer {
  readonly name: string;
  readonly kubeconfigPath: string;
  /** What it has counted itself; undefined where it counts nothing. */
  readonly writes: () => Promise<ServerWrites | undefined>;
  stop(): Promise<void>;
}
