// A mass limit of the volume controller. There is one for missing machines, one for missing volumes, and one for vanished claims. A release
// ends the holds of all three.

import {
  type HoldMemory,
  type LimitDecision,
  type LimitedCounts,
  MassLimit,
} from "../../controllers/kernel/mass-limit.ts";
import type { KubeObject } from "../../kube/objects.ts";
import type { VolumeDeps } from "./deps.ts";

export const removalKind = "volumes";

export class VolumeLimit {
  readonly #removals: VolumeDeps["removals"];
  readonly #limit: MassLimit;

  constructor({ settings, removals, clock }: VolumeDeps, memory: HoldMemory) {
    this.#removals = removals;
    this.#limit = new MassLimit({ kind: removalKind, settings, removals, clock, memory });
  }

  /** Why the object is held; undefined if it is not, or was released. */
  hold({ metadata: { uid, name } }: KubeObject, counts: LimitedCounts): LimitDecision | undefined {
    const decision = this.#limit.decide(counts);
    const isHeld = decision.isHeld && !this.#removals.isReleased(removalKind, uid);
    if (isHeld) this.#removals.hold(removalKind, uid, name);
    else this.#removals.endHold(removalKind, uid);
    return isHeld ? decision : undefined;
  }

  /** Counts and stores a removal before it is made. If that took time, everything must be decided again. */
  async record({ metadata: { uid } }: KubeObject): Promise<"recorded" | "decide again"> {
    return this.#removals.isReleased(removalKind, uid) ? "recorded" : await this.#limit.record([uid]);
  }
}
