// How PersistentVolumes count for doubt: as missing, if they are needed and the cloud lacks their volume; as released, if their
// claim vanished without a seen deletion.

import type { Census, Counted, Standing } from "../../controllers/kernel/doubt.ts";
import { isPaused } from "../../controllers/pause.ts";
import type { PersistentVolume } from "../../kube/objects.ts";
import type { VolumeDeps } from "./deps.ts";
import type { VolumeHistory } from "./history.ts";
import { isManagedVolume, isReleased } from "./plan-deletion.ts";

export const removalKind = "volumes";

type CensusDeps = Pick<VolumeDeps, "stores" | "driver" | "removals" | "settings" | "clock">;

const handleOf = ({ spec }: PersistentVolume): string => spec?.csi?.volumeHandle ?? "";

export class VolumeCensus {
  readonly missing: Census;
  readonly released: Census;
  readonly #deps: CensusDeps;
  readonly #history: VolumeHistory;

  constructor(deps: CensusDeps, history: VolumeHistory) {
    this.#deps = deps;
    this.#history = history;
    this.missing = this.#censusOf((volume) => this.#missing(volume));
    this.released = this.#censusOf((volume) => this.#released(volume));
  }

  /** The PersistentVolumes that this controller manages. */
  get managed(): readonly PersistentVolume[] {
    const { stores, driver } = this.#deps;
    return stores.volumes.list().filter((volume) => isManagedVolume(volume, driver.name));
  }

  /** Called when the cloud has listed its volumes. A volume that is missing only briefly may be new, or listed late. */
  noteListing(shown: ReadonlyMap<string, unknown>): void {
    const history = this.#history;
    const now = this.#deps.clock.monotonic();
    const missing = this.managed.filter((volume) => this.#isNeeded(volume) && !shown.has(handleOf(volume)));
    history.missingSince = new Map(
      missing.map(({ metadata: { uid } }) => [uid, history.missingSince.get(uid) ?? now]),
    );
  }

  /** The volume of a claim with the Retain policy may have been deleted manually. */
  #isNeeded(volume: PersistentVolume): boolean {
    const isAttached = this.#history.attachmentsOf.get(volume.metadata.name).length > 0;
    return volume.status?.phase === "Bound" || isAttached || isReleased(volume);
  }

  #missing(volume: PersistentVolume): Standing {
    const { clock, settings } = this.#deps;
    const since = this.#history.missingSince.get(volume.metadata.uid);
    const lasts = since !== undefined && clock.monotonic() - since >= settings.confirmAfter;
    return lasts && this.#isNeeded(volume) ? "absent" : "present";
  }

  #released(volume: PersistentVolume): Standing {
    const isUnseen = isReleased(volume) && !this.#history.sawDeletion(volume);
    return isUnseen && !isPaused(volume) ? "vanished" : "present";
  }

  #censusOf(standingOf: (volume: PersistentVolume) => Standing): Census {
    const { stores, driver } = this.#deps;
    return {
      keys: () => this.managed.map(({ metadata }) => metadata.name),
      of: (name): Counted | undefined => {
        const volume = stores.volumes.get(name);
        const isManaged = volume !== undefined && isManagedVolume(volume, driver.name);
        return isManaged ? { id: this.#idOf(volume), standing: standingOf(volume) } : undefined;
      },
    };
  }

  /** The removal or release of an attachment counts for its volume. */
  #idOf(volume: PersistentVolume): string {
    const { removals } = this.#deps;
    const uids = [volume, ...this.#history.attachmentsOf.get(volume.metadata.name)].map(
      ({ metadata: { uid } }) => uid,
    );
    const known = uids.find((uid) => removals.has(removalKind, uid) || removals.isReleased(removalKind, uid));
    return known ?? volume.metadata.uid;
  }
}
