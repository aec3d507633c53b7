// The mass limit of one kind of object: protects a cluster from a source that wrongly lacks much at once. Beyond the limit nothing is
// removed or made again; what is removed is stored before.

import type { Clock } from "../../platform/clock.ts";
import {
  decideHold,
  type HoldState,
  type LimitDecision,
  type LimitedCounts,
  type RemovalLimitSetting,
} from "./limit.ts";
import type { RemovalHistory, RemovalKind } from "./removals.ts";

export interface MassLimitOptions {
  readonly kind: RemovalKind;
  /** A reload changes them in place. */
  readonly settings: { readonly removalLimit: RemovalLimitSetting };
  readonly removals: RemovalHistory;
  readonly clock: Clock;
}

export class MassLimit {
  readonly #options: MassLimitOptions;
  #state: HoldState = {};

  constructor(options: MassLimitOptions) {
    this.#options = options;
  }

  /** Another replica may have led since. */
  begin(): void {
    this.#state = {};
  }

  /** Whether the last decision was a hold. */
  get isHolding(): boolean {
    return this.#state.totalAtStart !== undefined;
  }

  /** Decides on what is counted now. Ask for `restartedFor` only afterwards, because this decision may end a hold. */
  decide(counts: LimitedCounts): LimitDecision {
    const { settings, clock } = this.#options;
    const decision = decideHold(counts, settings.removalLimit, this.#state, clock.monotonic());
    this.#state = decision.state;
    return decision;
  }

  /** When a hold has ended that concerned this id, so that its proof starts again. What an operator released is not proved again. */
  restartedFor(id: string): number | undefined {
    const { removals, kind } = this.#options;
    return removals.isReleased(kind, id) ? undefined : this.#state.endedAt;
  }

  /**
   * Counts these ids before they are removed, or made again, and stores them for the next leader. If that took time, everything must
   * be decided again. If it rejects, they must stay as they are.
   */
  async record(ids: readonly string[]): Promise<"recorded" | "decide again"> {
    const { removals, kind, settings } = this.#options;
    const stored = ids.filter((id) => removals.isStored(kind, id));
    if (settings.removalLimit === "off") return "recorded";
    // They count from now, because the change may have failed since they were recorded.
    removals.note(kind, stored);
    if (stored.length === ids.length) return "recorded";
    await removals.record(kind, ids);
    return "decide again";
  }
}
