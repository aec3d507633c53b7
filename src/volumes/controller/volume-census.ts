// How PersistentVolumes count for doubt: those whose volume, or whose attachment, the cloud lacks, and those that were released by a claim
// whose deletion was not seen.

import type { Census, Counted, Standing } from "../../controllers/kernel/doubt.ts";
import { nodeName, type ProviderID } from "../../core/brand.ts";
import type { PersistentVolume } from "../../kube/objects.ts";
import type { ObservedVolume } from "../../provider/volumes.ts";
import type { VolumeDeps } from "./deps.ts";
import type { VolumeHistory } from "./history.ts";
import { nodeIDKey } from "./names.ts";
import { isManagedVolume, isReleased } from "./plan-deletion.ts";

export const removalKind = "volumes";

type CensusDeps = Pick<VolumeDeps, "stores" | "driver" | "inventory" | "removals" | "settings" | "clock">;

const handleOf = ({ spec }: PersistentVolume): string => spec?.csi?.volumeHandle ?? "";

export class VolumeCensus implements Census {
  readonly #deps: CensusDeps;
  readonly #history: VolumeHistory;

  constructor(deps: CensusDeps, history: VolumeHistory) {
    this.#deps = deps;
    this.#history = history;
  }

  *keys(): Iterable<string> {
    for (const { metadata } of this.#deps.stores.volumes.list()) yield metadata.name;
  }

  of(name: string): Counted | undefined {
    const { stores, driver } = this.#deps;
    const volume = stores.volumes.get(name);
    if (volume === undefined || !isManagedVolume(volume, driver.name)) return undefined;
    return { id: this.#idOf(volume), standing: this.#standingOf(volume) };
  }

  /** The handles of the volumes that the cluster records. */
  get handles(): readonly string[] {
    return this.#managed.map(handleOf);
  }

  /** The cloud has listed its volumes. What is missing only for a moment may be new, or be listed late. */
  noteListing(shown: ReadonlyMap<string, ObservedVolume>): void {
    const history = this.#history;
    const now = this.#deps.clock.monotonic();
    const missing = this.#managed.filter((volume) => this.#isMissing(volume, shown.get(handleOf(volume))));
    history.missingSince = new Map(
      missing.map(({ metadata: { uid } }) => [uid, history.missingSince.get(uid) ?? now]),
    );
  }

  get #managed(): readonly PersistentVolume[] {
    const { stores, driver } = this.#deps;
    return stores.volumes.list().filter((volume) => isManagedVolume(volume, driver.name));
  }

  /** The cloud does not show it, or not as attached to a machine that exists. */
  #isMissing(volume: PersistentVolume, shown: ObservedVolume | undefined): boolean {
    if (shown === undefined) return true;
    const { driver, inventory } = this.#deps;
    return this.#history.attachmentsOf.get(volume.metadata.name).some(({ metadata, spec, status }) => {
      const id = metadata.annotations?.[nodeIDKey];
      if (spec.attacher !== driver.name || status?.attached !== true || id === undefined) return false;
      const providerID = driver.providerIDOf(id) as ProviderID;
      const machine = { name: nodeName(spec.nodeName), providerID, addresses: [] };
      return !shown.attachedTo.includes(id) && inventory.check(machine).kind !== "gone";
    });
  }

  #standingOf(volume: PersistentVolume): Standing {
    const { clock, settings } = this.#deps;
    if (isReleased(volume) && !this.#history.sawDeletion(volume)) return "vanished";
    const since = this.#history.missingSince.get(volume.metadata.uid);
    return since !== undefined && clock.monotonic() - since >= settings.confirmAfter ? "absent" : "present";
  }

  /** A removal, or a release, of an attachment is one of its volume. */
  #idOf(volume: PersistentVolume): string {
    const { removals } = this.#deps;
    const uids = [volume, ...this.#history.attachmentsOf.get(volume.metadata.name)].map(
      ({ metadata: { uid } }) => uid,
    );
    const known = uids.find((uid) => removals.has(removalKind, uid) || removals.isReleased(removalKind, uid));
    return known ?? volume.metadata.uid;
  }
}
