// The shape of what a kind adds to the general rules: defaults, allocation and validation. The table of them is object-rules.ts.

import type { Cause } from "../http/api-error.ts";
import type { KubeObject } from "../storage/kube-object.ts";
import type { ServiceAllocator } from "./service-allocator.ts";

export interface Rules {
  /** Fills in what the server fills in; called for every write. */
  readonly defaults?: (object: KubeObject, before: KubeObject | undefined) => KubeObject;
  /** Called once everything was found valid, before the write; may hand out addresses and ports. */
  readonly allocate?: (
    object: KubeObject,
    before: KubeObject | undefined,
    allocator: ServiceAllocator,
  ) => KubeObject;
  readonly validate?: (object: KubeObject, before: KubeObject | undefined) => readonly Cause[];
}
