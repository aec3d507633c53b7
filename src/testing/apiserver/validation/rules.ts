// What a kind adds to the general rules: defaults, allocation and validation. object-rules.ts has the table of kinds.

import type { Cause } from "../objects/api-error.ts";
import type { KubeObject } from "../objects/kube-object.ts";

/** Cluster addresses and node ports that are still free. */
export interface Allocator {
  address(family: string): string;
  /** A free port that is not in `chosen` either; undefined when the range is used up. */
  port(chosen: ReadonlySet<number>): number | undefined;
  isAddressTaken(address: string): boolean;
  isPortTaken(port: number): boolean;
}

export interface Rules {
  /** Sets the fields that the server defaults; called for every write. */
  readonly defaults?: (object: KubeObject, before: KubeObject | undefined) => KubeObject;
  /** Called for a valid object before the write; assigns addresses and ports. */
  readonly allocate?: (
    object: KubeObject,
    before: KubeObject | undefined,
    allocator: Allocator,
  ) => KubeObject;
  readonly validate?: (object: KubeObject, before: KubeObject | undefined) => readonly Cause[];
}
