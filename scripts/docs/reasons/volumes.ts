// Reasons of events on claims, PersistentVolumes, VolumeAttachments, VolumeSnapshots and VolumeSnapshotContents.

import { onlyIfItLasts, type Reasons, seeAnswer } from "./reason.ts";

const onSnapshots: Reasons = {
  CreatingSnapshot: { type: "Normal", when: "A snapshot is being created", upstream: true },
  SnapshotCreated: { type: "Normal", when: "The data of the snapshot is final", upstream: true },
  SnapshotReady: { type: "Normal", when: "Volumes can be created from the snapshot", upstream: true },
  GetSnapshotClassFailed: {
    type: "Warning",
    when: "The VolumeSnapshotClass of the VolumeSnapshot does not exist",
    whatToDo: "create the class, or create the VolumeSnapshot again with another one",
    upstream: true,
  },
  SetDefaultSnapshotClassFailed: {
    type: "Warning",
    when: "The VolumeSnapshot names no class, and its driver has no default class, or several",
    whatToDo: "see the message: it has the annotation of the default class",
    upstream: true,
  },
  SnapshotContentCreationFailed: {
    type: "Warning",
    when: "No snapshot can be created of the claim",
    whatToDo: "see the message: it names the claim, its PersistentVolume or the class",
    upstream: true,
  },
  SnapshotContentMissing: {
    type: "Warning",
    when: "The VolumeSnapshotContent of the VolumeSnapshot does not exist",
    whatToDo: "create it, or delete the VolumeSnapshot. A snapshot that is lost is never created again",
    upstream: true,
  },
  SnapshotContentMismatch: {
    type: "Warning",
    when: "A VolumeSnapshotContent was prepared, and the VolumeSnapshot names a claim, or the other way around",
    whatToDo: "create the VolumeSnapshot again with the correct source",
    upstream: true,
  },
  SnapshotContentMisbound: {
    type: "Warning",
    when: "The VolumeSnapshotContent belongs to another VolumeSnapshot",
    whatToDo: "create the VolumeSnapshot again with the correct source",
    upstream: true,
  },
  SnapshotCreationFailed: {
    type: "Warning",
    when: "The snapshot was not created. `status.error` of the VolumeSnapshot has the same message",
    whatToDo: seeAnswer,
    upstream: true,
  },
  SnapshotContentCheckandUpdateFailed: {
    type: "Warning",
    when: "The snapshot could not be read. `status.error` of the VolumeSnapshot has the same message",
    whatToDo: seeAnswer,
    upstream: true,
  },
  SnapshotDeletePending: {
    type: "Warning",
    when: "The VolumeSnapshot is deleted when no claim is created from it any more",
    whatToDo: "wait for the claim, or delete it",
    upstream: true,
  },
  SnapshotDeleteError: {
    type: "Warning",
    when: "The snapshot was not deleted",
    whatToDo: seeAnswer,
    upstream: true,
  },
  SnapshotParametersIgnored: {
    type: "Warning",
    uncounted: "once",
    when: "The VolumeSnapshotClass has parameters, which no cloud here uses",
    whatToDo: "remove them, or create such snapshots with the CSI driver of the cloud",
  },
  SnapshotKept: {
    type: "Warning",
    when: "The VolumeSnapshotContent is being deleted, but its snapshot may still be needed, so it is not deleted",
    whatToDo: "see the message: it names the other VolumeSnapshotContent, or the VolumeSnapshot",
  },
};

export const onVolumes: Reasons = {
  Provisioning: { type: "Normal", when: "A volume is being created for the claim", upstream: true },
  ProvisioningSucceeded: { type: "Normal", when: "The volume of the claim was created", upstream: true },
  ProvisioningFailed: {
    type: "Warning",
    when: "The volume of the claim was not created",
    whatToDo: "see the message: it has the wrong value, or the cloud's answer",
    upstream: true,
  },
  Resizing: { type: "Normal", when: "The volume of the claim is being expanded", upstream: true },
  FileSystemResizeRequired: {
    type: "Normal",
    when: "The volume was expanded; the kubelet expands the file system",
    upstream: true,
  },
  VolumeResizeSuccessful: { type: "Normal", when: "The block volume was expanded", upstream: true },
  VolumeResizeFailed: {
    type: "Warning",
    when: "The volume was not expanded",
    whatToDo: seeAnswer,
    upstream: true,
  },
  FailedAttachVolume: {
    type: "Warning",
    when: "The volume was not attached. `status.attachError` of the VolumeAttachment and an event of the pod have the same message",
    whatToDo: "see the message; it has the limit, the machine, or the cloud's answer",
  },
  FailedDetachVolume: {
    type: "Warning",
    when: "The volume was not detached. `status.detachError` of the VolumeAttachment has the same message",
    whatToDo: seeAnswer,
  },
  DetachmentWaits: {
    type: "Warning",
    when: "The volume is to be detached, and its machine may still write to it. Also on the Node",
    whatToDo:
      "stop the machine; or, if it certainly does not run, set the taint `node.kubernetes.io/out-of-service`. The message has the command",
  },
  VolumeDelete: {
    type: "Normal",
    when: "The volume is deleted when it is detached",
    upstream: true,
  },
  VolumeDeleted: {
    type: "Normal",
    when: "The volume was deleted in the cloud, or does not exist there any more",
  },
  VolumeFailedDelete: {
    type: "Warning",
    when: "The volume was not deleted",
    whatToDo: seeAnswer,
    upstream: true,
  },
  VolumeNotLocated: {
    type: "Warning",
    when: "A PersistentVolume that another program made has no node affinity, and where its volume is could not be read",
    whatToDo: "see the message: the volume does not exist, or it has the cloud's answer",
  },
  VolumeKept: {
    type: "Warning",
    when: "Kubernetes released the PersistentVolume, but its volume may still be needed, so it is not deleted",
    whatToDo: "see the message: it names the claim or the other PersistentVolume",
  },
  ...onSnapshots,
};

export const onVolumeLease: Reasons = {
  SidecarRunning: {
    type: "Warning",
    when: "A sidecar of Kubernetes works for the same driver, so the volume controller waits",
    whatToDo:
      "scale the sidecars to 0 to hand volumes over to Fairlead, or remove `volume` from `--controllers`",
  },
};

export const inVolumeLog: Reasons = {
  SidecarsUnknown: {
    type: "Warning",
    uncounted: "note",
    when: "Whether sidecars run could not be checked, so the volume controller waits",
    whatToDo: onlyIfItLasts,
  },
  SnapshotCRDsMissing: {
    type: "Normal",
    when: "The cluster has no CRDs of snapshots, so snapshots are off",
  },
  SnapshotControllerRunning: {
    type: "Normal",
    when: "A snapshot-controller runs. It binds VolumeSnapshots; Fairlead creates and deletes their snapshots in the cloud",
  },
  IgnoredParameter: {
    type: "Warning",
    uncounted: "note",
    when: "A StorageClass has a parameter that the driver does not know; it is ignored",
    whatToDo: "correct the parameter in a new StorageClass",
  },
};
