// Handles answers of the cloud that a volume does not exist, or is not attached, although Fairlead did not change that. Such an answer may
// be false: it counts only after an equal answer some time later, and while the cloud does not lack too many volumes at once.

import { whyHeld } from "../../controllers/kernel/mass-limit.ts";
import { removalWindowText } from "../../controllers/kernel/removal-history.ts";
import { type Milliseconds, milliseconds, minutes } from "../../core/brand.ts";
import type { KubeObject } from "../../kube/objects.ts";
import { type Outcome, requeue } from "../../runtime/workers.ts";
import { isManagedVolume, isReleased } from "./plan-deletion.ts";
import { SecondAnswers } from "./second-answers.ts";
import type { VolumeActions } from "./volume-actions.ts";
import { removalKind, VolumeLimit } from "./volume-limit.ts";

/** While the mass limit holds volumes. A release, or a change, is noticed at once. */
export const holdRecheck: Milliseconds = minutes(1);

export class MissingVolumes {
  readonly #actions: VolumeActions;
  readonly #answers: SecondAnswers;
  readonly #limit: VolumeLimit;

  constructor(actions: VolumeActions) {
    this.#actions = actions;
    this.#answers = new SecondAnswers(actions.deps.clock, actions.deps.settings);
    this.#limit = new VolumeLimit(actions.deps, actions.history.limits.volumes);
  }

  /** A different answer arrived, so earlier answers no longer count. */
  forget(uid: string): void {
    this.#answers.forget(uid);
  }

  /** Call it for each such answer. Undefined: Fairlead may act on the answer now. */
  async await(
    kind: "PersistentVolume" | "VolumeAttachment",
    object: KubeObject,
    handle: string,
  ): Promise<Outcome | undefined> {
    const { uid } = object.metadata;
    // The cloud shows it as not attached.
    const isShown = this.#actions.shown.has(handle);
    if (!isShown && this.#hold(kind, object)) {
      this.forget(uid);
      return requeue(holdRecheck, "the mass limit");
    }
    const wait = this.#answers.wait(uid);
    if (wait > 0) return requeue(milliseconds(wait), "another answer about the volume");
    const isRecorded = isShown || (await this.#limit.record(object)) === "recorded";
    return isRecorded || !this.#hold(kind, object) ? undefined : requeue(holdRecheck, "the mass limit");
  }

  #hold(kind: "PersistentVolume" | "VolumeAttachment", object: KubeObject): boolean {
    const { removals } = this.#actions.deps;
    const counts = this.#count();
    const held = this.#limit.hold(object, counts);
    if (held === undefined || held.doubt === "unanswered") return held !== undefined;
    const { affected, recent, total } = counts;
    const message = `The cloud does not show ${affected} of ${total} volumes that are attached or being deleted, and ${recent} volumes were removed in the last ${removalWindowText}${whyHeld(held, "a fault of the cloud, or as credentials of another project (if so, correct them)")}, so nothing is deleted or detached because of this. To continue: ${removals.howToRelease(removalKind)}`;
    this.#actions.report(kind, object, kind === "PersistentVolume" ? "delete" : "detach", [
      { type: "Warning", reason: "MassDeletionHeld", message, identity: "MassDeletionHeld" },
    ]);
    return true;
  }

  /**
   * Counts the volumes that Kubernetes records as attached, or asks to delete. A volume that has been missing for less than the confirmation
   * time may be new, or be listed late.
   */
  #count() {
    const { history, deps, shown } = this.#actions;
    const { clock, driver, removals, settings, stores } = deps;
    const now = clock.monotonic();
    const recorded = stores.volumes.list().filter((volume) => {
      const attachments = history.attachmentsOf.get(volume.metadata.name);
      const isNeeded = attachments.length > 0 || isReleased(volume);
      const isExempt = [volume, ...attachments].some(
        ({ metadata: { uid } }) => removals.has(removalKind, uid) || removals.isReleased(removalKind, uid),
      );
      return isManagedVolume(volume, driver.name) && isNeeded && !isExempt;
    });
    const missing = recorded.filter(({ spec }) => !shown.has(spec?.csi?.volumeHandle ?? ""));
    history.missingSince = new Map(
      missing.map(({ metadata: { uid } }) => [uid, history.missingSince.get(uid) ?? now]),
    );
    const lasts = [...history.missingSince.values()].filter((since) => now - since >= settings.confirmAfter);
    const recent = removals.count(removalKind);
    return { affected: lasts.length, recent, total: recorded.length + recent };
  }
}
