// Changes that a cloud reports before the next listing shows them. A hint only names what to list or look up again.

import type { Milliseconds, ServiceUID } from "../core/brand.ts";
import type { Call } from "./call.ts";

/**
 * Something in the cloud may have changed. It proves nothing: Fairlead lists or looks up again, and acts on the answer only.
 * Names that Fairlead does not know have no effect.
 *
 * - `instance`       the machine with this `Instance.key`; without `key`, any machine of the source
 * - `load-balancer`  the load balancer of this Service, or of one with the same default name; without `owner`, any of them
 *
 * `version` is anything that differs when what `list` returns for the object differs. A hint with the version of the previous one for
 * the same object is ignored. Without it, each hint counts.
 */
export type ChangeHint =
  | {
      readonly of: "instance";
      readonly source: string;
      readonly key?: string | undefined;
      readonly version?: string | undefined;
    }
  | {
      readonly of: "load-balancer";
      readonly owner?: ServiceUID | undefined;
      readonly version?: string | undefined;
    };

/** Reports changes as they happen: a socket, a queue that is polled, a webhook. Listings go on as without it. */
export interface Changes {
  /**
   * Follows the changes until the call is aborted. Yields an empty list when the connection is open, and for each sign of life, such as
   * a ping. When the connection breaks, throw or return: Fairlead opens it again, with backoff, and lists everything again.
   */
  follow(call: Call): AsyncIterable<readonly ChangeHint[]>;
  /** The longest time between two lists while the connection works, such as three intervals of pings. Then it is opened again. */
  readonly maxSilence: Milliseconds;
}
