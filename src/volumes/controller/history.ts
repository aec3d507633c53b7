// The state of the volume controller across leadership sessions: snapshot caches, cache indexes, claims whose
// deletion this process has seen, creations without a definite end, and reported findings.

import { type FormerLeaders, noticesOtherLeaders } from "../../controllers/former-leaders.ts";
import { Board } from "../../controllers/kernel/board.ts";
import { HoldMemory } from "../../controllers/kernel/removal-limit.ts";
import type { Problem } from "../../core/problem.ts";
import type { PersistentVolume, PersistentVolumeClaim, VolumeAttachment } from "../../kube/objects.ts";
import type { VolumeSnapshot } from "../../kube/volume-snapshots.ts";
import type { Index } from "../../kube/watch/store.ts";
import type { ReportedKind, SnapshotCaches, SnapshotWatches, Topic, VolumeStores } from "./deps.ts";
import { keyIn, type ObjectRef } from "./object-ref.ts";
import { classNameOf, type Provisioning } from "./plan-claim.ts";

export interface SnapshotStores extends SnapshotCaches {
  /** By claim key. */
  readonly snapshotsOf: Index<VolumeSnapshot>;
}

export const claimKeyOf = ({ metadata: { namespace }, spec }: VolumeSnapshot): string =>
  `${namespace}/${spec.source.persistentVolumeClaimName}`;

export class VolumeHistory {
  /** By kind and `ObjectRef`. */
  readonly board = new Board<Topic>();
  readonly claimsOf: Index<PersistentVolumeClaim>;
  readonly volumesWith: Index<PersistentVolume>;
  readonly attachmentsOf: Index<VolumeAttachment>;
  readonly attachmentsOn: Index<VolumeAttachment>;
  /** Creations without a definite end. If the claim is deleted, only the end identifies the volume. */
  readonly begun = new Map<ObjectRef, Provisioning>();
  /**
   * The last renewal of sidecar Leases that are no longer renewed. Clocks of two machines are never compared.
   */
  readonly expiredLeases = new Map<string, string>();
  /** By the missing object. */
  readonly limits = {
    machines: new HoldMemory(),
    missing: new HoldMemory(),
    released: new HoldMemory(),
    stopped: new HoldMemory(),
  } satisfies Readonly<Record<string, HoldMemory>>;
  /**
   * Since when the cloud has lacked the volume of a PersistentVolume, by uid. It determines what counts for doubt,
   * and proves nothing.
   */
  missingSince: ReadonlyMap<string, number> = new Map();
  /** The PersistentVolumes that existed when the account was last known to be right, by uid. */
  recorded: { readonly by: number; readonly uids: ReadonlySet<string> } | undefined;
  readonly #watches: SnapshotWatches;
  /** By claim uid. */
  readonly #deletedClaims = new Set<string>();
  #snapshots: SnapshotStores | undefined;
  readonly #hasOtherLed: () => boolean;

  /** Follows the caches for the life of the process. */
  constructor(
    { claims, volumes, attachments }: VolumeStores,
    watches: SnapshotWatches,
    formerLeaders: FormerLeaders,
  ) {
    this.#watches = watches;
    this.#hasOtherLed = noticesOtherLeaders(formerLeaders);
    this.claimsOf = claims.index((claim) => [classNameOf(claim)]);
    this.volumesWith = volumes.index(({ spec }) => [spec?.csi?.volumeHandle ?? ""]);
    this.attachmentsOf = attachments.index(({ spec }) => [spec.source.persistentVolumeName ?? ""]);
    this.attachmentsOn = attachments.index(({ spec }) => [spec.nodeName]);
    claims.subscribe(({ before, after, isFromList }) => {
      const isLeaving = after?.metadata.deletionTimestamp !== undefined;
      const leaving = isLeaving ? after : after === undefined && isFromList !== true ? before : undefined;
      if (leaving?.spec?.volumeName !== undefined) this.#deletedClaims.add(leaving.metadata.uid);
      // An older API server state was restored.
      else if (after !== undefined) this.#deletedClaims.delete(after.metadata.uid);
    });
    volumes.subscribe(({ before, after }) => {
      const uid = before?.spec?.claimRef?.uid;
      if (after === undefined && uid !== undefined) this.#deletedClaims.delete(uid);
    });
  }

  beginSession(): void {
    // Only if another process has led may these objects have changed since then.
    if (!this.#hasOtherLed()) return;
    this.begun.clear();
    this.missingSince = new Map();
    for (const memory of Object.values(this.limits)) memory.forget();
  }

  /** Undefined before a session has opened the caches. */
  get snapshots(): SnapshotStores | undefined {
    return this.#snapshots;
  }

  /** Whether the cluster has the CRDs of snapshots. */
  hasSnapshots(signal: AbortSignal): Promise<boolean> {
    return this.#watches.isInstalled(signal);
  }

  async openSnapshots(signal: AbortSignal): Promise<SnapshotStores> {
    const { snapshots, contents, classes } = await this.#watches.open(signal);
    const indexed = (): Index<VolumeSnapshot> => snapshots.index((snapshot) => [claimKeyOf(snapshot)]);
    this.#snapshots ??= { snapshots, contents, classes, snapshotsOf: indexed() };
    return this.#snapshots;
  }

  /** Whether this process has seen the deletion of the PersistentVolume's claim. */
  sawDeletion({ spec }: PersistentVolume): boolean {
    return this.#deletedClaims.has(spec?.claimRef?.uid ?? "");
  }

  /** The objects of a kind with reported findings. */
  reported(kind: ReportedKind): readonly ObjectRef[] {
    return [...this.board.names]
      .filter((name) => name.startsWith(`${kind} `))
      .map((name) => name.slice(kind.length + 1) as ObjectRef);
  }

  /** By object key. */
  problems(kind: ReportedKind): ReadonlyMap<string, readonly Problem[]> {
    return new Map(this.reported(kind).map((ref) => [keyIn(ref), this.board.at(`${kind} ${ref}`)]));
  }
}
