// Tags that the operator wants on the machines of Nodes.

import type { Call } from "./call.ts";

/**
 * The tags of the operator on machines. The framework decides which machines get them, and marks their Nodes with a label; a Node that is
 * deleted takes them with it.
 */
export interface MachineTags {
  /** The label that a Node gets when its machine has the tags. Its value changes with the tags. */
  readonly label: { readonly key: string; readonly value: string };
  /** The maximum number of machines per request. */
  readonly limit: number;
  /** By `Instance.key`. Throws `not-found`, without a change, if one of them does not exist. */
  add(keys: readonly string[], call: Call): Promise<void>;
  /** By `Instance.key`. Tags of the same name with another value stay. Throws `not-found`, without a change, if one does not exist. */
  remove(keys: readonly string[], call: Call): Promise<void>;
}
