// Decides whether the volume of a PersistentVolume may be deleted in the cloud: the claim must be proved to be gone, nothing else
// may use the volume, and not too many volumes may have lost their claim at the same time without a seen deletion. Pure.

import { awaited, judge, type NextProof, type Proof } from "../../controllers/kernel/proof.ts";
import type { Milliseconds } from "../../core/brand.ts";
import type { Problem } from "../../core/problem.ts";
import type { PersistentVolume, PersistentVolumeClaim, VolumeAttachment } from "../../kube/objects.ts";
import { provisionedByKey, provisionerFinalizer } from "./names.ts";

export function isManagedVolume({ metadata, spec }: PersistentVolume, driver: string): boolean {
  const provisioner = metadata.annotations?.[provisionedByKey];
  return spec?.csi?.driver === driver && (provisioner === undefined || provisioner === driver);
}

/** The sidecars' rules for the finalizer that keeps a PersistentVolume until its volume is deleted. */
export function desiredFinalizer({
  metadata,
  spec,
  status,
}: PersistentVolume): "present" | "absent" | undefined {
  const policy = spec?.persistentVolumeReclaimPolicy;
  if (policy === "Retain" || policy === "Recycle") return "absent";
  const isBound = metadata.deletionTimestamp === undefined && status?.phase === "Bound";
  return policy === "Delete" && isBound ? "present" : undefined;
}

/** Kubernetes requests the deletion of the volume. */
export function isReleased({ metadata, spec, status }: PersistentVolume): boolean {
  const isDone =
    metadata.deletionTimestamp !== undefined && !(metadata.finalizers ?? []).includes(provisionerFinalizer);
  return !isDone && status?.phase === "Released" && spec?.persistentVolumeReclaimPolicy === "Delete";
}

export interface DeletionFacts {
  readonly volume: PersistentVolume;
  /** The claim with the name in the PersistentVolume. */
  readonly claim: PersistentVolumeClaim | undefined;
  readonly attachments: readonly VolumeAttachment[];
  /** All PersistentVolumes of this cloud volume, including this one. */
  readonly sharing: readonly PersistentVolume[];
  /** Whether the deletion of the claim was seen. */
  readonly isAnnounced: boolean;
  /** Answers of the API server that the claim does not exist. */
  readonly proofs: readonly Proof[];
  readonly confirmAfter: Milliseconds;
}

export type DeletionPlan =
  | { readonly kind: "delete" }
  /** The volume is not deleted while this lasts. */
  | { readonly kind: "keep"; readonly problem: Problem; readonly claimExists?: true }
  /** The volume waits for its attachments, which is not a problem. */
  | { readonly kind: "in-use"; readonly problem: Problem }
  /** A further answer about the claim is needed. */
  | { readonly kind: "prove"; readonly next: NextProof };

export function planDeletion(facts: DeletionFacts): DeletionPlan {
  const { volume, claim, attachments, sharing, isAnnounced, proofs, confirmAfter } = facts;
  const { name } = volume.metadata;
  const { claimRef } = volume.spec ?? {};
  const keep = (text: string) =>
    ({ kind: "keep", problem: { severity: "error", reason: "VolumeKept", text } }) as const;
  if ((claimRef?.uid ?? "") === "")
    return keep(
      `The PersistentVolume ${name} is released, and does not say from which claim (claimRef.uid), so its volume is not deleted. Delete the volume in the cloud, and remove the finalizer ${provisionerFinalizer}, if it has no data.`,
    );
  if (claim?.metadata.uid === claimRef?.uid)
    return {
      ...keep(
        `The PersistentVolume ${name} is released, but its claim ${claimRef?.namespace}/${claimRef?.name} exists, so its volume is not deleted. Delete the claim to delete the volume.`,
      ),
      claimExists: true,
    };
  const [other] = sharing.filter((one) => one.metadata.uid !== volume.metadata.uid);
  if (other !== undefined)
    return keep(
      `The PersistentVolume ${other.metadata.name} has the same volume ${volume.spec?.csi?.volumeHandle} as ${name}, so the volume is not deleted. Delete the PersistentVolume that does not need it, after setting its reclaim policy to Retain.`,
    );
  const [attached] = attachments;
  if (attached !== undefined)
    return {
      kind: "in-use",
      problem: {
        severity: "wait",
        reason: "VolumeDelete",
        text: `persistentvolume ${name} is still attached to node ${attached.spec.nodeName}, waiting for detach`,
      },
    };
  if (isAnnounced) return { kind: "delete" };
  const next = awaited(judge({ certainty: "exists", proofs }, { confirmAfter, kinds: [] }));
  return next === undefined ? { kind: "delete" } : { kind: "prove", next };
}
