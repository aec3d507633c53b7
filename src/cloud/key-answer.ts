// What is known under one key of a machine: by which kind of request, and as of when.

import type { Instance } from "../provider/instances.ts";

export interface KeyAnswer {
  readonly instances: readonly Instance[];
  /** When the request that says so began, monotonic. */
  readonly asOf: number;
  readonly proof: "listing" | "lookup";
}
