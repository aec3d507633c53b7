// What the volume controller keeps between leadership sessions: the indexes of its caches, the claims whose deletion this process has seen,
// and what was reported. Everything else that it remembers is created when a session starts, and ends with it.

import { allFindings, type Finding, ReportsByName } from "../../controllers/reporter.ts";
import type { PersistentVolume, PersistentVolumeClaim, VolumeAttachment } from "../../kube/objects.ts";
import type { Index } from "../../kube/watch/store.ts";
import type { ReportedKind, Topic, VolumeStores } from "./deps.ts";
import { keyIn, type ObjectRef } from "./object-ref.ts";
import { classNameOf } from "./plan-claim.ts";

export class LastingFacts {
  /** By kind and `ObjectRef`. */
  readonly reports = new ReportsByName<Topic>();
  readonly claimsOf: Index<PersistentVolumeClaim>;
  readonly volumesWith: Index<PersistentVolume>;
  readonly attachmentsOf: Index<VolumeAttachment>;
  readonly attachmentsOn: Index<VolumeAttachment>;
  /** By uid. */
  readonly #deletedClaims = new Set<string>();

  constructor({ claims, volumes, attachments }: VolumeStores) {
    this.claimsOf = claims.index((claim) => [classNameOf(claim)]);
    this.volumesWith = volumes.index(({ spec }) => [spec?.csi?.volumeHandle ?? ""]);
    this.attachmentsOf = attachments.index(({ spec }) => [spec.source.persistentVolumeName ?? ""]);
    this.attachmentsOn = attachments.index(({ spec }) => [spec.nodeName]);
    claims.subscribe(({ before, after, isFromList }) => {
      const isLeaving = after?.metadata.deletionTimestamp !== undefined;
      const leaving = isLeaving ? after : after === undefined && isFromList !== true ? before : undefined;
      if (leaving?.spec?.volumeName !== undefined) this.#deletedClaims.add(leaving.metadata.uid);
      // An older state of the API server was restored.
      else if (after !== undefined) this.#deletedClaims.delete(after.metadata.uid);
    });
    volumes.subscribe(({ before, after }) => {
      const uid = before?.spec?.claimRef?.uid;
      if (after === undefined && uid !== undefined) this.#deletedClaims.delete(uid);
    });
  }

  /** Whether this process has seen the deletion of the claim that the PersistentVolume had. */
  sawDeletion({ spec }: PersistentVolume): boolean {
    return this.#deletedClaims.has(spec?.claimRef?.uid ?? "");
  }

  /** The objects of a kind about which something is reported. */
  reported(kind: ReportedKind): readonly ObjectRef[] {
    return [...this.reports.names]
      .filter((name) => name.startsWith(`${kind} `))
      .map((name) => name.slice(kind.length + 1) as ObjectRef);
  }

  /** By the key of the object. */
  findings(kind: ReportedKind): ReadonlyMap<string, readonly Finding[]> {
    return new Map(
      this.reported(kind).map((ref) => [keyIn(ref), allFindings(this.reports.get(`${kind} ${ref}`))]),
    );
  }
}
