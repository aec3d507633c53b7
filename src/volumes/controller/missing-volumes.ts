// Handles answers of the cloud that a volume does not exist, or is not attached, although Fairlead did not change that. Such an answer may
// be false: it counts only after an equal answer some time later, and while there is no doubt about what the cloud lacks.

import { type Milliseconds, milliseconds, minutes } from "../../core/brand.ts";
import type { KubeObject } from "../../kube/objects.ts";
import { type Outcome, requeue } from "../../runtime/workers.ts";
import { SecondAnswers } from "./second-answers.ts";
import type { VolumeActions } from "./volume-actions.ts";
import type { VolumeDoubt } from "./volume-doubt.ts";

/** While volumes are held. A release, or a change, is noticed at once. */
export const holdRecheck: Milliseconds = minutes(1);

export class MissingVolumes {
  readonly #answers: SecondAnswers;
  readonly #doubt: VolumeDoubt;

  constructor(actions: VolumeActions, doubt: VolumeDoubt) {
    this.#answers = new SecondAnswers(actions.deps.clock, actions.deps.settings);
    this.#doubt = doubt;
  }

  /** A different answer arrived, so earlier answers no longer count. */
  forget(uid: string): void {
    this.#answers.forget(uid);
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
    const wait = this.#answers.wait(uid);
    if (wait > 0) return requeue(milliseconds(wait), "another answer about the volume");
    const isRecorded = (await this.#doubt.record(object)) === "recorded";
    return isRecorded || !this.#doubt.holds(kind, object)
      ? undefined
      : requeue(holdRecheck, "the end of the doubt");
  }
}
