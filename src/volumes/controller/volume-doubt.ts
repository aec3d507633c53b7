// Doubt about volumes, as objects of Kubernetes feel it: holds a PersistentVolume or a VolumeAttachment, with an event.

import { delayAfterError } from "../../controllers/classify-error.ts";
import type { AccountWitness } from "../../controllers/kernel/account-proof.ts";
import { Doubt, type Held, whyHeld } from "../../controllers/kernel/doubt.ts";
import { removalWindowText } from "../../controllers/kernel/removal-history.ts";
import type { Problem } from "../../core/problem.ts";
import type { KubeObject } from "../../kube/objects.ts";
import { sleep } from "../../platform/clock.ts";
import { cloudErrorIn, type VolumeActions } from "./volume-actions.ts";
import { removalKind, VolumeCensus } from "./volume-census.ts";

const reason = "MassDeletionHeld";

export class VolumeDoubt {
  readonly #actions: VolumeActions;
  readonly #census: VolumeCensus;
  readonly #doubt: Doubt;

  constructor(actions: VolumeActions) {
    const { deps, history } = actions;
    this.#actions = actions;
    this.#census = new VolumeCensus(deps, history);
    this.#doubt = new Doubt({
      ...deps,
      kind: removalKind,
      census: this.#census,
      memory: history.limits.volumes,
    });
  }

  /**
   * Asks the account to trust the cloud for a volume that it shows, as long as this session lasts. If nothing else has vouched for the account
   * by the time of a proof, lists the volumes. Resolves when that is done.
   */
  async vouch(signal: AbortSignal): Promise<void> {
    const { removals, clock, random, settings } = this.#actions.deps;
    signal.addEventListener("abort", removals.account.follow(this.#witness), { once: true });
    let delay = settings.confirmAfter;
    for (let failures = 0; !signal.aborted; failures += 1) {
      await sleep(clock, delay, signal).catch(() => undefined);
      if (signal.aborted || removals.account.doubt === undefined || this.#census.handles.length === 0) return;
      try {
        await this.#actions.listVolumes(signal);
        removals.account.note();
        return;
      } catch (error) {
        delay = delayAfterError(cloudErrorIn(error), failures + 1, { clock, random });
      }
    }
  }

  readonly #witness: AccountWitness = () => {
    const { handles } = this.#census;
    if (handles.length === 0) return undefined;
    const { shown } = this.#actions;
    if (shown === undefined) return "unknown";
    return handles.some((handle) => shown.has(handle)) ? "shown" : "absent";
  };

  /** The cloud has answered about a volume, which rests on a new listing. */
  noteListing(): void {
    const { shown = new Map() } = this.#actions;
    this.#census.noteListing(shown);
    this.#actions.deps.removals.account.note();
  }

  /** Whether nothing may follow from absence for this object. Reports why. */
  holds(kind: "PersistentVolume" | "VolumeAttachment", object: KubeObject): boolean {
    const { uid, name } = object.metadata;
    this.#doubt.invalidate();
    const held = this.#doubt.hold(uid, name);
    // Nothing is reported before the cloud has answered at all.
    if (held === undefined || held.account === "unanswered") return held !== undefined;
    const topic = kind === "PersistentVolume" ? "delete" : "detach";
    this.#actions.report(kind, object, topic, [problemOf(held)]);
    return true;
  }

  /** Counts and stores a removal before it is made. If that took time, everything must be decided again. */
  record({ metadata: { uid } }: KubeObject): Promise<"recorded" | "decide again"> {
    return this.#doubt.record([uid]);
  }
}

function problemOf(held: Held): Problem {
  const { absent, vanished, recent, total, howToRelease } = held;
  const missing =
    absent > 0 ? [`the cloud does not show ${absent} of ${total} volumes, or not as attached`] : [];
  const released =
    vanished > 0
      ? [`${vanished} of ${total} PersistentVolumes were released by claims whose deletion was not seen`]
      : [];
  const causes = [...missing, ...released];
  const what = causes.length === 0 ? "the cloud does not show this volume" : causes.join(", ");
  const fault =
    absent > 0
      ? "a fault of the cloud, or as credentials of another project (if so, correct them)"
      : "a fault of the API server";
  const text = `${what.charAt(0).toUpperCase()}${what.slice(1)}, and ${recent} volumes were removed in the last ${removalWindowText}${whyHeld(held, fault)}, so nothing is deleted or detached because of this.`;
  const remedy = `Check that the volumes, and their claims, are meant to be gone. To continue: ${howToRelease}`;
  // The counts change.
  return { severity: "error", reason, text, remedy, identity: reason };
}
