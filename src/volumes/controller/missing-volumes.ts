// Handles cloud answers that a volume does not exist, or is not attached, although Fairlead did not change that. Such an
// answer may be false, so it counts only after an equal answer some time later, and without doubt about missing objects.

import { Ledgers } from "../../controllers/kernel/ledger.ts";
import type { KubeObject } from "../../kube/objects.ts";
import { type Outcome, requeue } from "../../runtime/workers.ts";
import type { VolumeActions } from "./volume-actions.ts";
import { holdRecheck, type VolumeDoubt } from "./volume-doubt.ts";

export class MissingVolumes {
  readonly #actions: VolumeActions;
  readonly #answers = new Ledgers();
  readonly #doubt: VolumeDoubt;

  constructor(actions: VolumeActions, doubt: VolumeDoubt) {
    this.#actions = actions;
    this.#doubt = doubt;
  }

  /** Called when a different answer arrived, so that earlier answers no longer count. */
  forget(uid: string): void {
    this.#answers.delete(uid);
  }

  /** Call this for each such answer. Undefined if Fairlead may act on the answer now. */
  async await(
    kind: "PersistentVolume" | "VolumeAttachment",
    object: KubeObject,
    handle: string,
  ): Promise<Outcome | undefined> {
    const { uid } = object.metadata;
    this.#doubt.noteListing();
    // The cloud shows the volume as not attached.
    const isShown = this.#actions.shown?.has(handle) === true;
    if (!isShown && this.#doubt.holds("missing", kind, object)) {
      this.forget(uid);
      return requeue(holdRecheck, "the end of the doubt");
    }
    const wait = this.#answers.confirm(uid, this.#actions.deps);
    if (wait > 0) return requeue(wait, "another answer about the volume");
    const isRecorded = isShown || (await this.#doubt.record("missing", object)) === "recorded";
    return isRecorded || !this.#doubt.holds("missing", kind, object)
      ? undefined
      : requeue(holdRecheck, "the end of the doubt");
  }
}
