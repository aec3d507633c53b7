// Handles answers of the cloud that a volume does not exist, or is not attached, although Fairlead did not change that. Such an answer may
// be false: it counts only after an equal answer some time later, and while there is no doubt about what the cloud lacks.

import { Ledgers } from "../../controllers/kernel/ledger.ts";
import { type Milliseconds, minutes } from "../../core/brand.ts";
import type { KubeObject } from "../../kube/objects.ts";
import { type Outcome, requeue } from "../../runtime/workers.ts";
import type { VolumeDeps } from "./deps.ts";
import type { VolumeActions } from "./volume-actions.ts";
import type { VolumeDoubt } from "./volume-doubt.ts";

/** While volumes are held. A release, or a change, is noticed at once. */
export const holdRecheck: Milliseconds = minutes(1);

export class MissingVolumes {
  readonly #answers = new Ledgers();
  readonly #deps: VolumeDeps;
  readonly #doubt: VolumeDoubt;

  constructor(actions: VolumeActions, doubt: VolumeDoubt) {
    this.#deps = actions.deps;
    this.#doubt = doubt;
  }

  /** A different answer arrived, so earlier answers no longer count. */
  forget(uid: string): void {
    this.#answers.delete(uid);
  }

  /** Call it for each such answer. Undefined: Fairlead may act on the answer now. */
  async await(
    kind: "PersistentVolume" | "VolumeAttachment",
    object: KubeObject,
  ): Promise<Outcome | undefined> {
    const { uid } = object.metadata;
    this.#doubt.noteListing();
    if (this.#doubt.holds(kind, object)) {
      this.forget(uid);
      return requeue(holdRecheck, "the end of the doubt");
    }
    const wait = this.#answers.confirm(uid, this.#deps);
    if (wait > 0) return requeue(wait, "another answer about the volume");
    const isRecorded = (await this.#doubt.record(object)) === "recorded";
    return isRecorded || !this.#doubt.holds(kind, object)
      ? undefined
      : requeue(holdRecheck, "the end of the doubt");
  }
}
