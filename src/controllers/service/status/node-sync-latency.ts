// Measures what upstream calls a node sync: the time from a change of Nodes until every load balancer has been reconciled.
// Changes that arrive in the meantime extend it.

import type { Clock } from "../../../platform/clock.ts";
import type { ServiceObserver } from "../deps.ts";

export class NodeSyncLatency {
  readonly #clock: Clock;
  readonly #observer: Pick<ServiceObserver, "onNodeSync">;
  readonly #remaining = new Set<string>();
  #beganAt = 0;

  constructor(clock: Clock, observer: Pick<ServiceObserver, "onNodeSync">) {
    this.#clock = clock;
    this.#observer = observer;
  }

  begin(groups: Iterable<string>): void {
    if (this.#remaining.size === 0) this.#beganAt = this.#clock.monotonic();
    for (const group of groups) this.#remaining.add(group);
  }

  /** The group is complete, has failed, or is gone. */
  end(group: string): void {
    if (!this.#remaining.delete(group) || this.#remaining.size > 0) return;
    this.#observer.onNodeSync(this.#clock.monotonic() - this.#beganAt);
  }
}
