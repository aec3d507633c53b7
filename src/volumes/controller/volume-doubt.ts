// Holds PersistentVolumes and VolumeAttachments while there is doubt about volumes, and reports the reason.

import { delayAfterError } from "../../controllers/classify-error.ts";
import type { AccountWitness } from "../../controllers/kernel/account-proof.ts";
import { Doubt, type Held, whyHeld } from "../../controllers/kernel/doubt.ts";
import { removalWindowText } from "../../controllers/kernel/removal-kinds.ts";
import { type Milliseconds, minutes } from "../../core/brand.ts";
import type { Problem } from "../../core/problem.ts";
import type { KubeObject } from "../../kube/objects.ts";
import { sleep } from "../../platform/clock.ts";
import { cloudErrorIn, type VolumeActions } from "./volume-actions.ts";
import { removalKind, VolumeCensus } from "./volume-census.ts";

const reason = "MassDeletionHeld";

/** The interval of checks while volumes are held. A release or a change is noticed immediately. */
export const holdRecheck: Milliseconds = minutes(1);

type Cause = "missing" | "released";

export class VolumeDoubt {
  readonly #actions: VolumeActions;
  readonly #census: VolumeCensus;
  /** Separate, because a vanished claim proves nothing about the cloud. */
  readonly #doubts: Readonly<Record<Cause, Doubt>>;

  constructor(actions: VolumeActions) {
    const { deps, history } = actions;
    this.#actions = actions;
    const census = new VolumeCensus(deps, history);
    this.#census = census;
    const doubtOf = (cause: Cause) =>
      new Doubt({ ...deps, kind: removalKind, census: census[cause], memory: history.limits[cause] });
    this.#doubts = { missing: doubtOf("missing"), released: doubtOf("released") };
  }

  /**
   * Confirms the account when the cloud shows a recorded volume, for the rest of this session. If nothing
   * else has confirmed the account by the time of a proof, lists the volumes. Resolves when that is done.
   */
  async vouch(signal: AbortSignal): Promise<void> {
    const { removals, clock, random, settings } = this.#actions.deps;
    if (signal.aborted) return;
    const recorded = this.#recordedBy(removals.account.recordedBy);
    signal.addEventListener("abort", removals.account.follow(this.#witnessOf(recorded)), { once: true });
    let delay = settings.confirmAfter;
    for (let failures = 0; !signal.aborted; ) {
      await sleep(clock, delay, signal).catch(() => undefined);
      if (signal.aborted || removals.account.doubt === undefined || recorded.size === 0) return;
      try {
        await this.#actions.listVolumes(signal);
        removals.account.note();
        failures = 0;
        delay = holdRecheck;
      } catch (error) {
        failures += 1;
        delay = delayAfterError(cloudErrorIn(error), failures, { clock, random });
      }
    }
  }

  /** A volume that was created while the account was doubted proves nothing about it. */
  #recordedBy(by: number): ReadonlySet<string> {
    const { history } = this.#actions;
    if (history.recorded?.by !== by)
      history.recorded = { by, uids: new Set(this.#census.managed.map(({ metadata }) => metadata.uid)) };
    return history.recorded.uids;
  }

  #witnessOf(recorded: ReadonlySet<string>): AccountWitness {
    return () => {
      const { shown } = this.#actions;
      const volumes = this.#census.managed.filter(({ metadata }) => recorded.has(metadata.uid));
      if (volumes.length === 0) return undefined;
      if (shown === undefined) return "unknown";
      return volumes.some(({ spec }) => shown.has(spec?.csi?.volumeHandle ?? "")) ? "shown" : "absent";
    };
  }

  /** Called when a new listing has answered about a volume. */
  noteListing(): void {
    const { shown } = this.#actions;
    if (shown !== undefined) this.#census.noteListing(shown);
    this.#actions.deps.removals.account.note();
  }

  /** Whether an absence of this object must have no consequences. Reports the reason. */
  holds(cause: Cause, kind: "PersistentVolume" | "VolumeAttachment", object: KubeObject): boolean {
    const { uid, name } = object.metadata;
    const doubt = this.#doubts[cause];
    doubt.invalidate();
    const held = doubt.hold(uid, name);
    // Nothing is reported before the cloud has answered at all.
    if (held === undefined || held.account === "unanswered") return held !== undefined;
    const topic = kind === "PersistentVolume" ? "delete" : "detach";
    this.#actions.report(kind, object, topic, [problemOf(held)]);
    return true;
  }

  /** Counts and stores a removal before it is made. If that took time, everything must be decided again. */
  record(cause: Cause, { metadata: { uid } }: KubeObject): Promise<"recorded" | "decide again"> {
    return this.#doubts[cause].record([uid]);
  }
}

function problemOf(held: Held): Problem {
  const { absent, vanished, recent, total, howToRelease } = held;
  const missing = absent > 0 ? [`the cloud does not show ${absent} of ${total} volumes`] : [];
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
  // The identity excludes the counts, which change.
  return { severity: "error", reason, text, remedy, identity: reason };
}
