// Changes that a cloud reports before the next listing shows them. A hint only states what to list or look up again.

import type { Milliseconds, ServiceUID } from "../core/brand.ts";
import type { Call } from "./call.ts";

/**
 * Something in the cloud may have changed. A hint proves nothing: Fairlead lists or looks up again, and acts only on the answer.
 * Unknown names have no effect.
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

/** Reports changes as they happen, from a socket, a polled queue or a webhook. Listings continue as usual. */
export interface Changes {
  /**
   * Follows the changes until the call is aborted. Yields an empty list when the connection is open, and for each sign of life, such as
   * a ping. When the connection breaks, throw or return: Fairlead opens it again, with backoff, and lists everything again.
   */
  follow(call: Call): AsyncIterable<readonly ChangeHint[]>;
  /**
   * The maximum time between two yielded lists while the connection works, such as three intervals of pings. After a longer
   * silence, the connection is opened again.
   */
  readonly maxSilence: Milliseconds;
}
