// Tags that the operator wants on the machines of Nodes.

import type { Call } from "./call.ts";

/**
 * The operator's tags on machines. The framework decides which machines get tags, and marks their
 * Nodes with a label; the tags are removed when the Node is deleted.
 */
export interface MachineTags {
  /** The label that a Node gets when its machine has the tags. Its value changes with the tags. */
  readonly label: { readonly key: string; readonly value: string };
  /** The maximum number of machines per request. */
  readonly limit: number;
  /** Adds the tags by `Instance.key`. Throws `not-found`, without changing anything, if one of the machines does not exist. */
  add(keys: readonly string[], call: Call): Promise<void>;
  /**
   * Removes the tags by `Instance.key`. Tags with the same name but a different value stay. Throws
   * `not-found`, without changing anything, if one of the machines does not exist.
   */
  remove(keys: readonly string[], call: Call): Promise<void>;
}
